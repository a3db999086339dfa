"""What README and quick start show works as shown."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("page", ["README.md", "docs/quickstart.md"])
def test_the_python_blocks_run(page, tmp_path):
    """All Python blocks of a page, one after the other, are one program that runs."""
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.M | re.S)
    assert blocks
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
    subprocess.run([sys.executable, "-c", "\n".join(blocks)], cwd=tmp_path, env=environment, check=True, timeout=300)


def test_links_lead_somewhere():
    """Pictures and files that the README names are there."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in ["LICENSE", "CITATION.cff", "examples", "docs", *re.findall(r"\]\(([^)#:]+)\)", text)]:
        assert (ROOT / name).exists(), name


def test_the_two_commands_are_one_line_each():
    """One line installs and runs the main job, one installs and passes the tests."""
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert "python -m venv .venv && .venv/bin/pip install . && .venv/bin/quotientgraph demo" in lines
    assert 'python -m venv .venv && .venv/bin/pip install ".[test]" && .venv/bin/python -m pytest' in lines
