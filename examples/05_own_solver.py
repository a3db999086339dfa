"""A solver of one's own: register it, use it by name, compare it with the built-in ones on real systems.

A backend is a class with `solve(system)`. It is given a weighted graph Laplacian and returns the solution whose mean is
zero over every connected piece of the graph, and how it went. This one is SciPy's sparse LU factorisation.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from scipy.sparse import diags_array
from scipy.sparse.linalg import splu

from quotientgraph import QuotientGraph, scenes, solvers


@dataclass(frozen=True)
class SparseLU:
    rtol: float = 1e-6
    ordering: str = "MMD_AT_PLUS_A"

    def solve(self, system: solvers.LaplacianSystem) -> solvers.Solution:
        if system.settled:  # b is zero: nothing to do
            return system.nothing()
        grounded = system.matrix + diags_array(system.ground)  # one unknown tied down per piece: no longer singular
        factor = splu(grounded.tocsc(), self.ordering, diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        x = factor.solve(system.rhs)
        residual = system.residual(x)
        return solvers.Solution(system.centred(x), residual <= self.rtol, 1, residual)


solvers.register("superlu", SparseLU)

scene = scenes.make("textured_room", shape=(60, 75)).with_noise(1.0)
graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, frame="opencv", angle=2.0)
with tempfile.TemporaryDirectory() as folder:
    mine = graph.optimize(solver=solvers.Dumping(solvers.get("superlu"), folder), max_iterations=10, device="cpu")
    files = sorted(Path(folder).iterdir())
    timings = solvers.compare([files[0], files[-1]], repeats=2)

print(solvers.timing_table(timings))
difference = abs(mine.depth / graph.optimize(solver="direct", max_iterations=10).depth - 1).max()
print(f"{len(files)} systems; depth with superlu and direct differs by at most {difference:.1e}")
