"""scikit-image: a region adjacency graph for normalised cuts, and superpixels as components; needs quotientgraph[graphs].

Label images of scikit-image have 0 for the background: label c + 1 is component c.
"""

import numpy as np
from skimage.graph import cut_normalized, cut_threshold
from skimage.segmentation import slic

from quotientgraph import QuotientGraph, metrics, scenes

scene = scenes.make("spheres", shape=(120, 150))
known = {"normals": scene.normals, "mask": scene.mask, "camera": scene.camera, "frame": "opencv"}
graph = QuotientGraph.from_normals(**known, angle=3.5)
result = graph.optimize()
labels = graph.label_image() + 1

rag = graph.to_rag(result.potential, weight="similarity")
regions = cut_normalized(labels, rag, thresh=0.05, num_cuts=5, rng=0)
print(f"normalised cut: {graph.n_components} components in {len(np.unique(regions))} regions")

rag = graph.to_rag(result.potential, weight="distance")
smooth = cut_threshold(labels, rag, 0.5)
print(f"joined where borders fit to half a pixel: {len(np.unique(smooth))} regions")

# The way back, and anyone's segmentation: here superpixels of the normals.
superpixels = slic(
    scene.normals, n_segments=400, compactness=0.1, channel_axis=-1, start_label=1, enforce_connectivity=True
)
mine = QuotientGraph.from_normals(**known, labels=superpixels)
error = metrics.relative_error(mine.optimize().depth, scene.depth)
angle = metrics.relative_error(result.depth, scene.depth)
print(f"{mine.n_components} superpixels: relative error {100 * error:.2f} %, by angle {100 * angle:.2f} %")
