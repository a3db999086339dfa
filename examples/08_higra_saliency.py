"""higra: the merge tree as a hierarchical segmentation, with its saliency map; needs quotientgraph[graphs].

`result.hierarchy` is a binary partition tree whose altitudes are residuals. In higra's form it goes into all that library
offers: saliency maps, horizontal cuts, attributes, filtering.
"""

import higra as hg
import numpy as np

from quotientgraph import QuotientGraph, scenes
from quotientgraph.io import write_image

scene = scenes.make("spheres", shape=(120, 150))
graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, frame="opencv", angle=3.5)
result = graph.optimize(merge_every=5)

tree, altitudes = result.hierarchy.to_higra("pixels")
print(f"{tree.num_vertices()} nodes over {tree.num_leaves()} pixels")

# How high must the threshold be until two neighbours are in one region?
saliency = hg.saliency(tree, altitudes)
grid = hg.get_4_adjacency_graph(scene.mask.shape)
contours = hg.graph_4_adjacency_2_khalimsky(grid, np.minimum(saliency, 5))
write_image("saliency.png", (255 * contours / contours.max()).astype(np.uint8))

# Regions of few pixels do not count as regions of their own.
kept, _ = hg.filter_small_nodes_from_tree(tree, altitudes, 30)
print(f"{kept.num_vertices() - kept.num_leaves()} regions of at least 30 pixels")

tail, head = grid.edge_list()
step = np.abs(np.log(scene.depth.ravel()[tail] / scene.depth.ravel()[head]))
contrast = np.median(saliency[step > 0.1]) / max(np.median(saliency[step < 0.02]), 1e-3)
print(f"edges across a depth jump are {contrast:.0f} times as salient as the others")
