"""The merge tree: cut it anywhere, and take it to SciPy, Newick and scipy.sparse."""

import numpy as np
import scipy.cluster.hierarchy as sch
from scipy.sparse.linalg import eigsh

from quotientgraph import QuotientGraph, report, scenes

scene = scenes.make("spheres", shape=(120, 150))
graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, frame="opencv", angle=3.5)
result = graph.optimize(merge_every=5)
tree = result.hierarchy
print(tree)

# Cut at a level, at a number of components, or at a residual in pixels.
exact = all(np.array_equal(tree.cut(level=m).labels, level.labels) for m, level in enumerate(result.levels))
print(f"cut at each level it is that level: {exact}")
print(f"components that fit to 0.1 pixels: {tree.cut(residual=0.1).n_components}")
ten = tree.cut(n_components=10)
print(f"ten components of {sorted(np.bincount(ten.labels).tolist(), reverse=True)} pixels")

# The last merges are the ones to look at: over which edge, on which level, at what residual?
for i in range(tree.n_merges - 3, tree.n_merges):
    a, b = tree.size[tree.first[i]], tree.size[tree.second[i]]
    print(f"{a} and {b} pixels merge on level {tree.level[i]} at a residual of {tree.residual[i]:.2g} pixels")

# SciPy's dendrograms and flat clusters, the notation of biologists, and a drawing.
z = tree.linkage()
print(f"SciPy finds {sch.fcluster(z, 0.1, criterion='distance').max()} clusters at 0.1 pixels")
with open("tree.nwk", "w") as file:
    file.write(tree.newick())
with open("tree.svg", "w", encoding="utf-8") as file:
    file.write(report.dendrogram_svg(tree))

# The graph as a matrix: the vector of Fiedler divides it where it is weakest.
tables = graph.tables(result.potential)
laplacian = tables.laplacian(tables.edges["n_edges"] * tables.edges["outlier"] + 1e-6)
values, vectors = eigsh(laplacian, k=2, sigma=-1e-6)
sides = np.bincount((vectors[:, 1] > 0)[graph.labels], minlength=2)
print(f"the weakest division leaves {sides.min()} and {sides.max()} pixels")
