"""The GPU body without a GPU: a stand-in for CuPy, made of numpy, that is as strict as CuPy is.

Its arrays refuse to mix with numpy's, never turn into numpy's by themselves, and its module has only the names that
CuPy 14 has and this project uses (checked against the real package). What is left for a GPU to show is that CuPy's
functions do what numpy's of the same name do.
"""

import sys
import types

import numpy as np
import pytest

from laplacians.backends.cupy_cg import PRECONDITIONERS, CupyCG
from quotientgraph import QuotientGraph, scenes, solvers
from quotientgraph.geometry.jumps import bini
from quotientgraph.method.cutedges import CutEdges
from quotientgraph.method.merging import least_residual_edges
from quotientgraph.method.weights import Outliers, pair_terms, pair_terms_by_kernel, pair_terms_over

FUNCTIONS = [
    "abs",
    "arange",
    "argsort",
    "bincount",
    "concatenate",
    "cumsum",
    "empty",
    "exp",
    "flatnonzero",
    "full",
    "full_like",
    "isfinite",
    "maximum",
    "minimum",
    "ones",
    "ones_like",
    "sqrt",
    "stack",
    "unique",
    "where",
    "zeros",
    "zeros_like",
]
# CuPy's scatters know these types only; of integers int32.
SCATTERED = ("int32", "float32", "float64")


class DeviceArray:
    """An array on the pretended GPU."""

    __array_ufunc__ = None  # numpy arrays leave mixed operations to this class, which refuses them

    def __init__(self, values):
        self.values = np.asarray(values)

    def __array__(self, *_, **__):
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")

    def get(self):
        return self.values.copy()

    def __getattr__(self, name):
        if name not in ("shape", "dtype", "ndim", "size", "mean", "sum", "all", "any", "astype", "copy"):
            raise AttributeError(name)
        found = getattr(self.values, name)
        return wrapped(found) if callable(found) else found

    def __getitem__(self, key):
        return DeviceArray(self.values[bare(key)])

    def __setitem__(self, key, value):
        assert not (isinstance(key, DeviceArray) and key.dtype == bool), "masks with array values are slow in CuPy"
        self.values[bare(key)] = bare(value)

    def __len__(self):
        return len(self.values)

    def __float__(self):
        return float(self.values)

    def __int__(self):
        return int(self.values)

    def __bool__(self):
        return bool(self.values)


def bare(value):
    """Arguments as numpy sees them; a host array among them is the mistake that this module is looking for."""
    if isinstance(value, DeviceArray):
        return value.values
    if isinstance(value, (tuple, list)):
        return type(value)(bare(item) for item in value)
    if isinstance(value, np.ndarray):
        raise TypeError("Unsupported type <class 'numpy.ndarray'>")
    return value


def wrapped(function):
    def call(*args, **options):
        result = function(*bare(args), **{name: bare(value) for name, value in options.items()})
        if isinstance(result, tuple):
            return tuple(DeviceArray(item) for item in result)
        return DeviceArray(result) if isinstance(result, (np.ndarray, np.generic)) else result

    return call


def in_place(function):
    def call(self, other):
        function(self.values, bare(other))
        return self

    return call


def _operators():
    plain = [
        "add",
        "sub",
        "mul",
        "truediv",
        "floordiv",
        "mod",
        "pow",
        "matmul",
        "lt",
        "le",
        "gt",
        "ge",
        "eq",
        "ne",
        "and",
        "or",
    ]
    for name in plain:
        setattr(DeviceArray, f"__{name}__", wrapped(getattr(np.ndarray, f"__{name}__")))
    for name in ["add", "sub", "mul", "truediv", "pow", "matmul"]:
        setattr(DeviceArray, f"__r{name}__", wrapped(getattr(np.ndarray, f"__r{name}__")))
    for name in ["add", "sub", "mul", "truediv"]:
        setattr(DeviceArray, f"__i{name}__", in_place(getattr(np.ndarray, f"__i{name}__")))
    for name in ("neg", "abs", "invert"):
        setattr(DeviceArray, f"__{name}__", wrapped(getattr(np.ndarray, f"__{name}__")))


_operators()


def scatter(ufunc):
    """A ufunc with `at`, which in CuPy knows few types."""

    def at(target, index, values):
        assert str(target.dtype) in SCATTERED
        assert target.dtype == values.dtype
        ufunc.at(bare(target), bare(index), bare(values))

    call = wrapped(ufunc)
    call.at = at
    return call


class DeviceMatrix:
    """`cupyx.scipy.sparse.csr_matrix`."""

    def __init__(self, parts, shape):
        from scipy.sparse import csr_array

        self.data, self.host = parts[0], csr_array(bare(parts), shape=shape)

    def __matmul__(self, x):
        return DeviceArray(self.host @ bare(x))


