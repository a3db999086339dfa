"""One table of systems, one of backends: every backend keeps the contract on every system."""

import importlib.metadata
import sys
import types

import numpy as np
import pytest

from laplacians import comparison, registry
from laplacians.backends.cupy_cg import CupyCG
from laplacians.backends.direct import Direct
from laplacians.backends.multigrid import Multigrid
from laplacians.core.sharing import at_most
from laplacians.direct.analysis import analyse
from quotientgraph import solvers

# What the registry offers here, the GPU's body on numpy, both kinds of factor, and multigrid forced to use its levels.
BACKENDS = {
    "auto": lambda: solvers.get("auto"),
    "direct": lambda: solvers.get("direct"),
    "direct, sparse": lambda: Direct(dense_up_to=0),
    "direct, dense": lambda: Direct(dense_up_to=1000),
    "multigrid": lambda: solvers.get("multigrid"),
    "multigrid, deep": lambda: Multigrid(coarsest=20),
    "numba": lambda: solvers.get("numba"),
    "pyamg": lambda: pytest.importorskip("pyamg", reason="PyAMG is not installed") and solvers.get("pyamg"),
    "scipy": lambda: solvers.get("scipy"),
    "cupy on numpy": lambda: CupyCG(device="cpu"),
    "cupy on numpy, jacobi": lambda: CupyCG(device="cpu", preconditioner="jacobi"),
}
RTOL = 1e-6


def grid(height, width, spread=0.0, seed=0):
    """A grid graph whose weights span `spread` powers of ten."""
    random = np.random.default_rng(seed)
    node = np.arange(height * width).reshape(height, width)
    tail = np.concatenate([node[:, :-1].ravel(), node[:-1].ravel()])
    head = np.concatenate([node[:, 1:].ravel(), node[1:].ravel()])
    weight = 10.0 ** (spread * (random.random(len(tail)) - 0.5))
    return height * width, tail, head, weight, random.normal(size=len(tail))


def loose(n, tail, head, weight, target, zero=0.3, extra=5):
    """Some weights zero, so that there are several pieces, and unknowns that no edge mentions."""
    keep = np.random.default_rng(9).random(len(tail)) > zero
    return n + extra, tail, head, np.where(keep, weight, 0.0), target


def parallel(n, tail, head, weight, target):
    """Every edge three times, in both directions."""
    return (
        n, np.concatenate([tail, head, tail]), np.concatenate([head, tail, head]),
        np.tile(weight, 3), np.concatenate([target, -target, target + 0.1]),
    )  # fmt: skip


SYSTEMS = {
    "one unknown": (1, [], [], [], []),
    "no edges": (7, [], [], [], []),
    "a loop": (2, [0, 0], [0, 1], [1.0, 2.0], [5.0, 1.0]),
    "two unknowns": (2, [1], [0], [3.0], [2.0]),
    "b is zero": (*grid(6, 7)[:4], np.zeros(71)),
    "all weights zero": (*grid(4, 4)[:3], np.zeros(24), np.ones(24)),
    "uniform grid": grid(23, 31),
    "path": (400, np.arange(399), np.arange(1, 400), np.ones(399), np.sin(np.arange(399))),
    "star": (300, np.zeros(299, int), np.arange(1, 300), np.linspace(1, 9, 299), np.cos(np.arange(299))),
    "pieces": loose(*grid(20, 20)),
    "isolated": loose(*grid(9, 9), zero=0.9, extra=40),
    "parallel": parallel(*grid(12, 15, 3.0)),
    "contrast 1e6": grid(20, 25, 6.0),
    "contrast 1e12": grid(20, 25, 12.0),
    "pieces, contrast 1e12": loose(*grid(20, 25, 12.0)),
    "tiny weights": (*grid(10, 10)[:3], np.full(180, 1e-30), grid(10, 10)[4]),
    "huge weights": (*grid(10, 10)[:3], np.full(180, 1e30), grid(10, 10)[4]),
}


@pytest.fixture(params=SYSTEMS, ids=str)
def system(request):
    return solvers.LaplacianSystem.from_edges(*SYSTEMS[request.param])


@pytest.fixture(params=BACKENDS, ids=str)
def backend(request):
    return BACKENDS[request.param]()


