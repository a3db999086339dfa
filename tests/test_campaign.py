"""The campaign counts what it should, and notices what it is there to notice."""

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from quotientgraph.campaign import ATTACKS, kernel_caches, trial
from quotientgraph.campaign.interruptions import whole
from quotientgraph.campaign.trial import Outcome, in_child

ROOT = Path(__file__).parents[1]


def survive(report, ends):
    """Cases that are survived, failed, or end the process; called in a child."""
    import os

    for end in ends:
        report.begin(f"case {end}")
        if end == "crash":
            os.kill(os.getpid(), 11)
        if end == "hang":
            time.sleep(100)
        report.end(None if end == "good" else "bad")


@pytest.mark.parametrize(
    ("ends", "tried", "survived", "says"),
    [
        (["good", "good"], 2, 2, None),
        (["good", "bad", "good"], 3, 2, "bad"),
        (["good", "crash", "good"], 2, 1, "signal 11"),
        (["hang"], 1, 0, "not done at the deadline"),
    ],
)
def test_cases_are_counted(ends, tried, survived, says, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    code = (
        "import sys, json; sys.path.insert(0, sys.argv[1])\n"
        "import quotientgraph.campaign as package, test_campaign\n"
        "sys.modules['quotientgraph.campaign.test_campaign'] = test_campaign\n"
        "from quotientgraph.campaign.child import Report\n"
        "test_campaign.survive(Report(sys.argv[2]), json.loads(sys.argv[3]))\n"
    )
    real = subprocess.Popen

    class Child(real):  # the child of the test instead of a module of the campaign
        def __init__(self, command, **options):
            self.journal = Path(command[-1])
            words = [str(Path(__file__).parent), command[-1], json.dumps(ends)]
            super().__init__([sys.executable, "-c", code, *words], **options)

        def communicate(self, input=None, timeout=None):
            if "hang" not in ends or self.poll() is not None or timeout is None:
                return super().communicate(input, timeout)
            while not (self.journal.exists() and self.journal.read_text()):  # the deadline comes when it hangs
                time.sleep(0.02)
            raise subprocess.TimeoutExpired("child", timeout)

    monkeypatch.setattr(subprocess, "Popen", Child)
    monkeypatch.setattr(trial, "_HANGS", 0.0)
    outcome = in_child("x:y", {}, time.monotonic() + 500)
    assert (outcome.tried, outcome.survived) == (tried, survived)
    assert says is None or says in outcome.failures[0]


def test_a_mixture_is_noticed(tmp_path):
    import argparse

    from quotientgraph.cli.manifest import write_manifest

    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    write_manifest(tmp_path, "in", argparse.Namespace(frame="auto"))
    assert whole(tmp_path) is None
    (tmp_path / "b").write_text("c")
    assert "b" in whole(tmp_path)
    (tmp_path / "b").unlink()
    assert "b" in whole(tmp_path)
    (tmp_path / "manifest.json").unlink()
    assert "no manifest" in whole(tmp_path)
    assert "gone" in whole(tmp_path / "none")


def test_caches_that_cannot_be_used_leave_nothing_to_others(tmp_path, monkeypatch):
    """Each process has a folder for temporary files of its own, where no other one finds its kernels."""
    monkeypatch.setattr(kernel_caches, "_ONE", "import tempfile; print(tempfile.gettempdir())")
    found = [kernel_caches._start(tmp_path, "cache").communicate()[0].strip() for _ in range(2)]
    assert found[0] != found[1]
    assert all(Path(folder).parent == tmp_path for folder in found)


def test_a_small_campaign():
    words = ["--scale", "0.002", "--only", "damaged files", "--only", "kills", "--only", "one process", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "quotientgraph.campaign", *words], capture_output=True, text=True, timeout=500
    )
    document = json.loads(done.stdout)
    assert done.returncode == 0, document
    assert all(row["tried"] >= 1 and row["survived"] == row["tried"] for row in document.values())


def test_every_promise_is_in_the_docs_with_its_command():
    text = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
    for attack in ATTACKS.values():
        assert attack.promise in text
        assert f'--only "{attack.name}"' in text or f"--only {attack.name}" in text


def test_the_campaign_is_as_large_as_promised():
    sizes = {name: attack.n_cases for name, attack in ATTACKS.items()}
    assert sizes["damaged files"] >= 10_000
    assert sizes["odd maps and options"] >= 5_000
    assert sizes["kills"] >= 200
    assert sizes["one process"] >= 1_000


def test_outcomes_add_up():
    outcome = Outcome()
    outcome.add(None)
    outcome.add("bad")
    other = Outcome(3, 2, ["worse"])
    outcome.merge(other)
    assert (outcome.tried, outcome.survived, outcome.failures) == (5, 3, ["bad", "worse"])


def test_promises_name_tests_that_exist():
    text = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
    named = re.findall(r"(tests/\w+\.py)(?:::(\w+))?", text)
    assert named
    for file, function in named:
        assert (ROOT / file).exists(), file
        assert not function or f"def {function}" in (ROOT / file).read_text(encoding="utf-8"), function