@pytest.fixture
def cupy(monkeypatch):
    """The stand-in, installed as ``cupy``."""
    module = types.ModuleType("cupy")
    for name in FUNCTIONS:
        setattr(module, name, wrapped(getattr(np, name)))
    module.minimum, module.maximum = scatter(np.minimum), scatter(np.maximum)
    module.asarray = lambda a, **options: a if isinstance(a, DeviceArray) else DeviceArray(np.array(a, **options))
    module.get_array_module = lambda a: module if isinstance(a, DeviceArray) else np
    module.is_available = lambda: True
    module.__version__ = "stand-in"
    sparse = types.ModuleType("cupyx.scipy.sparse")
    sparse.csr_matrix = DeviceMatrix
    for name, content in (
        ("cupy", module), ("cupyx", types.ModuleType("cupyx")), ("cupyx.scipy", types.ModuleType("cupyx.scipy")),
        ("cupyx.scipy.sparse", sparse),
    ):  # fmt: skip
        monkeypatch.setitem(sys.modules, name, content)
    return module


def graph_of(name, angle=3.5, **options):
    scene = scenes.make(name, shape=(48, 60))
    return QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", angle, **options)


def difference(found, reference):
    both = np.isfinite(reference.depth)
    assert (both == np.isfinite(found.depth)).all()
    return float(np.max(np.abs(found.depth - reference.depth)[both] / np.abs(reference.depth[both]).max(), initial=0.0))


@pytest.mark.parametrize("settings", [{}, {"merge_every": 2}, {"reweighting": "hard"}], ids=["plain", "merge", "hard"])
@pytest.mark.parametrize("name", scenes.names())
def test_all_scenes_come_out_alike(name, settings, cupy):
    """device="cuda" gives the CPU's depth to 1e-10, its levels and its iterations, on every scene."""
    graph = graph_of(name)
    settings = {"solver": "direct", "max_iterations": 12, **settings}
    here, there = (graph.optimize(device=device, **settings) for device in ("cpu", "cuda"))
    assert (here.device, there.device) == ("cpu", "cuda")
    # Hard reweighting leaves components tied by next to nothing: there rounding moves the depth by more.
    assert difference(there, here) < (1e-7 if "reweighting" in settings else 1e-10)
    assert [level.n_components for level in there.levels] == [level.n_components for level in here.levels]
    assert len(there.history) == len(here.history)
    np.testing.assert_allclose(
        [s.energy for s in there.history], [s.energy for s in here.history], rtol=1e-6, atol=1e-18
    )


@pytest.mark.parametrize(
    ("given", "settings"),
    [
        ("prior", {}),
        ("points", {"merge_every": 2}),
        ("anchors", {"joining": "none"}),
        ("anchors", {}),
        ("both", {}),
        ("both", {"merge_every": 2}),
    ],
)
def test_known_depth_goes_with_the_gpu(given, settings, cupy):
    """Priors, dense and sparse, and anchors give the same on the device, in the same levels."""
    graph, truth = graph_of("room"), scenes.make("room", shape=(48, 60)).depth
    noise = np.random.default_rng(4).normal(1, 0.01, truth.shape)
    known = np.where(np.arange(truth.size).reshape(truth.shape) % 29 == 0, truth * noise, np.nan)
    anchors = [(10, 5, truth[5, 10]), (30, 24, truth[24, 30])]
    given = {
        "prior": {"prior": truth * noise},
        "points": {"prior": known},
        "anchors": {"anchors": anchors},
        "both": {"prior": truth * noise, "anchors": anchors},
    }[given]
    settings = {"solver": "direct", "max_iterations": 12, **settings, **given}
    here, there = (graph.optimize(device=device, **settings) for device in ("cpu", "cuda"))
    assert there.device == "cuda"
    assert difference(there, here) < 1e-9
    assert [level.n_components for level in there.levels] == [level.n_components for level in here.levels]


@pytest.mark.parametrize("angle", [3.5, None])
def test_one_sided_models_come_out_alike(angle, cupy):
    """The same for a model whose two equations differ, merged, and with one component a pixel."""
    graph = graph_of("room", angle, continuity=bini)
    settings = {"solver": "direct", "max_iterations": 6, "merge_every": 2}
    assert difference(graph.optimize(device="cuda", **settings), graph.optimize(device="cpu", **settings)) < 1e-10


@pytest.mark.parametrize("preconditioner", PRECONDITIONERS)
def test_the_cupy_backend_stays_on_the_device(preconditioner, cupy, monkeypatch):
    """With the backend "cupy" only scalars and, when merging, labels cross over; the depth is the direct solver's."""
    graph = graph_of("room")
    backend = solvers.get("cupy", rtol=1e-11, preconditioner=preconditioner)
    reference = graph.optimize(solver="direct", device="cpu", max_iterations=8)
    moved = []
    monkeypatch.setattr(DeviceArray, "get", lambda self: moved.append(self.size) or self.values.copy())
    found = graph.optimize(solver=backend, device="cuda", max_iterations=8)
    assert difference(found, reference) < 1e-6
    # Per level the pattern and units; the cut edges for the creases; the potential at the end.
    assert sum(size > 1 for size in moved) <= 12


