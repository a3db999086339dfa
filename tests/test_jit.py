"""Kernels cost nothing until they are called, and work where nothing can be cached."""

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import quotientgraph
from laplacians.core import sharing
from laplacians.core.jit import WHOLE, Kernel, kernel, portion, prange
from quotientgraph import solvers

HEAVY = ["numba", "igraph", "networkx", "scipy.sparse", "matplotlib", "trimesh", "imagecodecs", "tqdm"]


def run(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_is_light():
    """`import quotientgraph, laplacians` loads no heavy package: neither compiler, nor graphs, nor image formats."""
    code = f"import sys, quotientgraph, laplacians; print([m for m in {HEAVY} if m in sys.modules])"
    assert run(code).strip() == "[]"


def test_importing_is_fast():
    """Importing takes no time to speak of, because it loads few modules beside those of NumPy."""
    code = "import sys, numpy; n = len(sys.modules); import quotientgraph, laplacians; print(len(sys.modules) - n)"
    assert int(run(code)) < 200


def test_a_kernel_compiles_at_its_first_call():
    """Declaring does nothing; calling compiles once."""

    @kernel
    def add(a, b):
        return a + b

    assert isinstance(add, Kernel)
    assert add._compiled is None
    assert add(2, 3) == 5
    compiled = add._compiled
    assert add(2.5, 3) == 5.5
    assert add._compiled is compiled


@kernel
def _square(x):
    return x * x


@kernel(parallel=True)
def _squares(values, out):
    for i in prange(len(out)):
        out[i] = _square(values[i])


def test_kernels_call_each_other():
    """A kernel may use another kernel and `prange`; options go to Numba."""
    out = np.empty(5)
    _squares(np.arange(5.0), out)
    np.testing.assert_array_equal(out, [0, 1, 4, 9, 16])
    assert _squares.options == {"parallel": True}


@kernel(parallel_from=10)
def _quarters(values, out, share=WHOLE):
    for i in portion(len(out), share):
        out[i] += values[i] / 4


def test_threads_take_shares_of_a_kernel(monkeypatch):
    """Above `parallel_from` entries every entry is worked on once, by shares; below, one call does the whole; one form."""
    calls = []

    def run(function, args):
        calls.append(len(args[0]))
        sharing.run_shared(function, args)

    monkeypatch.setattr("laplacians.core.jit.run_shared", run)
    monkeypatch.setattr(sharing, "n_threads", lambda: 3)
    for n in (9, 10, 1000):
        out = np.zeros(n)
        _quarters(np.arange(float(n)), out)
        np.testing.assert_array_equal(out, np.arange(n) / 4)
    assert calls == [10, 1000]
    assert len(_quarters.compiled().overloads) == 1
    many = np.zeros(50)
    _quarters(np.ones(50), many, WHOLE)
    assert calls == [10, 1000]


@pytest.mark.parametrize("n", [0, 1, 5, 64, 1000])
@pytest.mark.parametrize("bits", [0, 1, 3])
def test_shares_make_the_whole(n, bits):
    """The portions of all shares are the range, in its order; the empty share is empty."""
    parts = [portion.function(n, (k, bits)) for k in range(2**bits)]
    assert [i for part in parts for i in part] == list(range(n))
    assert list(portion.function(n, sharing.EMPTY)) == []


def test_an_error_in_a_helper_reaches_the_caller(monkeypatch):
    """The caller raises what any thread raised, and the helpers serve on."""
    monkeypatch.setattr(sharing, "n_threads", lambda: 2)

    def fail(share):
        if share[0] == 3:
            raise OverflowError("share 3")

    for _ in range(3):
        with pytest.raises(OverflowError, match="share 3"):
            sharing.run_shared(fail, ())
    done = []
    sharing.run_shared(done.append, ())
    assert sorted(done) == sorted([sharing.EMPTY] + [(k, 3) for k in range(8)])


@pytest.mark.parametrize("n_threads", [1, 2])
def test_what_is_begun_early_is_done_once(monkeypatch, n_threads):
    """By a helper or by who asks; an error is that of who asks, each time, and a helper puts nothing off."""
    monkeypatch.setattr(sharing, "n_threads", lambda: n_threads)
    done = []
    many = [sharing.Later(done.append, k) for k in range(50)]
    inner = sharing.Later(lambda: sharing.Later(done.append, 50).result())
    for one in [*many, inner, *many]:
        assert one.result() is None
    assert sorted(done) == list(range(51))
    wrong = sharing.Later(int, "x")
    for _ in range(2):
        with pytest.raises(ValueError, match="invalid literal"):
            wrong.result()


def test_a_helper_works_beside_the_caller(monkeypatch):
    """The helper has begun while the caller does something else, with one thread for the kernels it calls."""
    began, seen = threading.Event(), []
    with monkeypatch.context() as patch:
        patch.setattr(sharing, "n_threads", lambda: 2)
        later = sharing.Later(lambda: began.set() or seen.append((threading.current_thread(), sharing._most.n)))
        assert began.wait(60)
        later.result()
    assert seen[0][0] is not threading.current_thread()
    assert seen[0][1] == 1


@pytest.mark.parametrize("n", [0, 1, 10, 11, 95])
def test_blocks_make_the_whole(monkeypatch, n):
    """Every entry of a vector is in one block of at most the given size, for any number of threads."""
    for n_threads in (1, 3):
        monkeypatch.setattr(sharing, "n_threads", lambda n_threads=n_threads: n_threads)
        visits, sizes = np.zeros(n, dtype=int), []

        def visit(part, visits=visits, sizes=sizes):
            visits[part] += 1
            sizes.append(part.stop - part.start)

        sharing.in_blocks(visit, n, 10)
        assert (visits == 1).all()
        assert len(sizes) == -(-n // 10)
        assert max(sizes, default=0) <= 10


@kernel(parallel=True, parallel_from=10)
def _halves(values, out):
    for i in prange(len(out)):
        out[i] = values[i] / 2


def test_little_work_is_done_in_serial():
    """Below `parallel_from` entries the serial form runs and nothing else is compiled; the results are the same."""
    few, many = np.empty(9), np.empty(10)
    _halves(np.arange(9.0), few)
    assert _halves._compiled is None
    assert _halves._serial is not None
    _halves(np.arange(10.0), many)
    assert _halves._compiled.targetoptions["parallel"]
    assert not _halves._serial.targetoptions["parallel"]
    np.testing.assert_array_equal(few, many[:9])


def test_without_a_place_for_the_cache_kernels_still_compile():
    """Code without a source file is compiled and not cached."""
    scope = {"__name__": "nowhere"}
    exec(compile("def double(x):\n    return 2 * x\n", "/nowhere/at/all.py", "exec"), scope)
    double = kernel(scope["double"])
    assert double(21) == 42
    assert double.compiled()._cache.folders == []


def test_kernels_run_without_numba_compiling():
    """NUMBA_DISABLE_JIT, with which one debugs, works: kernels are the Python functions then."""
    code = (
        "import laplacians;"
        "s = laplacians.LaplacianSystem.from_edges(3, [0, 1], [1, 2], [1.0, 1.0], [2.0, 1.0]);"
        "print(laplacians.get('numba').solve(s).x.round(3).tolist())"
    )
    assert run(code, NUMBA_DISABLE_JIT="1").strip() == "[1.667, -0.333, -1.333]"


def test_threads_of_python_count_their_own_compilation():
    """What one thread compiles is no time of another."""
    import threading

    from laplacians import compile_seconds

    @kernel
    def plus(a):
        return a + 1

    before, inside = compile_seconds(), []
    thread = threading.Thread(target=lambda: (plus(1), inside.append(compile_seconds())))
    thread.start()
    thread.join()
    assert inside[0] > 0
    assert compile_seconds() == before


def test_a_read_only_installation_without_a_home(tmp_path):
    """With package and home folders where nothing can be written, integration works; kernels go to temporary files."""
    for package in (quotientgraph, solvers):
        folder = Path(package.__file__).parent
        shutil.copytree(folder, tmp_path / folder.name, ignore=shutil.ignore_patterns("__pycache__"))
        # A file where the cache folder would be stops root as well, whom permissions do not.
        for inner in [tmp_path / folder.name, *(p for p in (tmp_path / folder.name).rglob("*") if p.is_dir())]:
            (inner / "__pycache__").touch()
    nowhere = tmp_path / "home"
    nowhere.touch()
    code = (
        "import numpy as np, quotientgraph as q;"
        "print(q.__file__, q.integrate(np.tile([0.3, 0.1, 0.9], (5, 6, 1))).converged)"
    )
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {
        "HOME": str(nowhere),
        "XDG_CACHE_HOME": str(nowhere),
        "NUMBA_CACHE_DIR": "",
        "TMPDIR": str(temporary),
    }
    out = run(
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); sys.dont_write_bytecode = True; {code}", **environment
    )
    assert out.split() == [str(tmp_path / "quotientgraph" / "__init__.py"), "True"]
    assert list(temporary.rglob("*.kernel"))