def exact(system):
    """The minimum-norm solution by dense least squares, which is centred piece by piece."""
    tail, head, weight, target = system.edges
    root, rows = np.sqrt(weight), np.zeros((len(tail), system.n))
    rows[np.arange(len(tail)), tail], rows[np.arange(len(tail)), head] = root, -root
    return np.linalg.lstsq(rows, root * target, rcond=1e-14)[0] if len(tail) else np.zeros(system.n)


def test_contract(backend, system):
    """Length, type; residual below rtol and told truly; zero mean per piece; the least-squares solution."""
    solution = backend.solve(system)
    assert solution.x.shape == (system.n,)
    assert solution.x.dtype == np.float64
    assert solution.converged is True or solution.converged == np.True_
    assert system.residual(solution.x) <= RTOL
    assert solution.residual == pytest.approx(system.residual(solution.x), rel=0.5, abs=1e-9)
    size = np.abs(solution.x).max(initial=1.0)
    for piece in np.unique(system.pieces):
        assert abs(solution.x[system.pieces == piece].mean()) < 1e-9 * size
    # Where weights differ by many powers of ten, the residual of an iterative backend bounds its error but loosely.
    contrast = system.weight.max(initial=1.0) / system.weight[system.weight > 0].min(initial=1.0)
    if contrast < 1e4 or solution.iterations <= 1:
        assert comparison.energy_error(system, solution.x, exact(system)) < 10 * RTOL
    assert isinstance(solution.iterations, (int, np.integer))


def test_solving_changes_nothing(backend):
    """A backend neither changes the system it is given nor remembers more than is right: solving again is the same."""
    system = solvers.LaplacianSystem.from_edges(*SYSTEMS["pieces"])
    before = [np.copy(a) for a in system.edges]
    first, again = backend.solve(system).x, backend.solve(system).x
    np.testing.assert_allclose(again, first, atol=1e-4)
    for old, new in zip(before, system.edges):
        np.testing.assert_array_equal(new, old)


@pytest.mark.parametrize("name", ["two unknowns", "pieces", "uniform grid"])
def test_a_system_cannot_be_changed(name):
    """What solvers work in is a copy, and the rest is read-only: no backend can spoil the system for the check."""
    system = solvers.LaplacianSystem.from_edges(*SYSTEMS[name])
    known = system.rhs, system.diagonal, system.matrix.toarray(), solvers.get("direct").solve(system).x
    for own in (system.rhs, system.diagonal, system.matrix.data):
        own *= 2.0
    for array in (system.weight, system.flow, system.ground, system.totals, system.edges[2]):
        with pytest.raises(ValueError, match="read-only"):
            array *= 2.0
    now = system.rhs, system.diagonal, system.matrix.toarray(), solvers.get("direct").solve(system).x
    for old, new in zip(known, now):
        np.testing.assert_array_equal(new, old)


def test_the_residual_where_b_is_zero():
    """Any x that leaves something is infinitely far off, and dividing by zero is no answer."""
    system = solvers.LaplacianSystem.from_edges(*SYSTEMS["b is zero"])
    assert system.residual(np.ones(system.n)) == 0.0
    assert system.residual(np.arange(system.n)) == np.inf


class Textbook:
    """Conjugate gradients as in a textbook: the right-hand side becomes the residual in place."""

    def solve(self, system):
        x, r = np.zeros(system.n), system.rhs
        p, rr = r.copy(), r @ r
        while rr > 1e-20 * (system.rhs @ system.rhs):
            q = system.apply(p)
            step = rr / (p @ q)
            x += step * p
            r -= step * q
            before, rr = rr, r @ r
            p = r + rr / before * p
        return solvers.Solution(system.centred(x), True, 1, system.residual(x))


def test_conjugate_gradients_of_a_textbook():
    system = solvers.LaplacianSystem.from_edges(*SYSTEMS["uniform grid"])
    found = solvers.solve_checked(Textbook(), system, np.inf, 0)
    assert found.converged
    np.testing.assert_allclose(found.x, solvers.get("direct").solve(system).x, atol=1e-8)


