"""Parallel kernels in forked children and in threads: they answer, and they compute the same."""

import json
import os
import subprocess
import sys

import pytest

PREAMBLE = """
import concurrent.futures, multiprocessing, threading
import numpy as np
from laplacians.core import threads
from laplacians.core.jit import WHOLE, kernel, portion, prange

@kernel(parallel=True)
def squares(values, out):
    for i in prange(len(out)):
        out[i] = values[i] * values[i]

@kernel(parallel=True, parallel_from=100)
def halves(values, out):
    for i in prange(len(out)):
        out[i] = values[i] / 2

@kernel(parallel_from=100)
def copies(values, out, share=WHOLE):
    for i in portion(len(out), share):
        out[i] = values[i]

def work(n):
    values, out = np.arange(float(n)), np.empty(n)
    squares(values, out)
    halves(out, values)
    copies(values, out)
    copies(out, values)
    return float(values.sum())

def alone(n):
    return work(n), threads.serial_only()

fork = multiprocessing.get_context("fork")
expected = float((np.arange(1000.0) ** 2 / 2).sum())
"""
PATTERNS = {
    "pool": """
assert work(1000) == expected
with fork.Pool(2) as pool:
    print(set(pool.map_async(alone, [1000] * 4).get(100)) == {(expected, True)})
""",
    "executor": """
assert work(1000) == expected
with concurrent.futures.ProcessPoolExecutor(2, mp_context=fork) as pool:
    print(set(pool.map(alone, [1000] * 4, timeout=100)) == {(expected, True)})
""",
    # What data loaders do: long-lived workers that send what they make through a queue.
    "workers with queues": """
assert work(1000) == expected
def serve(todo, done):
    for n in iter(todo.get, None):
        done.put(work(n))
todo, done = fork.Queue(), fork.Queue()
workers = [fork.Process(target=serve, args=(todo, done)) for _ in range(2)]
for worker in workers:
    worker.start()
for n in [1000] * 6 + [None] * 2:
    todo.put(n)
print({done.get(timeout=100) for _ in range(6)} == {expected})
for worker in workers:
    worker.join(100)
""",
    "joblib": """
import joblib
assert work(1000) == expected
with joblib.parallel_config(backend="multiprocessing", n_jobs=2):
    print(set(joblib.Parallel(timeout=100)(joblib.delayed(work)(1000) for _ in range(4))) == {expected})
""",
    "a child of a child": """
assert work(1000) == expected
def grandparent(n):
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=fork) as pool:
        return pool.submit(alone, n).result(100)
with concurrent.futures.ProcessPoolExecutor(1, mp_context=fork) as pool:
    print(pool.submit(grandparent, 1000).result(100) == (expected, True))
""",
    # A process that has not used threads yet may fork; its children may use them.
    "fork first": """
with fork.Pool(2) as pool:
    print(set(pool.map_async(alone, [1000] * 4).get(100)) == {(expected, False)})
""",
    "threads": """
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    print(set(pool.map(work, [1000] * 200, timeout=100)) == {expected})
""",
    # A thread compiles while another one forks: the child must not wait for a lock that nobody will release.
    "fork while compiling": """
@kernel
def slow(x):
    total = 0.0
    for i in range(3):
        for j in range(3):
            total += np.sin(x + i) * np.cos(x + j)
    return total
thread = threading.Thread(target=slow, args=(1.0,))
thread.start()
with fork.Pool(1) as pool:
    print(pool.map_async(work, [1000]).get(100) == [expected])
thread.join()
""",
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("layer", ["default", "workqueue"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_kernels_answer(pattern, layer, tmp_path):
    """In every usual pattern of processes and threads; with the thread pool of Numba that is least forgiving too."""
    if pattern == "joblib":
        pytest.importorskip("joblib")
    script = tmp_path / "script.py"
    script.write_text(PREAMBLE + PATTERNS[pattern])
    environment = {**os.environ, "NUMBA_NUM_THREADS": "2", "NUMBA_CACHE_DIR": str(tmp_path), "OMP_NUM_THREADS": "2"}
    environment["NUMBA_THREADING_LAYER"] = layer
    done = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "True"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_every_backend_gives_the_same_bits_everywhere(tmp_path):
    """A system large enough for threads: on 1, 2 and 4 of them, in four threads of Python at once, and in a forked child."""
    script = tmp_path / "script.py"
    script.write_text(
        """
import hashlib, json, multiprocessing, os
from concurrent.futures import ThreadPoolExecutor
import numpy as np
import laplacians
kinds = {name: laplacians.get(name) for name in laplacians.available() if name != "cupy"}
kinds |= {"deep": laplacians.Multigrid(coarsest=300), "short": laplacians.get("numba", maxiter=20)}
random = np.random.default_rng(0)
node = np.arange(200 * 220).reshape(200, 220)
tail, head = (np.concatenate([a.ravel(), b.ravel()]) for a, b in ((node[:, :-1], node[:-1]), (node[:, 1:], node[1:])))
weight, target = random.random(len(tail)), random.normal(size=len(tail))

def solve(name):
    system = laplacians.LaplacianSystem.from_edges(node.size, tail, head, weight, target)
    return hashlib.sha256(kinds[name].solve(system).x.tobytes()).hexdigest()

found = {"alone": {name: solve(name) for name in kinds}}
if os.environ["NUMBA_NUM_THREADS"] == "4":
    with ThreadPoolExecutor(4) as pool:
        found["at once"] = dict(zip(kinds, pool.map(solve, kinds)))
    with multiprocessing.get_context("fork").Pool(1) as pool:
        found["in a child"] = dict(zip(kinds, pool.map_async(solve, kinds).get(250)))
print(json.dumps(found))
"""
    )
    found = {}
    for n_threads in ("4", "2", "1"):
        threads = {"NUMBA_NUM_THREADS": n_threads, "OMP_NUM_THREADS": n_threads, "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, str(script)]
        done = subprocess.run(command, env={**os.environ, **threads}, capture_output=True, text=True, timeout=500)
        assert done.returncode == 0, done.stderr
        found |= {f"{way}, {n_threads} threads": bits for way, bits in json.loads(done.stdout).items()}
    usual = found["alone, 1 threads"]
    assert len(usual) >= 6
    assert [(way, name) for way, bits in found.items() for name in usual if bits[name] != usual[name]] == []


def test_the_threads_of_kernels_can_be_limited_for_a_thread(monkeypatch):
    """A limit holds for the thread that asks for it, inside the block only, and never raises what the process allows."""
    import threading

    import numba

    from laplacians.core.sharing import at_most, n_threads

    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 4)
    seen = []
    with at_most(2):
        with at_most(1):
            seen.append(n_threads())
            other = threading.Thread(target=lambda: seen.append(n_threads()))
            other.start()
            other.join()
        seen.append(n_threads())
    with at_most(9):
        seen.append(n_threads())
    assert [*seen, n_threads()] == [1, 4, 2, 4, 4]
