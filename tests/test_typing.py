"""What a type checker says about a user's script."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import laplacians
import quotientgraph

SCRIPT = """\
import numpy as np
from quotientgraph import Orthographic, QuotientGraph, Reconstruction, integrate, solvers

normals = np.zeros((4, 5, 3))
graph = QuotientGraph.from_normals(normals, camera=Orthographic(), frame="opencv", angle=3.5)
result: Reconstruction = graph.optimize(merge_every=3, solver=solvers.get("direct"))
other: Reconstruction = integrate(normals, merge_every=3, max_iterations=5)
depth: np.ndarray = result.depth
"""


@pytest.mark.parametrize("package", [quotientgraph, laplacians], ids=lambda package: package.__name__)
def test_the_types_are_offered(package):
    """Type checkers use the annotations of an installed package only if it holds the file py.typed."""
    assert (Path(package.__file__).parent / "py.typed").exists()


@pytest.mark.slow
def test_a_type_checker_finds_a_misspelt_keyword(tmp_path):
    """`mypy --strict` accepts a user's script, and finds the misspelt keyword of each of the three public calls."""
    pytest.importorskip("mypy", reason="mypy is not installed: the types were not checked from a user's side")
    right, wrong = tmp_path / "right.py", tmp_path / "wrong.py"
    right.write_text(SCRIPT)
    wrong.write_text(SCRIPT.replace("merge_every", "merge_evry").replace("angle=3.5", "angel=3.5"))
    options = ["--strict", "--follow-imports=silent", "--config-file=", "right.py", "wrong.py"]
    environment = {**os.environ, "MYPYPATH": os.environ["PYTHONPATH"]}  # the files that the tests use
    command = [sys.executable, "-m", "mypy", *options]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert [line for line in lines if line.startswith("right.py")] == []
    found = [line for line in lines if line.startswith("wrong.py")]
    assert sum("merge_evry" in line for line in found) == 2, done.stdout
    assert sum("angel" in line for line in found) == 1, done.stdout
