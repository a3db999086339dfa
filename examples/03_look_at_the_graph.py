"""Take a decomposition to igraph and networkx and ask questions of it.

Nodes are components (size, bounding box), edges join adjacent ones (number of pixel edges, mean residual).
"""

import networkx
import numpy as np

from quotientgraph import QuotientGraph, scenes

scene = scenes.make("spheres", shape=(120, 150))
graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, frame="opencv", angle=3.5)
print(f"G0: {graph.pixels.n_pixels} pixels, {graph.pixels.n_edges} edges")
print(f"Q0: {graph.n_components} components, {len(graph.cut)} cut edges")

# networkx: everything of its algorithms, in Python.
net = graph.to_networkx()
largest = max(net.nodes, key=lambda c: net.nodes[c]["size"])
print(f"largest component: {net.nodes[largest]}, adjacent to {net.degree[largest]} others")
shells = networkx.single_source_shortest_path_length(net, largest)
print(f"the farthest component is {max(shells.values())} steps away from it")

# igraph: the same graph in C, for large decompositions.
ig = graph.to_igraph()
central = int(np.argmax(ig.betweenness()))
print(f"on most shortest paths: component {central}, {ig.vs[central]['size']} pixels")
bridges = [e for e in ig.bridges()]
print(f"{len(bridges)} bridges: pairs whose relative scale hangs on a single adjacency")

# After optimisation the residuals of the edges show where the surface is torn.
result = graph.optimize()
solved = graph.to_networkx(result.potential)
torn = sorted(solved.edges(data=True), key=lambda e: -abs(e[2]["residual"]))[:3]
for a, b, data in torn:
    print(f"components {a} and {b}: {data['n_edges']} edges, log-depth jumps by {data['residual']:+.3f}")
