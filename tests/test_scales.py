"""Relative-scale optimisation: convergence, merging, backends, and what it tells its user."""

import logging
import os
import subprocess
import sys

import numpy as np
import pytest

from quotientgraph import QuotientGraph, Step, scenes, solvers
from quotientgraph.geometry.jumps import bini
from quotientgraph.method import optimize

ALL = ["direct", "multigrid", "numba", "scipy"]


@pytest.fixture(scope="module")
def room():
    """Q0 of a small room with contacts and occlusions."""
    scene = scenes.make("room", shape=(60, 76))
    return QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv")


def relative(a, b):
    """Largest relative difference of two depth maps, their scale apart."""
    ratio = a[np.isfinite(a)] / b[np.isfinite(b)]
    return float(np.ptp(ratio) / np.median(ratio))


@pytest.mark.parametrize("angle", [3.5, None])
@pytest.mark.parametrize("reweighting", ["soft", "hard", "none"])
@pytest.mark.parametrize("name", ["plane", "plane_orthographic", "one_row", "one_column", "disconnected"])
def test_planes_are_exact(name, reweighting, angle, toy):
    """A plane is recovered to 1e-9, in one component or in as many as there are pixels, however edges are weighted."""
    scene = toy(name)
    graph = QuotientGraph.from_normals(**scene.arguments, angle=angle)
    result = graph.optimize(reweighting=reweighting)
    found = result.potential - scene.camera.potential(scene.depth)[scene.mask]
    for piece in range(result.n_pieces):
        assert np.ptp(found[graph.pixels.pieces == piece]) < 1e-9


def test_contacts_align_components(toy):
    """Two planes that touch along a crease are aligned exactly there: the depth of a roof is exact."""
    u = np.indices((20, 30))[1]
    normals = np.where((u > 14)[..., None], [0.6, 0.0, -0.8], [-0.6, 0.0, -0.8])
    result = QuotientGraph.from_normals(normals, frame="opencv").optimize()
    truth = 0.75 * np.abs(u - 14.5)
    assert result.graph.n_components == 2
    assert np.ptp(result.depth - truth) < 1e-9


def test_history(noisy_graph):
    """Every iteration leaves a step: numbered from 1, of finite energy ≥ 0, in order of time."""
    result = noisy_graph(3, (20, 20)).optimize()
    assert [s.iteration for s in result.history] == list(range(1, len(result.history) + 1))
    assert all(isinstance(s, Step) and np.isfinite(s.energy) and s.energy >= 0 for s in result.history)
    assert (np.diff([s.seconds for s in result.history]) >= 0).all()


def test_converged_means_the_energy_settled(room):
    """converged ⇔ the last relative change of energy is below energy_tol before max_iterations."""
    result = room.optimize()
    before, last = result.history[-2].energy, result.history[-1].energy
    assert result.converged
    assert abs(last - before) < 1e-3 * before
    short = room.optimize(max_iterations=2, energy_tol=1e-12)
    assert not short.converged
    assert len(short.history) == 2
    assert any("not converged after 2 iterations; raise max_iterations" in text for text in short.warnings)


@pytest.mark.parametrize("merge_every", [1, 3])
def test_merging_ends_with_the_pieces(merge_every, noisy_graph):
    """Merging contracts level by level until one component per piece is left; each level is a coarser partition."""
    graph = noisy_graph(4, (24, 24), 0.3)
    result = graph.optimize(merge_every=merge_every, max_iterations=200)
    assert result.converged
    counts = [level.n_components for level in result.levels]
    assert [level.level for level in result.levels] == list(range(len(counts)))
    assert (np.diff(counts) < 0).all()
    assert counts[-1] == graph.pixels.n_pieces
    assert result.levels[0] is graph
    assert result.levels[-1] is result.graph
    for fine, coarse in zip(result.levels, result.levels[1:]):
        assert len(set(zip(fine.labels.tolist(), coarse.labels.tolist()))) == fine.n_components
    for step in result.history:
        assert step.n_components == counts[step.level]
    spent = np.bincount([s.level for s in result.history])
    assert spent[0] <= merge_every + 1  # the paper counts from 0
    assert max(spent[1:], default=0) <= merge_every


def test_merging_makes_scales_final(room):
    """Residuals inside a merged component stay what they were when it was merged, however long the loop goes on."""
    at_merge = room.optimize(merge_every=2, max_iterations=3)
    later = room.optimize(merge_every=2, max_iterations=30)
    assert len(later.levels) > len(at_merge.levels) > 1
    inside = np.setdiff1d(np.arange(room.pixels.n_edges), at_merge.levels[1].cut)
    assert len(inside) > room.pixels.n_edges - len(room.cut)
    np.testing.assert_allclose(
        room.residual(later.potential, inside), room.residual(at_merge.potential, inside), atol=1e-9
    )


@pytest.mark.parametrize("solver", ALL)
def test_backends_agree(solver, room):
    """Every backend leads to the same depth: the systems are the same, so are the minima."""
    reference = room.optimize(solver="direct", max_iterations=12)
    options = {} if solver == "direct" else {"rtol": 1e-9}
    found = room.optimize(solver=solvers.get(solver, **options), max_iterations=12)
    assert relative(found.depth, reference.depth) < 1e-4


