"""pandas: nodes and edges as tables to group, join and plot; as Parquet, CSV and GraphML; needs quotientgraph[graphs]."""

from quotientgraph import QuotientGraph, analysis, io, scenes

scene = scenes.make("spheres", shape=(120, 150))
graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, frame="opencv", angle=3.5)
result = graph.optimize()

nodes, borders = graph.to_pandas(result.potential)
print(nodes[["size", "area", "planarity", "normal_z"]].describe().loc[["mean", "50%", "max"]].round(3))

borders["kind"] = borders["occlusion"].map({True: "occlusion", False: "crease"})
print(
    borders.groupby("kind")[["length", "pixels", "outlier"]].agg(
        {"length": "sum", "pixels": "median", "outlier": "mean"}
    )
)

# Join measures to the tables: which large components is the reconstruction least sure of?
held = analysis.resistances(graph, result.potential)
nodes["uncertainty"] = held.uncertainty
borders["leverage"] = held.leverage
print(nodes[nodes["size"] >= 20].nlargest(3, "uncertainty")[["size", "row", "column", "uncertainty"]].round(2))

tables = graph.tables(result.potential)
files = [*io.write_tables("borders.parquet", tables), *io.write_tables("borders.csv", tables)]
files += io.write_tables("borders.graphml", tables)
back = io.read_tables("borders.parquet")
print(f"wrote {', '.join(file.name for file in files)}; {back.n_edges} borders came back")