def test_new_weights_on_a_known_pattern(backend):
    """What a backend keeps of a pattern serves other weights, zero ones included."""
    n, tail, head, weight, target = grid(25, 30, 2.0)
    first = solvers.LaplacianSystem.from_edges(n, tail, head, weight, target)
    random = np.random.default_rng(4)
    for spread in (0.0, 6.0, 9.0):
        w = 10 ** (spread * random.random(first.pattern.n_pairs)) * (random.random(first.pattern.n_pairs) > 0.2)
        system = solvers.LaplacianSystem(first.pattern, w, w * random.normal(size=len(w)))
        solution = backend.solve(system)
        assert system.residual(solution.x) <= RTOL
        off = comparison.energy_error(system, solution.x, solvers.get("direct").solve(system).x)
        assert off < 10 * RTOL if spread < 4 else off < 1e-3


def test_rounding_is_no_work(backend):
    """A right-hand side that is what rounding leaves of flows that cancel counts as solved."""
    tail, head = np.arange(200), (np.arange(200) + 1) % 200
    system = solvers.LaplacianSystem.from_edges(200, tail, head, np.linspace(1, 2, 200), 1 / np.linspace(1, 2, 200))
    assert 0 < np.abs(system.rhs).max() < 1e-14
    solution = backend.solve(system)
    assert solution.converged
    assert np.abs(solution.x).max() < 1e-12


