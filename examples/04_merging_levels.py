"""Merging: Q0, Q1, … each a contraction of the one before.

Every `merge_every` iterations each component is contracted with the neighbour that it fits best. Large decompositions
then get by with few iterations on ever smaller systems.
"""

import numpy as np

from quotientgraph import QuotientGraph, metrics, scenes

scene = scenes.make("torus", shape=(160, 200))
graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, frame="opencv", angle=2.0)

steps = []
result = graph.optimize(merge_every=5, max_iterations=60, progress=steps.append)

for level in result.levels:
    spent = [s for s in steps if s.level == level.level]
    energy = f"energy {spent[-1].energy:.3g}" if spent else "done"
    print(f"Q{level.level}: {level.n_components:5} components, {len(spent)} iterations, {energy}")

# A level is a coarser partition of the same pixels: labels of labels are labels.
fine, coarse = result.levels[0], result.levels[1]
sigma = np.zeros(fine.n_components, dtype=int)
sigma[fine.labels] = coarse.labels
assert (sigma[fine.labels] == coarse.labels).all()

# The same step by hand: contract the edges of your own choice.
mine = graph.contract(graph.cut[:100])
print(f"contracting 100 edges by hand leaves {mine.n_components} of {graph.n_components} components")

error = metrics.relative_error(result.depth, scene.depth)
plain = metrics.relative_error(graph.optimize().depth, scene.depth)
print(f"relative error {100 * error:.2f} % with merging, {100 * plain:.2f} % without")
