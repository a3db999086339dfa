"""Compiled kernels on disk: whatever happens to the files, the result is right and the user is told once."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = """
import json, sys
import numpy as np
from laplacians import compile_seconds, kernel_notes, on_compile
from laplacians.core.jit import kernel, prange
compiled = []
on_compile.append(lambda name, seconds: compiled.append([name, seconds]))
FACTOR = 3

@kernel
def triple(x):
    return FACTOR * x

@kernel(parallel=True, parallel_from=100)
def triples(values, out):
    for i in prange(len(out)):
        out[i] = triple(values[i])

out = np.empty(5)
triples(np.arange(5.0), out)
print(json.dumps([out.tolist(), compiled, kernel_notes(), compile_seconds()]))
"""


@pytest.fixture
def tool(tmp_path):
    """Runs a program with two kernels in a new process: results, names compiled, notes, seconds, and the log."""
    (tmp_path / "tool.py").write_text(TOOL)
    (tmp_path / "temporary").mkdir()

    def run(limit=None, **environment):
        usual = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "TMPDIR": str(tmp_path / "temporary")}
        command = [sys.executable, str(tmp_path / "tool.py")]
        if limit is not None:
            small = f"import resource, runpy; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}));"
            command = [sys.executable, "-c", f"{small} runpy.run_path({command[1]!r}, run_name='__main__')"]
        done = subprocess.run(
            command, env={**os.environ, **usual, **environment}, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        out, compiled, notes, seconds = json.loads(done.stdout)
        assert out == [0, 3, 6, 9, 12]
        return [name for name, spent in compiled if spent is not None], notes, seconds, done.stderr, compiled

    return run


def files(folder):
    return sorted(folder.rglob("*.kernel"))


def test_a_second_process_compiles_nothing(tool, tmp_path):
    """Compiled once, loaded ever after; compilation is announced at its begin and its end, and its time is counted."""
    names, notes, seconds, _, announced = tool()
    assert names == ["tool.triple", "tool.triples_serial"]
    assert [spent is None for _, spent in announced].count(True) == 2
    assert seconds >= max(spent for _, spent in announced if spent is not None)
    assert notes == []
    assert len(files(tmp_path / "cache")) == 2
    assert tool()[0] == []


def test_a_change_of_what_a_kernel_uses_is_noticed(tool, tmp_path):
    """A constant of the module, or a kernel that is called, is part of a kernel; a comment is not. Old files go."""
    tool()
    source = tmp_path / "tool.py"
    source.write_text(TOOL.replace("FACTOR = 3", "# more comments\nFACTOR = 3"))
    assert tool()[0] == []
    source.write_text(TOOL.replace("FACTOR = 3", "FACTOR = 4").replace("FACTOR * x", "(FACTOR - 1) * x"))
    assert len(tool()[0]) == 2
    assert len(files(tmp_path / "cache")) == 2


DAMAGE = {
    "emptied": lambda content: b"",
    "cut short": lambda content: content[: len(content) // 2],
    "one bit flipped": lambda content: content[:2000] + bytes([content[2000] ^ 4]) + content[2001:],
    "checksum flipped": lambda content: bytes([content[0] ^ 1]) + content[1:],
    "not ours": lambda content: b"PK" * 400,
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_repaired(tool, tmp_path, kind):
    """Damaged files are deleted, compiled again, and mentioned once; the next process finds all in order."""
    tool()
    for path in files(tmp_path / "cache"):
        path.write_bytes(DAMAGE[kind](path.read_bytes()))
    names, notes, _, log, _ = tool()
    assert len(names) == 2
    assert len(notes) == 1
    assert "was damaged" in notes[0]
    assert log.count("was damaged") == 1
    names, notes, *_ = tool()
    assert (names, notes) == ([], [])


def test_a_folder_that_cannot_be_made(tool, tmp_path):
    """Kernels are kept among the temporary files of the user instead, which is said once, and found there again."""
    (tmp_path / "cache").write_text("a file where the folder would be")
    names, notes, *_ = tool()
    assert len(names) == 2
    assert len(notes) == 1
    assert str(tmp_path / "temporary") in notes[0]
    assert len(files(tmp_path / "temporary")) == 2
    assert tool()[0] == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limits on the size of files")
def test_a_full_disk(tool, tmp_path):
    """Where nothing can be written the program works, says so once with the remedy, and leaves nothing behind."""
    names, notes, _, log, _ = tool(limit=1000)
    assert len(names) == 2
    assert len(notes) == 1
    assert "NUMBA_CACHE_DIR" in notes[0]
    assert log.count("cannot be kept") == 1
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.name.startswith("tool.tri")]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such owners and modes")
def test_folders_of_strangers_are_not_trusted(tool, tmp_path):
    """What is loaded is executed, so a temporary folder that others can write into is neither read nor written."""
    (tmp_path / "cache").write_text("a file where the folder would be")
    tool()
    shared = next((tmp_path / "temporary").iterdir())
    shared.chmod(0o777)
    before = {path: path.stat().st_mtime_ns for path in files(shared)}
    names, notes, *_ = tool()
    assert len(names) == 2
    assert len(notes) == 1
    assert "every process compiles them again" in notes[0]
    assert {path: path.stat().st_mtime_ns for path in files(shared)} == before


def test_processes_that_compile_at_the_same_time(tool, tmp_path):
    """Several processes may fill the cache together; what they leave is complete."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, str(tmp_path / "tool.py")]
    running = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) for _ in range(3)]
    compiled = []
    for process in running:
        out, announced, *_ = json.loads(process.communicate(timeout=300)[0])
        assert out == [0, 3, 6, 9, 12]
        compiled += [name for name, spent in announced if spent is not None]
    assert sys.platform == "win32" or sorted(compiled) == ["tool.triple", "tool.triples_serial"]  # the others waited
    assert len(files(tmp_path / "cache")) == 2
    assert tool()[0] == []
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.suffix in (".unfinished", ".claim")]


