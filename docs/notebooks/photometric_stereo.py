# %% [markdown]
# # A photographed object: from lights to a mesh
#
# Photometric stereo takes several photographs of an object with the light in different places. Each pixel then has several
# brightnesses, and three of them are enough to find its normal. This notebook renders such photographs of an embedded
# scene, finds the normals, integrates them, and ends with a mesh of a size that a web page can show.

# %%
import numpy as np

from quotientgraph import QuotientGraph, metrics, scenes

scene = scenes.make("torus", shape=(200, 250))
true_normals, mask = scene.normals, scene.mask  # OpenCV frame: x right, y down, z forward

# %% [markdown]
# ## The photographs
#
# A matt surface is as bright as the cosine between its normal and the light. Twelve lights stand in a ring around the
# camera; some noise and the shadow on the far side are part of the game.

# %%
rng = np.random.default_rng(0)
turn = np.linspace(0, 2 * np.pi, 12, endpoint=False)
lights = np.stack([0.6 * np.cos(turn), 0.6 * np.sin(turn), np.full(12, -0.8)], axis=-1)
lights /= np.linalg.norm(lights, axis=-1, keepdims=True)
albedo = 0.7
photographs = np.maximum(albedo * np.nan_to_num(true_normals) @ lights.T, 0)
photographs += rng.normal(0, 0.002, photographs.shape)
photographs.shape

# %% [markdown]
# ## The normals
#
# Brightness is linear in the normal where a light reaches the surface. Attached shadows break that, so each pixel trusts its
# brighter two thirds of the lights only.

# %%
bright = photographs >= np.quantile(photographs, 1 / 3, axis=-1, keepdims=True)
normals = np.full(true_normals.shape, np.nan)
for v, u in zip(*np.nonzero(mask)):
    use = bright[v, u]
    normals[v, u] = np.linalg.lstsq(lights[use], photographs[v, u, use], rcond=None)[0]
normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
angle = np.degrees(np.arccos(np.clip(np.sum(normals * true_normals, axis=-1), -1, 1)))
print(f"median error of the normals: {np.nanmedian(angle):.2f}°")

# %% [markdown]
# ## The graph, and the surface
#
# The graph of continuous components comes first. A notebook shows it as a picture.

# %%
graph = QuotientGraph.from_normals(normals, mask, scene.camera, frame="opencv")
graph

# %%
result = graph.optimize()
error = metrics.relative_error(result.depth, scene.depth)
print(f"mean error of the depth: {100 * error:.2f} %")
result.show()

# %% [markdown]
# Choose *Angle* above to see where the surface disagrees with its normals, and *Discontinuity* to see where it is torn.
#
# ## A mesh of the size one wants
#
# Every pixel is a vertex of the full mesh. With a limit, triangles are large where the surface is plain; tears stay where
# they are, to the pixel.

# %%
full, light = result.mesh(), result.mesh(max_error=0.25)
few = result.mesh(max_faces=2000)
for name, mesh in (("all pixels", full), ("within 0.25 pixels", light), ("2000 faces", few)):
    print(f"{name:>20}: {len(mesh.faces):6} faces, off by at most {mesh.deviation:.2f} pixels")