def test_auto_uses_the_gpu_and_says_so(cupy):
    """device="auto" takes a GPU that works; solver="auto" then solves there."""
    result = graph_of("room").optimize(max_iterations=4)
    assert result.device == "cuda"
    assert min(step.solver_iterations for step in result.history) > 1
    assert "cupy" in solvers.available()


def test_a_gpu_that_fails_is_told(cupy, monkeypatch):
    """A broken driver is a reason, not a crash: "auto" goes on with the CPU, "cuda" says what happened."""

    def broken():
        raise RuntimeError("CUDA driver version is insufficient")

    monkeypatch.setattr(cupy, "is_available", broken)
    graph = graph_of("plane")
    assert graph.optimize().device == "cpu"
    with pytest.raises(ValueError, match=r"driver version is insufficient.*pip install \"quotientgraph\[cuda12\]\""):
        graph.optimize(device="cuda")
    monkeypatch.setattr(cupy, "is_available", lambda: False)
    with pytest.raises(ValueError, match="finds no working CUDA GPU"):
        graph.optimize(device="cuda")


def test_a_host_backend_is_given_host_arrays(cupy):
    """A third-party backend that knows numpy only works with device="cuda" as well."""

    class Plain:
        def solve(self, system):
            assert isinstance(system.weight, np.ndarray)
            return solvers.get("scipy").solve(system)

    assert graph_of("room").optimize(solver=Plain(), device="cuda", max_iterations=3).device == "cuda"


@pytest.mark.parametrize("kind", ["soft", "hard", "none"])
@pytest.mark.parametrize("bilateral", [True, False])
@pytest.mark.parametrize("continuity", [None, bini])
def test_the_kernel_is_the_expressions(kind, bilateral, continuity):
    """The Numba pass and the array expressions give the same terms, run on numpy."""
    graph = graph_of("room", **({} if continuity is None else {"continuity": continuity}))
    cut = CutEdges.from_graph(graph, graph.filled(), Outliers().scale(graph.pixels.map))
    shift = np.random.default_rng(1).normal(0, 1e-3, graph.n_components)
    terms = pair_terms_by_kernel(cut, shift, bilateral, Outliers(kind))
    np.testing.assert_allclose(pair_terms_over(np, cut, shift, bilateral, Outliers(kind)), terms, rtol=1e-9, atol=1e-13)


def test_least_residual_edges_on_the_device(cupy):
    """The selection for merging is the same edge for edge, ties included."""
    random = np.random.default_rng(2)
    tail, head = random.integers(0, 40, (2, 300)).astype(np.int32)
    residual = random.integers(-6, 7, 300) / 4
    here = least_residual_edges(50, tail, head, residual)
    there = least_residual_edges(50, cupy.asarray(tail), cupy.asarray(head), cupy.asarray(residual))
    np.testing.assert_array_equal(there.get(), here)


def test_systems_move(cupy):
    """A system that went to the device and back is the same; its pattern is moved once."""
    random = np.random.default_rng(3)
    tail, head = random.integers(0, 30, (2, 80))
    system = solvers.LaplacianSystem.from_edges(30, tail, head, random.random(80), random.normal(size=80))
    there = system.to(cupy)
    back = there.to(np)
    assert back.pattern is system.pattern
    assert system.to(cupy).pattern is there.pattern
    x = random.normal(size=30)
    np.testing.assert_allclose(there.apply(cupy.asarray(x)).get(), system.apply(x), atol=1e-12)
    np.testing.assert_allclose((there.matrix @ cupy.asarray(x)).get(), system.apply(x), atol=1e-12)
    np.testing.assert_array_equal(there.pieces.get(), system.pieces)
    for ours, theirs in zip(system.edges, there.edges):
        np.testing.assert_allclose(theirs.get(), ours)


def test_the_names_are_cupys():
    """Against the real CuPy, where it is installed (it need not have a GPU): all names used exist."""
    if isinstance(sys.modules.get("cupy"), types.ModuleType) and sys.modules["cupy"].__version__ == "stand-in":
        pytest.fail("the stand-in was left installed")
    real = pytest.importorskip("cupy", reason="CuPy is not installed: its names were not checked in this run")
    missing = [name for name in [*FUNCTIONS, "asarray", "get_array_module", "is_available"] if not hasattr(real, name)]
    assert not missing
    assert hasattr(real.minimum, "at")
    assert all(hasattr(real.ndarray, name) for name in ("get", "astype", "copy", "mean", "sum", "all", "any"))


def test_the_cupy_body_runs_on_numpy():
    """``CupyCG(device="cpu")`` is the same body; contraction reaches the tolerance in fewer steps than Jacobi."""
    graph = graph_of("room", None)
    cut = CutEdges.from_graph(graph, graph.filled(), Outliers().scale(graph.pixels.map))
    terms = pair_terms(cut, np.zeros(graph.n_components), False, Outliers("none"))
    system = solvers.LaplacianSystem(cut.pattern, terms[0], terms[1])
    found = {name: CupyCG(preconditioner=name, device="cpu").solve(system) for name in PRECONDITIONERS}
    assert all(solution.converged for solution in found.values())
    assert found["contraction"].iterations < found["jacobi"].iterations