@pytest.mark.parametrize("n", [40, 600])
def test_a_factor_serves_several_right_hand_sides(n):
    """Solved together they are what they are one by one, dense and sparse, for any number of threads."""
    random = np.random.default_rng(0)
    tail, head = random.integers(0, n, (2, 4 * n))
    factor = Direct().factor(solvers.LaplacianSystem.from_edges(n, tail, head, random.random(4 * n), tail * 0.0))
    rhs = random.normal(size=(n, 150))
    rhs -= rhs.mean(axis=0)
    for n_threads in (1, 3):
        with at_most(n_threads):
            together = factor.solve(rhs)
        assert together.shape == rhs.shape
        for k in (0, 77, 149):
            np.testing.assert_allclose(together[:, k], factor.solve(rhs[:, k]), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("solver", [Direct(), solvers.get("auto")])
def test_a_pattern_can_be_prepared(solver):
    """The order of elimination that was found ahead gives the same bits, and is found once."""
    random, found = np.random.default_rng(0), []
    tail, head, weight = random.integers(0, 300, 1200), random.integers(0, 300, 1200), random.random(1200)
    for ahead in (False, True):
        system = solvers.LaplacianSystem.from_edges(300, tail, head, weight, weight)
        if ahead:
            solver.prepare(system.pattern)
            solver.prepare(system.pattern)
        found.append(solver.solve(system).x)
        assert analyse(system.pattern) is analyse(system.pattern)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("name", ["multigrid, deep", "numba", "pyamg", "scipy", "cupy on numpy"])
def test_giving_up_is_told(name):
    """Too few iterations: converged is false, and residual says how far it got."""
    solver = BACKENDS[name]()
    solver = type(solver)(**{**vars(solver), "maxiter": 1, "rtol": 1e-9})
    system = solvers.LaplacianSystem.from_edges(*SYSTEMS["contrast 1e6"])
    solution = solver.solve(system)
    assert not solution.converged
    assert solution.iterations == 1
    assert solution.residual == pytest.approx(system.residual(solution.x))
    assert solution.residual > 1e-9


def beginning(height, width, seed=0):
    """A start for `Multigrid.improve` on a grid: neighbour lists, x, what x leaves of the equations, and its energy."""
    n, tail, head, weight, target = grid(height, width, 1.0, seed)
    system = solvers.LaplacianSystem.from_edges(n, tail, head, weight.astype(np.float32), target)
    tail, head, weight, target = system.edges
    graph = solvers.NeighbourLists.from_edges(n, tail, head, weight)
    x = np.random.default_rng(seed).normal(size=n)
    left = target - (x[tail] - x[head])
    return system, graph, x, system.rhs - system.apply(x), float(np.sum(weight * left**2))


@pytest.mark.parametrize("coarsest", [20, 4000])
def test_improving_a_start(coarsest):
    """`improve` reaches the solution from any start, in place, and tells its true residual."""
    system, graph, x, rhs, _ = beginning(40, 50)
    size = np.linalg.norm(rhs)
    solution = solvers.Multigrid(rtol=1e-9, coarsest=coarsest).improve(graph, x, rhs)
    assert solution.converged
    assert solution.x is x
    left = np.linalg.norm(system.rhs - system.apply(x)) / size
    assert left <= 1e-8
    assert solution.residual == pytest.approx(left, abs=1e-10)
    np.testing.assert_allclose(system.centred(x), solvers.get("direct").solve(system).x, atol=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_improving_to_an_energy_tolerance(seed):
    """With `energy_tol` fewer iterations are made, and the energy is within the tolerance of the least."""
    system, graph, x, rhs, energy = beginning(60, 70, seed)
    start = x.copy()
    loose = solvers.Multigrid(rtol=1e-9, coarsest=50, energy_tol=1e-4).improve(graph, x, rhs, energy)
    tight = solvers.Multigrid(rtol=1e-9, coarsest=50).improve(graph, start, system.rhs - system.apply(start))
    assert loose.converged
    assert loose.iterations < tight.iterations
    exact = solvers.get("direct").solve(system).x
    tail, head, weight, target = system.edges
    reached, least = (np.sum(weight * (v[tail] - v[head] - target) ** 2) for v in (loose.x, exact))
    assert least * (1 - 1e-12) <= reached <= least * (1 + 2e-4)


def test_improving_what_cannot_be_improved():
    """Wrong arrays are refused by name; what is not finite is an error; giving up is told; zero takes no iteration."""
    _, graph, x, rhs, _ = beginning(30, 30)
    solver = solvers.Multigrid(coarsest=20, rtol=1e-12, maxiter=1)
    for name, bad_x, bad_rhs in (("x", x[:-1], rhs), ("x", x.astype(np.float32), rhs), ("rhs", x, rhs[:, None])):
        with pytest.raises(ValueError, match=f"^{name}: expected"):
            solver.improve(graph, bad_x, bad_rhs)
    frozen = x.copy()
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="writable"):
        solver.improve(graph, frozen, rhs)
    with pytest.raises(solvers.SolverError, match="not finite"):
        solver.improve(graph, x.copy(), np.full(len(x), np.nan))
    kept = x.copy()
    nothing = solver.improve(graph, x, np.zeros(len(x)))
    assert (nothing.x is x, nothing.converged, nothing.iterations, nothing.residual) == (True, True, 0, 0.0)
    np.testing.assert_array_equal(x, kept)
    given_up = solver.improve(graph, x, rhs)
    assert not given_up.converged
    assert given_up.residual > 1e-12


@pytest.mark.parametrize("name", ["direct", "multigrid", "numba", "pyamg", "scipy"])
@pytest.mark.parametrize(
    "options", [{"rtol": 0.0}, {"rtol": 2.0}, {"rtol": float("nan")}, {"maxiter": 0}, {"magic": 1}]
)
def test_options_are_validated(name, options):
    """A wrong option is refused where the solver is made, by name."""
    if name == "pyamg":
        pytest.importorskip("pyamg", reason="PyAMG is not installed")
    with pytest.raises((ValueError, TypeError), match=next(iter(options))):
        solvers.get(name, **options)


def test_pyamg_options():
    pytest.importorskip("pyamg", reason="PyAMG is not installed")
    for options in ({"strength": 1.0}, {"patience": 0.5}):
        with pytest.raises(ValueError, match=next(iter(options))):
            solvers.get("pyamg", **options)
    with pytest.raises(ValueError, match="preconditioner"):
        CupyCG(preconditioner="magic")


def test_pyamg_keeps_its_hierarchy_while_it_serves(monkeypatch):
    """Set up once for weights that stay alike; again as soon as 1.5 times the iterations do not suffice."""
    pytest.importorskip("pyamg", reason="PyAMG is not installed")
    from laplacians.backends.pyamg_cg import PyamgCG

    made = []
    build = PyamgCG._hierarchy
    monkeypatch.setattr(PyamgCG, "_hierarchy", lambda self, system: made.append(1) or build(self, system))
    system = solvers.LaplacianSystem.from_edges(*grid(40, 40))
    solver, pattern, random = solvers.get("pyamg"), system.pattern, np.random.default_rng(0)
    for _ in range(3):
        weight = system.weight * (1 + 0.1 * random.random(pattern.n_pairs))
        assert solver.solve(solvers.LaplacianSystem(pattern, weight, system.flow)).converged
    assert len(made) == 1
    weight = 10.0 ** random.uniform(-4, 4, pattern.n_pairs)
    assert solver.solve(solvers.LaplacianSystem(pattern, weight, system.flow)).converged
    assert len(made) == 2


def crumbs(seed=0):
    """A system of hundreds of small pieces, such as filling has: coarsening contracts each of them into one unknown."""
    random = np.random.default_rng(seed)
    size = random.integers(1, 12, 400)
    piece = np.repeat(np.arange(400), size)
    tail = np.flatnonzero(piece[1:] == piece[:-1])
    return solvers.LaplacianSystem.from_edges(
        len(piece), tail, tail + 1, random.uniform(0.5, 2, len(tail)), random.normal(size=len(tail))
    )


@pytest.mark.parametrize("seed", range(4))
def test_pyamg_on_many_pieces(seed):
    """It converges to the solution, and on every repetition to the same bits; the state of numpy.random is untouched."""
    pytest.importorskip("pyamg", reason="PyAMG is not installed")
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    first, again = (solvers.get("pyamg").solve(crumbs(seed)) for _ in range(2))
    assert first.converged
    np.testing.assert_array_equal(first.x, again.x)
    np.testing.assert_allclose(first.x, solvers.get("direct").solve(crumbs(seed)).x, atol=1e-4)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


@pytest.mark.parametrize("kind", ["raises", "returns NaN", "is negative"])
def test_where_pyamg_fails_the_diagonal_takes_its_place(kind, monkeypatch):
    """A hierarchy that cannot be set up, or that breaks down, costs time but not the solution."""
    pytest.importorskip("pyamg", reason="PyAMG is not installed")
    from scipy.sparse import diags_array

    from laplacians.backends.pyamg_cg import PyamgCG

    def broken(self, system):
        if kind == "raises":
            raise RuntimeError("out of order")
        return diags_array(np.full(system.n, np.nan if kind == "returns NaN" else -1.0))

    monkeypatch.setattr(PyamgCG, "_hierarchy", broken)
    system = solvers.LaplacianSystem.from_edges(*SYSTEMS["uniform grid"])
    solution = solvers.get("pyamg").solve(system)
    assert solution.converged
    assert system.residual(solution.x) <= RTOL


def test_a_round_that_makes_things_worse_is_undone():
    """Rounds go on from the best x; what a corrector spoils is not returned."""
    from laplacians.backends.iterative import iterate

    system = solvers.LaplacianSystem.from_edges(*SYSTEMS["uniform grid"])
    exact = solvers.get("direct").solve(system).x
    steps = iter([0.5, 0.5, -300.0])

    def correct(left, x, goal, limit):
        x += next(steps) * (exact - x)
        return 1

    x, iterations, residual = iterate(system, correct, 1e-9, 100)
    assert iterations == 3
    assert residual == pytest.approx(0.25)
    np.testing.assert_allclose(x, 0.75 * exact, atol=1e-12)


def test_auto_says_what_it_chose():
    """Small systems are factorised, large ones go to multigrid until it takes too many iterations."""
    auto = solvers.get("auto")
    small = solvers.LaplacianSystem.from_edges(*SYSTEMS["path"])
    pattern = solvers.Pattern(10**6, np.zeros(1, np.int32), np.ones(1, np.int32))
    large = solvers.LaplacianSystem(pattern, np.ones(1), np.ones(1))
    assert type(auto.choose(small)).__name__ == "Direct"
    assert type(auto.choose(large)).__name__ == "Multigrid"
    assert auto.solve(large).converged
    large.pattern.memo["auto"] = 2, 700  # solves, iterations
    assert type(auto.choose(large)).__name__ == "Direct"


# The exchange format


def test_exports_agree(system):
    """CSR matrix, LinearOperator, `apply` and the edge list are one and the same Laplacian, with row sums of zero."""
    x = np.random.default_rng(1).normal(size=system.n)
    tail, head, weight, _ = system.edges
    dense = np.zeros((system.n, system.n))
    np.add.at(dense, (tail, head), -weight)
    np.add.at(dense, (head, tail), -weight)
    dense -= np.diag(dense.sum(axis=1))
    scale = 1e-12 * np.abs(dense).max(initial=1.0)
    np.testing.assert_allclose(system.matrix.toarray(), dense, atol=scale)
    for product in (system.apply(x), system.operator @ x, system.matrix @ x):
        np.testing.assert_allclose(product, dense @ x, atol=10 * scale)
    np.testing.assert_allclose(system.matrix.sum(axis=1), 0, atol=10 * scale)
    assert system.matrix.has_canonical_format


def test_npz_round_trip(system, tmp_path):
    """What is saved is read back: same Laplacian, same right-hand side."""
    system.save(tmp_path / "system.npz")
    back = solvers.LaplacianSystem.load(tmp_path / "system.npz")
    assert back.n == system.n
    np.testing.assert_array_equal(back.pattern.tail, system.pattern.tail)
    np.testing.assert_array_equal(back.weight, system.weight)
    np.testing.assert_allclose(back.rhs, system.rhs, rtol=1e-12, atol=1e-14 * np.abs(system.flow).max(initial=0))


def test_the_path_is_taken_as_it_is(tmp_path):
    """A name without a suffix is written and read under that name."""
    solvers.LaplacianSystem.from_edges(*SYSTEMS["pieces"]).save(tmp_path / "system")
    assert [path.name for path in tmp_path.iterdir()] == ["system"]
    assert solvers.LaplacianSystem.load(tmp_path / "system").n == 405


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tail", [0.5, 1]),
        ("tail", [2**40, 1]),
        ("head", [np.nan, 1]),
        ("weight", [1j, 1]),
        ("target", ["a", "b"]),
        ("n", [3, 3]),
        ("n", 2.5),
        ("n", -1),
        ("weight", 1.0),
    ],
)
def test_loading_arrays_of_a_wrong_kind_is_refused(name, value, tmp_path):
    """Nothing is rounded, cut or wrapped around in silence; the file and the array are named."""
    arrays = {"n": 3, "tail": [0, 1], "head": [1, 2], "weight": [1.0, 1.0], "target": [0.0, 1.0], name: value}
    np.savez(tmp_path / "theirs.npz", **arrays)
    with pytest.raises(ValueError, match=rf"theirs\.npz: .*{name}"):
        solvers.LaplacianSystem.load(tmp_path / "theirs.npz")


