# %% [markdown]
# # A texture that tiles: from its normal map to a displacement
#
# Texture libraries ship normal maps, and modellers want heights: to displace a surface, to print it, to blend two materials.
# The height has to tile where the texture does, without a seam, and to have a size in metres. Here are the few lines.

# %%
import tempfile
from pathlib import Path

import numpy as np

from quotientgraph import height_map, integrate, scenes

tile = scenes.texture("fractal", shape=(128, 128), relief=0.06)
texture = np.rint((tile.normals * [1, -1, -1] + 1) / 2 * 255).astype(np.uint8)  # 8 bits, as most textures have

# %% [markdown]
# ## Height
#
# Which way green points and whether the texture tiles is found from the normals themselves; the width is yours to say.

# %%
found = height_map(texture, size="2m")
print(f"green: {found.source.green}, tiles: {found.source.tile}")
print(f"heights range over {100 * found.range:.1f} cm; mid-level {found.mid_level:.3f}")

truth = -tile.depth * 2 / 128  # heights in metres
error = np.std(found.height - truth) / np.ptp(truth)
print(f"off by {100 * error:.2f} % of the range, from 8 bits")

# %% [markdown]
# ## Does it tile?
#
# The step from the last column to the first should be like that between any two columns. And it should not matter where the
# texture begins: if it is shifted around, the heights are shifted.

# %%
steps = np.sqrt(np.mean(np.diff(np.hstack([found.height, found.height[:, :1]]), axis=1) ** 2, axis=0))
print(f"at the seam {1000 * steps[-1]:.2f} mm, inside {1000 * np.median(steps[:-1]):.2f} mm from column to column")

shifted = height_map(np.roll(texture, (31, 50), axis=(0, 1)), size="2m")
difference = np.abs(shifted.height - np.roll(found.height, (31, 50), axis=(0, 1))).max()
print(f"shifting it changes no height by more than {1e6 * difference:.1g} µm")

# %% [markdown]
# ## Files, and a mesh
#
# A 16-bit PNG holds 0 … 1 and says in its metadata what that means; EXR and TIFF can hold metres. The mesh of a tile
# repeats its first row and column at the far side, so that copies side by side leave no gap, at any number of faces.

# %%
folder = Path(tempfile.mkdtemp())
found.save(folder / "rock_height.png")
found.save(folder / "rock_height.exr", values="height")
found.save_picture(folder / "rock_occlusion.png", found.ambient_occlusion())
result = integrate(texture, frame="opengl", wrap="both")
mesh = result.mesh(max_faces=6000)
result.save(folder / "rock.glb", max_faces=6000)
print(f"{len(mesh.faces)} faces of {len(result.mesh().faces)};", sorted(path.name for path in folder.iterdir()))

# %%
result.show()
