"""No kernel reads or writes past an array, whatever the graph.

Compiled kernels do not check indices. Here they run as Python on arrays that refuse every index outside them, negative ones
included, on graphs of all kinds; and once more compiled, with Numba's own check.
"""

import importlib
import operator
import os
import pkgutil
import subprocess
import sys
import types
from dataclasses import replace

import numpy as np
import pytest

import laplacians
from laplacians import system as system_module
from laplacians.backends.direct import Direct
from laplacians.backends.numba_cg import NumbaCG
from laplacians.core import edges, lookups
from laplacians.core.jit import Kernel
from laplacians.core.sorting import sort_runs
from laplacians.direct.inverse import inverse_entries
from laplacians.direct.pieces import solve_pieces
from laplacians.multigrid import contraction, grid, hierarchy, smoothing, vectors
from laplacians.pattern import first_of_each

SEEDS = range(12)


class Strict(np.ndarray):
    """An array that refuses indices below zero or past its end, in slices too."""

    def _check(self, key):
        for position, index in enumerate(key if isinstance(key, tuple) else (key,)):
            length = self.shape[position]
            if isinstance(index, slice):
                for bound in (index.start, index.stop):
                    if bound is not None and not 0 <= bound <= length:
                        raise IndexError(f"slice bound {bound} of {length}")
            elif not 0 <= operator.index(index) < length:
                raise IndexError(f"index {index} of {length}")

    def __getitem__(self, key):
        self._check(key)
        return super().__getitem__(key)

    def __setitem__(self, key, value):
        self._check(key)
        super().__setitem__(key, value)


def strict(value):
    if isinstance(value, tuple):
        return tuple(map(strict, value))
    return value.view(Strict) if isinstance(value, np.ndarray) else value


class StrictNumpy:
    """numpy as kernels see it: the arrays that they make are strict too."""

    def __getattr__(self, name):
        found = getattr(np, name)
        if name in ("empty", "zeros", "empty_like"):
            return lambda *args, **options: strict(found(*args, **options))
        return found


@pytest.fixture
def visited(monkeypatch):
    """Kernels run as strict Python; the set of those that have run."""
    seen = set()

    def call(self, *args):
        seen.add(self)
        source = self.function
        scope = dict(source.__globals__, np=StrictNumpy())
        with np.errstate(all="ignore"):
            function = types.FunctionType(source.__code__, scope, self.__name__, source.__defaults__)
            result = function(*(strict(a) for a in args))
        return result

    monkeypatch.setattr(Kernel, "__call__", call)
    return seen


def every_kernel():
    """All kernels of the package."""
    found = set()
    for module in pkgutil.walk_packages(laplacians.__path__, "laplacians."):
        members = vars(importlib.import_module(module.name)).values()
        found.update(member for member in members if isinstance(member, Kernel))
    return found


def graph(seed):
    """A random graph: sparse, dense or nearly empty; with hubs, paths, pieces, parallel edges, loops and zero weights."""
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 90))
    m = int(random.integers(0, 4 * n))
    tail, head = random.integers(0, n, (2, m))
    if seed % 4 == 1:
        tail = np.where(random.random(m) < 0.5, n - 1, tail)  # a hub at the end
    if seed % 4 == 2:
        tail, head = np.arange(n - 1), np.arange(1, n)
    if seed % 4 == 3:
        head = np.minimum(tail + random.integers(0, 3, m), n - 1)  # only neighbours near by
    weight = 10.0 ** random.uniform(-4, 4, len(tail)) * (random.random(len(tail)) < 0.8)
    return n, tail, head, weight, random.normal(size=len(tail))


def solve_everything(seed):
    """Use all of the package on one graph; returns the largest residual."""
    system = laplacians.LaplacianSystem.from_edges(*graph(seed))
    edges.group_edges(system.n, *(np.asarray(a, dtype=np.int32) for a in graph(seed)[1:3]))
    lookups.first_places(system.pieces, int(system.pieces.max()) + 1)
    lookups.placed(np.zeros(system.n), np.arange(system.n, dtype=np.int32), system.n)
    values, start = np.array([3.0, 1.0, 2.0, *np.arange(40.0)[::-1]]), np.array([0, 3, 3, 43])
    sort_runs(values, start)
    assert all((np.diff(run) >= 0).all() for run in np.split(values, start[1:-1]))
    kinds = Direct(dense_up_to=0), laplacians.Multigrid(coarsest=6, rtol=1e-4), NumbaCG(rtol=1e-3, maxiter=300)
    found = [kind.solve(system) for kind in kinds]
    factor = kinds[0].factor(system)
    inverse_entries(factor, system.pattern.tail, system.pattern.head)
    several = factor.solve(np.stack([system.rhs] * 5, axis=1)).T
    worst = max(system.residual(x) for x in (found[0].x, found[1].x, *several))
    return max(worst, solve_on_a_grid(seed), solve_by_pieces(system))