def test_whole_numbers_may_be_of_any_type(tmp_path):
    """Programs that know no other numbers write floats."""
    np.savez(
        tmp_path / "theirs.npz", n=3.0, tail=[0.0, 1.0], head=np.array([1, 2], np.uint8), weight=[1, 2], target=[0, 1]
    )
    np.testing.assert_array_equal(solvers.LaplacianSystem.load(tmp_path / "theirs.npz").diagonal, [1, 3, 2])


def test_loading_something_else_is_refused(tmp_path):
    np.savez(tmp_path / "other.npz", n=3, tail=[0])
    with pytest.raises(ValueError, match="not a dumped system, it has no head, target, weight"):
        solvers.LaplacianSystem.load(tmp_path / "other.npz")


def test_refilling_in_place():
    """The sparsity is computed once; the next system's values go into the same matrix, and a matrix is one's own."""
    system = solvers.LaplacianSystem.from_edges(*SYSTEMS["pieces"])
    matrix = system.matrix
    data = matrix.data
    other = solvers.LaplacianSystem(system.pattern, 2 * system.weight, system.flow)
    other.refill(matrix)
    assert matrix.data is data
    np.testing.assert_array_equal(matrix.toarray(), 2 * system.matrix.toarray())
    assert other.pattern.csr is system.pattern.csr
    matrix.eliminate_zeros()
    np.testing.assert_array_equal(system.matrix.toarray(), other.matrix.toarray() / 2)


