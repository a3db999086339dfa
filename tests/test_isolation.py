"""No file of a user's own can break the library: it works in a folder full of files that carry our modules' names."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# Names of our own modules and folders, which a user's script may well have beside it. None of them may be imported.
HOSTILE = [
    "baselines", "bench", "beyond", "camera", "cli", "core", "filling", "geometry", "graph", "integration", "io",
    "method", "metrics", "mesh", "normals", "quotient", "registry", "report", "result", "scale", "scenes", "settings",
    "solvers", "system", "weights",
]  # fmt: skip


@pytest.fixture
def run_python(tmp_path):
    """``run_python(*words)``: start Python in a folder where each of those names is a file that stops the program."""
    for name in HOSTILE:
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('the file {name}.py of the user was imported')\n")

    def run(*words):
        environment = {**os.environ, "PYTHONUTF8": "1"}
        done = subprocess.run([sys.executable, *words], cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_the_files_are_hostile(run_python):
    """The fixture does what it says: the user's file is found before anything of ours."""
    code = "try:\n    import solvers\nexcept SystemExit as stop:\n    print(stop)"
    assert "solvers.py of the user" in run_python("-c", code)


def test_every_public_name_loads(run_python):
    """`import quotientgraph` and each of its names work, and `quotientgraph.solvers` is ours."""
    code = (
        "import quotientgraph\n"
        "for name in quotientgraph.__all__:\n"
        "    getattr(quotientgraph, name)\n"
        "from quotientgraph import solvers\n"
        "print(solvers.__name__, *solvers.available())"
    )
    assert {"laplacians", "direct", "scipy"} <= set(run_python("-c", code).split())


def test_importing_leaves_scipy_and_numba_for_later(run_python):
    """`integrate` is there before Numba and the modules of SciPy are, which would double the time to start."""
    code = (
        "import sys\n"
        "from quotientgraph import integrate\n"
        "loaded = {tuple(name.split('.')[:2]) for name in sys.modules}\n"
        "print(*(second for first, second in (pair for pair in loaded if len(pair) == 2) if first == 'scipy'))\n"
        "assert 'numba' not in sys.modules"
    )
    loaded = {name for name in run_python("-c", code).split() if not name.startswith("_")}
    assert loaded <= {"version"}


def test_the_readme_runs(run_python):
    """All Python blocks of the README, one after the other, are one program that runs."""
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    assert blocks
    run_python("-c", "\n".join(blocks))


def test_the_command_line_runs(run_python, tmp_path):
    """The command line loads its own modules, not the user's."""
    run_python("-m", "quotientgraph", "demo", "--scene", "sphere", "--size", "32", "-o", "out")
    assert list((tmp_path / "out").rglob("depth.npy"))


def test_the_solvers_work_alone(run_python):
    """`laplacians` is worth using by itself: it solves a system where there is no quotientgraph to import."""
    code = (
        "import sys\n"
        "sys.modules['quotientgraph'] = None  # every import of it now fails\n"
        "import laplacians\n"
        "system = laplacians.LaplacianSystem.from_edges(3, [0, 1], [1, 2], [1.0, 1.0], [2.0, 1.0])\n"
        "for name in ['direct', 'scipy']:\n"
        "    print(laplacians.get(name).solve(system).x.round(6).tolist())"
    )
    assert run_python("-c", code).splitlines() == ["[1.666667, -0.333333, -1.333333]"] * 2