def test_iterations_are_few(room):
    """The loop settles within a budget, and a direct solve counts one."""
    result = room.optimize()
    assert len(result.history) <= 80
    assert all(s.solver_iterations == 1 for s in result.history)


def test_one_sided_models_optimise_too(toy):
    """BiNI's model goes through the same loop; an orthographic plane stays exact."""
    scene = toy("plane_orthographic")
    graph = QuotientGraph.from_normals(**scene.arguments, angle=None, continuity=bini)
    assert np.ptp(graph.optimize().depth - scene.depth) < 1e-9


def test_runs_are_identical(room):
    """The same input gives the same bits on every run."""
    first, second = (room.optimize(merge_every=3, max_iterations=12) for _ in range(2))
    np.testing.assert_array_equal(first.potential, second.potential)


_RUN = """
import sys
import numpy as np
from quotientgraph import integrate, scenes
from laplacians.core.jit import Kernel
Kernel.__call__ = lambda self, *args: self.compiled()(*args)  # in parallel, however little there is to do
scene = scenes.make("room", shape=(100, 120)).with_noise(1.0)
out = []
for angle, settings in ((3.5, {}), (2.0, {"merge_every": 4, "max_iterations": 12}), (180.0, {}), (None, {})):
    if angle is None:
        settings["max_iterations"] = 3
    out.append(integrate(scene.normals, scene.mask, scene.camera, "opencv", angle=angle, **settings).potential)
np.save(sys.argv[1], np.array(out))
"""


@pytest.mark.slow
def test_threads_do_not_matter(tmp_path):
    """One thread and two give the same depth to 1e-9, and two runs with two threads the same bits."""
    found = []
    for run, threads in enumerate(("1", "2", "2")):
        path = tmp_path / f"{run}.npy"
        environment = {**os.environ, "NUMBA_NUM_THREADS": threads}
        subprocess.run([sys.executable, "-c", _RUN, str(path)], env=environment, check=True, timeout=300)
        found.append(np.load(path))
    assert np.abs(found[0] - found[1]).max() < 1e-9
    np.testing.assert_array_equal(found[1], found[2])


class Misbehaving:
    """A backend that solves well until an iteration, then answers what it was told to."""

    def __init__(self, answer, after=1):
        self.answer, self.left = answer, after

    def solve(self, system):
        self.left -= 1
        return self.answer(system) if self.left < 0 else solvers.get("direct").solve(system)


def solution(x):
    return solvers.Solution(x, True, 1, 0.0)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda s: 1 / 0, "raised ZeroDivisionError"),
        (lambda s: solution(np.full(s.n, np.nan)), "not finite"),
        (lambda s: solution(np.full(s.n, np.inf)), "not finite"),
        (lambda s: solution(np.zeros(s.n + 1)), "expected"),
        (lambda s: solution(np.zeros((s.n, 1))), "expected"),
        (lambda s: None, "expected"),
        (lambda s: solution(np.random.default_rng(0).normal(0, 1e3, s.n)), "worse than no change"),
        (lambda s: solution(-solvers.get("direct").solve(s).x), "worse than no change"),
    ],
    ids=["raises", "nan", "inf", "length", "shape", "none", "garbage", "sign"],
)
@pytest.mark.parametrize("after", [0, 2])
def test_a_backend_that_fails_is_named(answer, told, after, noisy_graph):
    """Exceptions, NaN, a wrong length and garbage become a `SolverError` with the backend and the iteration."""
    with pytest.raises(solvers.SolverError, match=told) as caught:
        noisy_graph(5, (20, 20)).optimize(solver=Misbehaving(answer, after))
    assert f"backend Misbehaving, iteration {after}" in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda s: solution("text"), "x is a str, not an array"),
        (lambda s: type("Only", (), {"x": np.zeros(s.n)})(), "without converged"),
        (lambda s: solvers.Solution(np.zeros(s.n), False, None, 0.0), "iterations=None"),
        (lambda s: solvers.Solution(np.zeros(s.n), False, 1, None), "residual=None"),
        (lambda s: solvers.Solution(np.zeros(s.n), np.ones(2, bool), 1, 0.0), r"converged=array\("),
        (lambda s: solution(solvers.get("direct").solve(s).x * (1 + 1j)), "x is complex128; expected real numbers"),
    ],
    ids=["text", "incomplete", "iterations", "residual", "converged", "complex"],
)
def test_an_answer_that_is_no_solution_is_named(answer, told, noisy_graph):
    """An answer that is not a `Solution` of real numbers is refused in the same way."""
    with pytest.raises(solvers.SolverError, match=f"backend Misbehaving, iteration 0: .*{told}"):
        noisy_graph(5, (20, 20)).optimize(solver=Misbehaving(answer, 0))


class Unprepared:
    """A backend that cannot prepare itself."""

    def prepare(self, pattern):
        raise RuntimeError("out of order")

    def solve(self, system):
        return solvers.get("direct").solve(system)