@pytest.mark.parametrize(
    ("edges", "told"),
    [
        ((2, [0], [1, 1], [1.0], [0.0]), "equally long"),
        ((2, [0], [2], [1.0], [0.0]), r"\[0, 2\)"),
        ((2, [0], [1], [-1.0], [0.0]), "weight"),
        ((2, [0], [1], [np.nan], [0.0]), "weight"),
        ((2, [0], [1], [1.0], [np.inf]), "target"),
    ],
)
def test_bad_edges_are_refused(edges, told):
    with pytest.raises(ValueError, match=told):
        solvers.LaplacianSystem.from_edges(*edges)


# The registry


class Mine:
    """A backend of one's own."""

    def __init__(self, rtol=1e-6):
        self.rtol = rtol

    def solve(self, system):
        return solvers.get("direct").solve(system)


@pytest.fixture
def clean_registry(monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})


def test_registering(clean_registry):
    """A registered class is listed, made with its options, and named in errors by its registered name."""
    solvers.register("mine", Mine)
    assert "mine" in solvers.available()
    assert solvers.get("mine", rtol=1e-3).rtol == 1e-3
    assert isinstance(solvers.get("mine"), solvers.Solver)
    assert registry.name_of(Mine()) == "mine"
    assert registry.name_of(solvers.get("auto")) == "auto"
    assert registry.name_of(solvers.Dumping(Mine(), "folder")) == "mine"
    assert registry.name_of(solvers.Dumping(Textbook(), "folder")) == "Textbook"
    helped = Textbook()
    helped.solver = solvers.get("direct")
    assert registry.name_of(helped) == "Textbook"
    for name, factory in (("", Mine), (None, Mine), ("mine", 3)):
        with pytest.raises(ValueError, match="name" if factory is Mine else "factory"):
            solvers.register(name, factory)


