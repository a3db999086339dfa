"""What README and quick start show works as shown."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path, PurePath

import numpy as np
import pytest

import quotientgraph.io as qio
from quotientgraph import scenes
from quotientgraph.cli import main

ROOT = Path(__file__).resolve().parents[1]


def test_the_python_blocks_run(tmp_path):
    """All Python blocks of the quick start, one after the other, are one program; test_isolation runs the README's."""
    text = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    assert blocks
    environment = {**os.environ, "PYTHONUTF8": "1"}
    subprocess.run([sys.executable, "-c", "\n".join(blocks)], cwd=tmp_path, env=environment, check=True)


def write_inputs():
    """The files that the pages speak of, small, in the folder one stands in."""
    scene = scenes.make("sphere", shape=(40, 50))
    normals = np.where(scene.mask[..., None], scene.normals, 0)
    colours = {
        name: np.rint((normals * signs + 1) / 2 * 65535).astype(np.uint16)
        for name, signs in (("gl", (1, -1, -1)), ("dx", (1, 1, -1)))
    }
    for folder in ("bear", "shot", "maps", "textures"):
        Path(folder).mkdir()
    for place in ("normal_map.png", "normals.png", "bear/normal_map.png", "bricks_normal_gl.png", "maps/a.png",
                  "maps/b.png", "textures/a_normal.png", "textures/b_normal.png"):  # fmt: skip
        qio.write_image(place, colours["gl"])
    qio.write_image("bricks_normal_dx.png", colours["dx"])
    for place in ("mask.png", "bear/mask.png"):
        qio.write_image(place, np.where(scene.mask, np.uint8(255), np.uint8(0)))
    for place in ("K.txt", "bear/K.txt", "shot/K.txt"):
        np.savetxt(place, scene.camera.matrix)
    for place in ("normal0001.exr", "shot/normals.exr"):
        qio.write_image(place, (normals * (1, -1, -1)).astype(np.float32))
    np.savez("shot/depth_gt.npz", depth_gt=scene.depth)
    np.save("coarse.npy", 2 * scene.depth + 1)
    qio.write_image("photo.png", np.zeros((40, 50, 3), dtype=np.uint8))
    return normals


def commands(page):
    """What stands in indented lines, in blocks for the shell, and in the text, from `quotientgraph` on."""
    text = (ROOT / page).read_text(encoding="utf-8")
    lines = re.findall(r"^(?:    )?(quotientgraph (?:integrate|info|demo) .*)$", text, re.M)
    inline = re.findall(r"`(quotientgraph (?:integrate|info|demo) [^`]*)`", text)
    for command in " && ".join([*(line.split(" #")[0] for line in lines), *inline]).split(" && "):
        words = shlex.split(command)[1:]
        if not {"INPUT", "FILE"} & set(words):
            yield words


@pytest.mark.parametrize("page", ["README.md", "docs/io.md", "docs/sources.md", "docs/meshes.md"])
def test_the_commands_run(page, tmp_path, monkeypatch):
    """Every command of a page does what it is there for, on files of the names that it uses."""
    monkeypatch.chdir(tmp_path)
    normals = write_inputs()
    found = list(commands(page))
    assert found
    for words in found:
        if "photo.npy" in words:  # a network's array, in the frame that the command says
            frame = words[words.index("--frame") + 1]
            np.save("photo.npy", normals @ qio.frame_axes(frame))
        small = ["--size", "60"] if words[0] == "demo" and "--list" not in words else []
        wide = ["--frame", "opengl"] if words[0] == "integrate" and "torus" in words else []
        assert main([*words, *small, *wide]) == 0, words


def test_links_lead_somewhere():
    """Pictures and files that the README names are there."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in ["LICENSE", "CITATION.cff", "examples", "docs", *re.findall(r"\]\(([^)#:]+)\)", text)]:
        assert (ROOT / name).exists(), name


PAGES = sorted(page for page in ROOT.glob("docs/**/*.md") if "_build" not in page.parts)


def anchors(page):
    """The headings of a page, as links name them."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_a_page_lead_somewhere(page):
    """Pages, pictures and headings that a page of the documentation names are there, or are made when it is built."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if ":" in link:
            continue
        name, _, heading = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        made = target.name == "api.md" or (target.parent.name == "notebooks" and target.with_suffix(".py").exists())
        assert target.exists() or made, f"{page.name}: {link}"
        if heading and target.exists():
            assert heading in anchors(target), f"{page.name}: {link}"


def test_every_page_can_be_found():
    """The index leads to each page, by its name or by a pattern."""
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^([\w/*]+)$", index, re.M))
    patterns = [name for name in named if "*" in name]
    for page in PAGES:
        name = page.relative_to(ROOT / "docs").with_suffix("").as_posix()
        assert name == "index" or name in named or any(PurePath(name).match(p) for p in patterns), name


def test_no_page_installs_from_an_index():
    """The project is not on a package index, so no page may say so. Its extras can be named once it is installed."""
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]:
        assert not re.search(r"pip install quotientgraph\b", page.read_text(encoding="utf-8")), page.name


def test_the_two_commands_are_one_line_each():
    """One line installs and runs the main job, one installs and passes the tests."""
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert "python -m venv .venv && .venv/bin/pip install . && .venv/bin/quotientgraph demo" in lines
    assert 'python -m venv .venv && .venv/bin/pip install ".[test]" && .venv/bin/python -m pytest' in lines


def test_what_contributors_are_shown_works(tmp_path):
    """The code blocks of CONTRIBUTING are one program, and what they add can be used: backend, reader, scene, metric."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    assert len(blocks) == 5
    use = """
from pathlib import Path
from quotientgraph import QuotientGraph, io, scenes
from quotientgraph.bench import Job, find, measure
np.array([2, 1], dtype="<u2").tofile("a.raw3")
with open("a.raw3", "ab") as file:
    file.write(bytes(range(6)))
assert io.read_arrays(Path("a.raw3"))[""].tolist() == [[[0, 1, 2], [3, 4, 5]]]
found = scenes.make("ball_on_floor", shape=(24, 30))
graph = QuotientGraph.from_normals(found.normals, found.mask, found.camera, "opencv")
graph.optimize(solver="dense", max_iterations=3)
[case] = find(["scene:plane?shape=16x20"])
assert measure(Job(case, "poisson"))["median_error"] < 1e-9
"""
    subprocess.run([sys.executable, "-c", "\n".join([*blocks, use])], cwd=tmp_path, check=True)
