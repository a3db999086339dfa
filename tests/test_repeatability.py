"""The same input gives the same bytes: in every process, freshly compiled or loaded from the cache, on any threads."""

import os
import subprocess
import sys

import pytest

CODE = """
import hashlib
from quotientgraph import integrate, scenes
for name in ("sphere", "boxes"):
    scene = scenes.make(name, shape=(96, 120))
    result = integrate(scene.normals, scene.mask, scene.camera, "opencv")
    print(name, hashlib.sha256(result.depth.tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_compiled_now_or_before_on_one_thread_or_two(tmp_path):
    """A kernel may not come out differently when it is inlined elsewhere: its arithmetic has one order."""

    def run(**environment):
        cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        done = subprocess.run(
            [sys.executable, "-c", CODE], env={**os.environ, **cache, **environment}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    fresh = run()
    assert run() == fresh
    assert run(NUMBA_NUM_THREADS="1") == fresh