def test_unknown_names_list_what_there_is():
    """`get("nope")` says what can be used; unusable backends are not among it."""
    with pytest.raises(ValueError, match=r"'nope' is not known; available here: .*direct.*multigrid.*numba.*scipy"):
        solvers.get("nope")


def test_unusable_backends_are_known_but_not_available(monkeypatch):
    """Without CuPy: "cupy" is listed with the reason, is not available, and asking for it gives the command to run."""
    monkeypatch.setitem(sys.modules, "cupy", None)
    row = next(row for row in comparison.listing() if row["name"] == "cupy")
    assert not row["available"]
    assert 'pip install "quotientgraph[cuda12]"' in row["reason"]
    assert "cupy" not in solvers.available()
    with pytest.raises(ValueError, match="cannot be used: CuPy is not installed"):
        solvers.get("cupy")


def test_entry_points(monkeypatch, clean_registry):
    """Other packages add backends by entry point; a broken one is listed with its error and harms no other."""

    def broken():
        raise ImportError("no module named gone")

    points = [
        types.SimpleNamespace(
            name="theirs", value="theirs:Mine", load=lambda: Mine, dist=types.SimpleNamespace(version="2.1")
        ),
        types.SimpleNamespace(name="broken", value="broken:Gone", load=broken, dist=None),
    ]
    found = {"quotientgraph.solvers": points}
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: found.get(group, []))
    assert "theirs" in solvers.available()
    assert "broken" not in solvers.available()
    assert isinstance(solvers.get("theirs"), Mine)
    rows = {row["name"]: row for row in comparison.listing()}
    assert rows["theirs"]["version"] == "2.1"
    assert "no module named gone" in rows["broken"]["reason"]


# Dumping and timing


def test_dumping_and_bench(tmp_path, clean_registry):
    """Each system given to `Dumping` is a file; `bench` times the backends on them and survives a broken one."""
    system = solvers.LaplacianSystem.from_edges(*SYSTEMS["pieces"])
    dumping = solvers.Dumping(solvers.get("direct"), tmp_path / "systems")
    for _ in range(2):
        dumping.solve(system)
    files = sorted((tmp_path / "systems").iterdir())
    assert [file.name for file in files] == ["0000.npz", "0001.npz"]

    class Broken:
        def solve(self, system):
            raise RuntimeError("out of order")

    solvers.register("broken", Broken)
    timings = solvers.compare(files[:1], ["auto", "scipy", "broken"], repeats=1)
    assert [t.backend for t in timings] == ["auto", "scipy", "broken"]
    assert all(t.first > 0 and t.again > 0 and t.residual <= 1e-6 and t.error <= 1e-5 for t in timings[:2])
    assert timings[2].problem == "RuntimeError: out of order"
    text = solvers.timing_table(timings)
    assert "out of order" in text
    assert len(text.splitlines()) == 4
    assert comparison.rows(timings)[0]["n"] == system.n
