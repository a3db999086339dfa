"""A first run: a second process compiles meanwhile, nothing is compiled twice, and nothing is left behind."""

import dis
import importlib
import itertools
import json
import os
import pkgutil
import subprocess
import sys
import time

import numpy as np
import pytest

import laplacians
import quotientgraph
from laplacians.core.claims import Claim
from laplacians.core.jit import Kernel
from quotientgraph import integrate, rehearsal, scenes

FIRST = """
import glob, json, os, sys, time
from laplacians import on_compile
from laplacians.core import companion
from laplacians.core.jit import kernel
import second
compiled = []
on_compile.append(lambda name, seconds: seconds is not None and compiled.append(name))

@kernel
def twice(x):
    return 2 * x

companion.use("second")
assert twice(4) == 8
latest = time.monotonic() + 100
pattern = os.path.join(os.environ["NUMBA_CACHE_DIR"], "*", "second.half*.kernel")
while companion._process is not None and not glob.glob(pattern) and time.monotonic() < latest:
    time.sleep(0.01)
assert second.half(5) == 2.5
print(json.dumps([companion._process and companion._process.pid, compiled]))
"""
SECOND = """
import time
from laplacians.core.jit import kernel

@kernel
def half(x):
    return x / 2

def main():
    half(3)
    time.sleep(1000)
"""


@pytest.fixture
def first(tmp_path):
    """Runs a program that names a second module: the number of the second process, and what the first one compiled."""
    (tmp_path / "first.py").write_text(FIRST)
    (tmp_path / "second.py").write_text(SECOND)

    def run(**environment):
        usual = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "NUMBA_NUM_THREADS": "2"}
        done = subprocess.run(
            [sys.executable, str(tmp_path / "first.py")],
            env={**os.environ, **usual, **environment}, capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def test_a_second_process_compiles_and_ends_with_the_first(first, tmp_path):
    """What the second process compiled is loaded; it does not outlive the first, and what it leaves is harmless.

    If it is ended while it compiles, the file of its claim stays, on which nobody holds a lock any more.
    """
    number, compiled = first()
    assert compiled == ["first.twice"]
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)
    left = [path.suffix for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert left.count(".kernel") == 2
    assert set(left) <= {".kernel", ".claim"}
    assert first() == [None, []]  # with everything compiled there is no second process


@pytest.mark.parametrize("environment", [{"NUMBA_NUM_THREADS": "1"}, {"LAPLACIANS_COMPANION": "off"}])
def test_no_second_process_where_one_thread_is_allowed(first, environment):
    """A process that may use one thread compiles everything itself; so does one that is told to."""
    assert first(**environment) == [None, ["first.twice", "second.half"]]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such locks")
def test_a_claim_ends_with_its_process(tmp_path):
    """Somebody who waits for a process that is killed goes on as soon as it is gone."""
    code = (
        "import sys, time; from pathlib import Path; from laplacians.core.claims import Claim;"
        "Claim(Path(sys.argv[1])).take(); print('taken', flush=True); time.sleep(1000)"
    )
    path = tmp_path / "a.claim"
    owner = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
    assert owner.stdout.readline() == "taken\n"
    claim, began = Claim(path), time.monotonic()
    owner.kill()
    owner.communicate()
    claim.take()
    claim.release()
    assert time.monotonic() - began < 30
    assert not path.exists()


def kernels():
    """All kernels of both packages, by name."""
    found = {}
    for package in (laplacians, quotientgraph):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                members = vars(importlib.import_module(module.name)).values()
                found |= {f"{k.function.__module__}.{k.__name__}": k for k in members if isinstance(k, Kernel)}
    return found


def forms():
    """The kernels that are loaded, each with its signatures."""
    every = kernels()
    return {(name, str(s)) for name, k in every.items() if k._compiled for s in getattr(k._compiled, "signatures", ())}


@pytest.mark.parametrize(("task", "shape"), [("main", (150, 180)), ("large", (500, 540))])
def test_the_rehearsal_uses_what_a_first_run_needs(task, shape):
    """After it, integrating a map of another size loads nothing more but what depends on the type of the normals."""
    getattr(rehearsal, task)()
    ready = forms()
    scene = scenes.make("occlusions", shape=shape)
    integrate(scene.normals.astype(np.float32), scene.mask, scene.camera, frame="opencv")
    assert {name for name, _ in forms() - ready} <= {
        "quotientgraph.geometry.normals._judge",
        "quotientgraph.geometry.normals._compact",
    }


LATE = """
from laplacians.core.jit import Kernel
from quotientgraph import integrate, rehearsal, scenes
from quotientgraph.beyond import border_context, border_junctions, border_pieces, certainty, creases, offsets
from quotientgraph.method import cutedges

modules = [border_context, border_junctions, border_pieces, certainty, creases, offsets, cutedges]

def loaded():
    return {k.__name__ for m in modules for k in vars(m).values() if isinstance(k, Kernel) and k.is_loaded}

def stop():
    raise StopIteration

rehearsal._factorisation = stop
try:
    rehearsal.demo()
except StopIteration:
    ready = loaded()
    scene = scenes.make("stairs", shape=(256, 320))
    integrate(scene.normals, scene.mask, scene.camera, frame="opencv")
    print(len(ready) > 9, sorted(loaded() - ready))
"""


def test_for_the_demo_factorisation_is_rehearsed_last():
    """Before it the companion has used all kernels of late stages that the scene of the demo needs."""
    done = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "True []", done.stderr


def test_kernels_leave_sorting_and_linear_algebra_to_numpy():
    """Numba has these too, but one sort takes a second to compile, one linear system four, and `roll` three."""
    slow = {"linalg", "argsort", "sort", "unique", "searchsorted", "dot", "median", "percentile", "roll"}
    every = kernels()
    assert len(every) > 60
    assert {name: used for name, k in every.items() if (used := slow & set(k.function.__code__.co_names))} == {}


def test_kernels_write_in_loops_and_not_to_slices():
    """An assignment to a slice takes Numba half a second to compile, because the two sides might overlap."""

    def assigns_to_slice(k):
        names = [instruction.opname for instruction in dis.get_instructions(k.function)]
        return "STORE_SLICE" in names or ("BUILD_SLICE", "STORE_SUBSCR") in itertools.pairwise(names)

    assert [name for name, k in kernels().items() if assigns_to_slice(k)] == []


def test_kernels_have_no_functions_inside():
    """The pass of Numba that would paste them in is left out (`laplacians.core.hastening`)."""
    consts = {name: k.function.__code__.co_consts for name, k in kernels().items()}
    assert [name for name, values in consts.items() if any(hasattr(value, "co_code") for value in values)] == []
