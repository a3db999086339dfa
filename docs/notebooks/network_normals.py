# %% [markdown]
# # A network's normals, and a depth map to settle the rest
#
# Networks predict normals and depth from one photograph. Normals have the shape, depth knows what lies where, and neither is
# good at the other's job. This notebook plays a network on an embedded room: normals with noise, and a depth map that is
# blurred, of unknown scale and bent.

# %%
import numpy as np
from scipy import ndimage

from quotientgraph import integrate, metrics, scenes

scene = scenes.make("room", shape=(180, 240))
rng = np.random.default_rng(1)
normals = scene.normals + ndimage.gaussian_filter(rng.normal(0, 0.06, scene.normals.shape), (1, 1, 0))
normals /= np.linalg.norm(normals, axis=-1, keepdims=True)

depth = np.where(scene.mask, scene.depth, np.nanmedian(scene.depth))
rows, columns = np.indices(depth.shape) / 100
prior = 3.7 * ndimage.gaussian_filter(depth, 3) * (1 + 0.04 * np.sin(3 * rows) * np.cos(2 * columns))
prior *= 1 + rng.normal(0, 0.02, prior.shape)


def off(estimate):
    """Mean relative error in per cent, after the free factor has been fitted."""
    return 100 * metrics.relative_error(np.where(scene.mask, estimate, np.nan), scene.depth)


print(f"the depth map alone: {off(prior):.1f} %")

# %% [markdown]
# ## Normals alone
#
# Within a surface they are good. Between surfaces that do not touch in the image they say little, and the result says so.

# %%
alone = integrate(normals, scene.mask, scene.camera, "opencv")
print(f"normals alone: {off(alone.depth):.1f} %")
alone.warnings

# %% [markdown]
# ## Both together
#
# `prior=` takes the depth map as it is. Its scale, its bend and its blur are found out.

# %%
both = integrate(normals, scene.mask, scene.camera, "opencv", prior=prior)
print(f"both: {off(both.depth):.1f} %")

# %% [markdown]
# The views below are those of the report. Point at a wall and read the confidence; *Where to look* lists the regions that
# even both together leave open. On the command line, `--depth-prior depth.npy --report` writes the same as a file, with a
# slider between prior and result.

# %%
both.show()
