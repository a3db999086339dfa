"""A solver of one's own: register it, use it by name, compare it with the built-in ones on real systems.

A backend is a class with `solve(system)`. It is given a weighted graph Laplacian, and returns the solution whose mean is
zero over every connected piece of the graph, and how it went. This one is conjugate gradients with an incomplete LU
factorisation of SciPy as preconditioner.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from scipy.sparse import diags_array
from scipy.sparse.linalg import LinearOperator, cg, spilu

import solvers
from quotientgraph import QuotientGraph, scenes
from solvers import bench


@dataclass(frozen=True)
class IncompleteLU:
    rtol: float = 1e-6
    fill: float = 4.0

    def solve(self, system: solvers.LaplacianSystem) -> solvers.Solution:
        if system.settled:  # b is zero: nothing to do
            return system.nothing()
        iterations = []
        grounded = system.matrix + diags_array(system.ground)  # one unknown tied down per piece: no longer singular
        factor = spilu(grounded.tocsc(), fill_factor=self.fill)
        inverse = LinearOperator(grounded.shape, matvec=factor.solve)
        x, _ = cg(system.matrix, system.rhs, rtol=self.rtol, M=inverse, callback=iterations.append)
        residual = system.residual(x)
        return solvers.Solution(system.centred(x), residual <= 2 * self.rtol, len(iterations), residual)


solvers.register("ilu", IncompleteLU)

scene = scenes.make("textured_room", shape=(120, 150)).with_noise(1.0)
graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, frame="opencv", angle=2.0)
with tempfile.TemporaryDirectory() as folder:
    mine = graph.optimize(solver=bench.Dumping(solvers.get("ilu"), folder), max_iterations=10, device="cpu")
    files = sorted(Path(folder).iterdir())
    timings = bench.bench([files[0], files[-1]], repeats=2)

print(bench.table(timings))
difference = abs(mine.depth / graph.optimize(solver="direct", max_iterations=10).depth - 1).max()
print(f"{len(files)} systems; depth with ilu and direct differs by at most {difference:.1e}")
