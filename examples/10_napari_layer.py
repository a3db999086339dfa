"""napari: components as a layer of labels whose features are the table of the components; needs quotientgraph[napari].

In napari, `viewer.add_layer(layer)` shows it; hovering over a component shows its row of the table.
"""

import numpy as np

from quotientgraph import QuotientGraph, analysis, scenes

scene = scenes.make("spheres", shape=(120, 150))
graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, frame="opencv", angle=3.5)
result = graph.optimize()

layer = graph.to_napari(result.potential, opacity=0.6)
layer.features["uncertainty"] = np.append(np.nan, analysis.resistances(graph, result.potential).uncertainty)
print(f"{layer.name}: {int(layer.data.max())} labels, 0 is the background")
print(layer.features.nlargest(3, "size")[["component", "size", "planarity", "uncertainty"]])

# What a user would click together: show only what is less certain than a pixel.
doubtful = layer.features["uncertainty"].to_numpy() > 1
shown = np.where(doubtful[layer.data], layer.data, 0)
print(f"{doubtful.sum()} components, {np.count_nonzero(shown)} pixels are less certain than that")

# import napari
# viewer = napari.Viewer()
# viewer.add_layer(layer)
# napari.run()