def test_a_backend_that_fails_to_prepare_is_named(noisy_graph, monkeypatch):
    """An exception in `prepare` becomes a `SolverError`, beside the filling and after a merge."""
    graph, told = noisy_graph(5, (20, 20)), r"backend Unprepared, iteration {}: .*RuntimeError: out of order"
    with pytest.raises(solvers.SolverError, match=told.format("[1-9]")):
        graph.optimize(solver=Unprepared(), merge_every=2)
    monkeypatch.setattr(optimize, "_MANY_CUT", 10)
    with pytest.raises(solvers.SolverError, match=told.format(0)):
        graph.optimize(solver=Unprepared(), preset="paper")


def partly(part, claim):
    """A backend that goes part of the way to the solution, says that it has converged, and claims a residual."""
    return Misbehaving(lambda s: solvers.Solution(part * solvers.get("direct").solve(s).x, True, 1, claim), 0)


@pytest.mark.parametrize(
    ("part", "claim", "converged"),
    [
        (0.6, 1e-12, False),
        (0.6, np.nan, False),
        (0.9, 1e-3, False),
        (0.9, 0.05, True),
        (0.9995, 1e-12, True),
        (0.9995, np.nan, True),
    ],
)
def test_the_residual_is_measured(part, claim, converged, noisy_graph):
    """It is not taken from the backend. If it is far above what the backend says, the solution has not converged."""
    system = solvers.LaplacianSystem.from_edges(3, [0, 1], [1, 2], [1.0, 2.0], [2.0, 1.0])
    found = solvers.solve_checked(partly(part, claim), system, system.energy, 0)
    assert found.residual == pytest.approx(1 - part)
    assert found.converged is converged
    warnings = noisy_graph(5, (20, 20)).optimize(solver=partly(part, claim)).warnings
    assert any("solver did not reach its tolerance in" in text for text in warnings) is not converged


def test_a_backend_that_gives_up_is_reported(noisy_graph):
    """Non-convergence of a backend is told in the warnings, not hidden and not fatal."""
    result = noisy_graph(5, (20, 20)).optimize(solver=solvers.get("scipy", maxiter=1, rtol=1e-12))
    assert any("solver did not reach its tolerance in" in text for text in result.warnings)


def test_a_system_that_is_solved_already_is_no_failure(noisy_graph):
    """Without reweighting the second alignment has nothing left to do; that is convergence, and nothing to warn of."""
    assert noisy_graph(3, (20, 20)).optimize(reweighting="none").warnings == []


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({"solver": "magic"}, ["solver", "magic", "available"]),
        ({"solver": 3}, ["solver", "solve(system)"]),
        ({"fill_solver": "magic"}, ["solver", "magic"]),
        ({"fill_solver": 3}, ["fill_solver", "solve(system)"]),
        ({"reweighting": "firm"}, ["reweighting", "soft"]),
        ({"lower": -1.0}, ["lower", "upper"]),
        ({"thresholds": "metric"}, ["thresholds", "natural"]),
        ({"max_iterations": 0}, ["max_iterations", "positive"]),
        ({"max_iterations": 2.5}, ["max_iterations", "whole"]),
        ({"energy_tol": 0}, ["energy_tol", "positive"]),
        ({"energy_tol": np.nan}, ["energy_tol", "positive"]),
        ({"merge_every": 0}, ["merge_every", "positive"]),
        ({"device": "tpu"}, ["device", "cpu"]),
    ],
)
def test_bad_settings_are_refused(settings, names, noisy_graph):
    """A `ValueError` names the argument, what was received and what may be used."""
    with pytest.raises(ValueError, match=names[0]) as caught:
        noisy_graph().optimize(**settings)
    for name in names:
        assert name in str(caught.value)


def test_a_gpu_that_is_not_there_is_refused():
    """device="cuda" without a GPU says why and how to go on; device="auto" goes on by itself."""
    from laplacians.core.arrays import gpu_problem

    if gpu_problem() is None:
        pytest.skip("this machine has a GPU")
    graph = QuotientGraph.from_normals(np.tile([0.0, 0.0, 1.0], (3, 3, 1)))
    with pytest.raises(ValueError, match='Use device="cpu"') as caught:
        graph.optimize(device="cuda")
    assert str(caught.value).count("pip install") <= 1
    assert graph.optimize(device="auto").device == "cpu"


def test_progress_is_given_every_step(noisy_graph, capsys):
    """A callable sees the steps of the history as they happen; True draws a bar on stderr, nothing on stdout."""
    seen = []
    result = noisy_graph(6, (20, 20)).optimize(progress=seen.append)
    assert seen == result.history
    noisy_graph(6, (20, 20)).optimize(progress=True)
    assert capsys.readouterr().out == ""


def test_warnings_are_logged(toy, caplog):
    """What a result warns of is also logged, under the package's name."""
    with caplog.at_level(logging.WARNING, "quotientgraph"):
        result = QuotientGraph.from_normals(**toy("disconnected").arguments).optimize()
    assert [record.getMessage() for record in caplog.records] == result.warnings