def test_unfinished_files_of_killed_processes_are_removed(tool, tmp_path):
    """What a killed process has left is removed by a later one that compiles, once it is old enough."""
    tool()
    kept = files(tmp_path / "cache")
    old, young = (Path(f"{kept[0]}.{pid}.unfinished") for pid in (1, 2))
    for path in (old, young):
        path.write_bytes(b"")
    os.utime(old, (1e9, 1e9))
    for path in kept:
        path.unlink()
    tool()
    assert not old.exists()
    assert young.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such links")
def test_files_that_vanish_while_they_are_looked_at(tool, tmp_path):
    """An unfinished file that another process finishes in the same moment is no reason to keep kernels elsewhere."""
    tool()
    (folder,) = {path.parent for path in files(tmp_path / "cache")}
    for path in files(tmp_path / "cache"):
        # It is listed, but there is nothing to look at.
        path.with_name(f"{path.name}.1.unfinished").symlink_to("nowhere")
        path.unlink()
    names, notes, _, log, _ = tool()
    assert len(names) == 2
    assert notes == []
    assert "cannot be kept" not in log
    assert len(files(folder)) == 2


SOLVE = """
import hashlib, sys
import numpy as np
from laplacians import LaplacianSystem, get
random = np.random.default_rng(0)
node = np.arange(900).reshape(30, 30)
tail, head = (np.concatenate([a.ravel(), b.ravel()]) for a, b in ((node[:, :-1], node[:-1]), (node[:, 1:], node[1:])))
system = LaplacianSystem.from_edges(900, tail, head, random.random(len(tail)), random.normal(size=len(tail)))
print([hashlib.sha256(get(name).solve(system).x.tobytes()).hexdigest() for name in ("direct", "numba")])
"""


def test_compiled_and_loaded_kernels_give_the_same_bits(tmp_path):
    """The process that compiles a kernel and those that load it compute the same, to the last bit."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    found = {
        subprocess.run([sys.executable, "-c", SOLVE], env=environment, capture_output=True).stdout for _ in range(2)
    }
    assert len(found) == 1
    assert b"[" in found.pop()
