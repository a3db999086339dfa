"""Decompositions of one's own: a label image, colours, drawn lines, absorbed components; and saving them.

Each of these is a graph like any other and can be integrated, exported and contracted.
"""

import numpy as np

from quotientgraph import QuotientGraph, analysis, scenes

scene = scenes.make("spheres", shape=(120, 150))
known = {"normals": scene.normals, "mask": scene.mask, "camera": scene.camera, "frame": "opencv"}
graph = QuotientGraph.from_normals(**known, angle=2.0)
print(f"by angle: {graph.n_components} components")

# Anyone's segmentation: whole numbers per pixel, or a stack of masks; −1 leaves a pixel to the angle.
tiles = np.add.outer(10 * (np.arange(120) // 30), np.arange(150) // 30)
tiled = QuotientGraph.from_normals(**known, labels=tiles)
print(f"tiles of 30 pixels: {tiled.n_components} components")

# A photograph: components end where its colour changes, too.
photo = np.where(((np.arange(150) // 25) % 2)[None, :, None], [0.9, 0.3, 0.2], [0.2, 0.3, 0.9]) * np.ones((120, 1, 1))
striped = QuotientGraph.from_normals(**known, angle=2.0, image=photo)
print(f"with the colours of a striped photograph: {striped.n_components} components")

# Lines across which no surface goes on, as polylines (column, row) or as an image of drawn pixels.
drawn = QuotientGraph.from_normals(**known, angle=2.0, forbidden=[[(20, 90), (75, 110), (130, 90)]])
print(f"{len(drawn.pixels.removed)} edges cross the line that was drawn")

# Tiny components join the neighbour that continues them; large ones never join each other.
absorbed = analysis.absorb_small(graph)
print(f"tiny ones absorbed: {absorbed.n_components} components")

# One file keeps a decomposition with its levels.
merged = graph.optimize(merge_every=5).graph
merged.save("spheres.qg")
again = QuotientGraph.load("spheres.qg")
print(f"from the file: {[level.n_components for level in again.levels]} components")
same = all(np.array_equal(a.labels, b.labels) for a, b in zip(merged.levels, again.levels))
