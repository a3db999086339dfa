"""networkx: find communities of components, and bring them back as a coarser decomposition.

Components that many fitting edges hold together make a community. The way back from any clustering is `coarsened`.
"""

import networkx
import numpy as np

from quotientgraph import QuotientGraph, analysis, metrics, scenes

scene = scenes.make("spheres", shape=(120, 150))
graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, frame="opencv", angle=3.5)
result = graph.optimize()

net = graph.to_networkx(result.potential)
for _, _, border in net.edges(data=True):
    border["weight"] = border["n_edges"] * border["outlier"]  # edges that fit

communities = networkx.community.louvain_communities(net, weight="weight", seed=0)
membership = np.empty(graph.n_components, dtype=int)
for k, members in enumerate(communities):
    membership[list(members)] = k
print(f"{graph.n_components} components form {len(communities)} communities")

coarse = analysis.coarsened(graph, membership)
print(f"back in quotientgraph: {coarse}")

# Which communities does the reconstruction keep apart? The borders between them that are occlusions, not creases.
nodes = coarse.node_table(result.potential)
tail, head, borders = coarse.edge_table(result.potential)
for p in np.argsort(-borders["length"])[:5]:
    kind = "occlusion" if borders["occlusion"][p] else "crease"
    sizes = f"{nodes['size'][tail[p]]} and {nodes['size'][head[p]]} pixels"
    print(f"border of {borders['length'][p]:.0f} pixels between {sizes}: {kind}")

error = metrics.relative_error(coarse.optimize().depth, scene.depth)
print(f"relative error with communities for components: {100 * error:.2f} %")