def solve_by_pieces(system):
    """Solve each piece on its own, with weights of single precision; returns the residual."""
    weight, pieces = system.weight.astype(np.float32), system.pieces
    rounded = replace(system, weight=weight.astype(np.float64))
    first = first_of_each(pieces)[pieces].astype(np.int32)
    x = np.zeros(system.n)
    solve_pieces(system.pattern.tail, system.pattern.head, weight, first, x, rounded.rhs.copy())
    return rounded.residual(x)


def solve_on_a_grid(seed):
    """Use multigrid on a grid with holes and borders; returns the residual."""
    random = np.random.default_rng(seed)
    shape = tuple(2 * random.integers(2, 8, 2))
    weight = np.zeros((4, *shape), dtype=np.float32)
    inner = random.uniform(0.1, 1, (4, shape[0] - 2, shape[1] - 2)) * (random.random((4, 1, 1)) < 0.8)
    weight[:, 1:-1, 1:-1] = inner * (random.random(inner.shape) < random.uniform(0.3, 1))
    weight[1:, -2] = weight[[0, 3], :, -2] = weight[1, :, 1] = 0  # no edge reaches the frame
    lattice = laplacians.GridGraph.from_weights(weight)
    cell = np.arange(lattice.n, dtype=np.int32)
    tail, head = cell[:-1], cell[1:]
    laplacians.GridGraph.from_edges(shape, cell, tail, head, np.zeros(len(tail), dtype=np.float32))
    rhs, x = np.zeros(lattice.n), np.zeros(lattice.n)
    lattice.apply(random.normal(size=lattice.n).astype(np.float32), rhs)
    return laplacians.Multigrid(coarsest=6, rtol=1e-4).improve(lattice, x, rhs).residual


@pytest.fixture
def small_limits(monkeypatch):
    """Kernels serve small graphs too, and multigrid has several blocks."""
    shrink(monkeypatch.setattr)


def shrink(setattr):
    setattr(edges, "_FEW_EDGES", 0)
    setattr(system_module, "_FEW_PAIRS", 0)
    setattr(lookups, "LONG", 0)
    for module in (contraction, smoothing):
        setattr(module, "block_size", lambda n: 8)
    setattr(grid, "_BLOCK_ROWS", 4)
    setattr(hierarchy, "_SMALLEST_GRID", 30)
    setattr(vectors, "PARALLEL_FROM", 0)


def test_no_kernel_leaves_its_arrays(visited, small_limits):
    """On every graph, with every index checked; every kernel of the package has been run by the end."""
    for seed in SEEDS:
        assert solve_everything(seed) < 1e-3, seed
    assert {k.__name__ for k in every_kernel() - visited} == set()


def test_the_check_would_notice():
    """The arrays of these tests refuse what compiled code would do silently."""
    array = strict(np.zeros((2, 3)))
    array[1, 2] = array[0][2] = 1
    assert len(array[:1]) == 1
    for wrong in (2, -1, (0, 3), slice(0, 3), slice(-2, None)):
        with pytest.raises(IndexError):
            array[wrong]


@pytest.mark.slow
def test_compiled_kernels_with_bounds_checked(tmp_path):
    """The same compiled with NUMBA_BOUNDSCHECK: also integers of 32 bits stay in range."""
    code = (
        "import importlib.util, sys; from laplacians.core.jit import Kernel;"
        f"spec = importlib.util.spec_from_file_location('t', {__file__!r});"
        "t = importlib.util.module_from_spec(spec); spec.loader.exec_module(t);"
        "Kernel.__call__ = lambda self, *args: self.serial()(*args);"
        "t.shrink(setattr); print(max(t.solve_everything(seed) for seed in range(40)) < 1e-3)"
    )
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=590)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "True"
