# %% [markdown]
# # The graph as a laboratory
#
# Everything happens on a graph that can be taken out, changed and put back. This notebook asks three questions of it: which
# borders are tears, what merging does, and what happens if somebody else draws the components.

# %%
import numpy as np

from quotientgraph import QuotientGraph, metrics, scenes

scene = scenes.make("spheres", shape=(160, 200))
graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, frame="opencv", angle=3.5)
graph

# %% [markdown]
# ## Which borders are tears?
#
# Two components touch along pixel edges, and each edge has a residual: by how much the reconstruction misses what the
# normals predict. As a networkx graph, an edge carries the mean of these.

# %%
result = graph.optimize()
net = graph.to_networkx(result.potential)
focal = scene.camera.fx  # residuals are log-depths; times the focal length they are pixels at the surface
residual = focal * np.abs([data["residual"] for _, _, data in net.edges(data=True)])
print(f"{net.number_of_nodes()} components, {net.number_of_edges()} borders")
print(f"half of the borders fit to {np.median(residual):.3f} pixels, the worst misses by {residual.max():.0f}")

# %% [markdown]
# Most borders fit to a fraction of a pixel. Those that miss by several pixels are the silhouettes of the spheres.

# %%
silhouettes = int(np.sum(residual > 3))
print(f"{silhouettes} of {len(residual)} borders miss by more than three pixels")

# %% [markdown]
# ## What does merging do?
#
# Each level contracts the components that fit their neighbours best. The slider of the view runs over the levels.

# %%
merged = graph.optimize(merge_every=5)
print([level.n_components for level in merged.levels])
merged.show()

# %% [markdown]
# ## Other people's components
#
# `from_labels` takes any segmentation. Here it is a checkerboard, which knows nothing of the surface. Where a square crosses
# a silhouette, the two sides are one component, and the tear is filled in.

# %%
rows, columns = np.indices(scene.mask.shape) // 16
squares = (rows * 100 + columns).ravel()[graph.pixels.map.position]
other = QuotientGraph.from_labels(graph.pixels, graph.jump, squares).optimize()
errors = {
    "by angle": metrics.relative_error(result.depth, scene.depth),
    "merged": metrics.relative_error(merged.depth, scene.depth),
    "squares": metrics.relative_error(other.depth, scene.depth),
}
for name, error in errors.items():
    print(f"{name:>9}: {100 * error:.2f} %")
