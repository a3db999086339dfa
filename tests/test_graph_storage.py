"""Saved decompositions come back as they were; damaged files are refused; nothing in a file can run."""

import json
import os

import numpy as np
import pytest

from quotientgraph import Orthographic, Pinhole, QuotientGraph, RayMap, io, scenes
from quotientgraph.analysis import absorb_small, split_at_lines
from quotientgraph.geometry.jumps import bini


def same(a, b):
    assert len(a.levels) == len(b.levels)
    for one, other in zip(a.levels, b.levels):
        for name in ("labels", "cut", "contracted", "contracted_at", "inside"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        for name in ("level", "angle", "preset", "formed_by_preset", "warnings"):
            assert getattr(one, name) == getattr(other, name), name
    for name in ("tail", "head", "removed", "connectivity"):
        np.testing.assert_array_equal(getattr(a.pixels, name), getattr(b.pixels, name))
    for name in ("normals", "index", "position"):
        np.testing.assert_array_equal(getattr(a.pixels.map, name), getattr(b.pixels.map, name))
    np.testing.assert_array_equal(np.asarray(a.jump), np.asarray(b.jump))


@pytest.mark.parametrize("camera", ["pinhole", "orthographic", "rays"])
@pytest.mark.parametrize("connectivity", [4, 8])
def test_graphs_come_back_with_their_levels(tmp_path, camera, connectivity):
    """All arrays are equal, and integrating what was loaded gives the same depth."""
    scene = scenes.make("spheres", shape=(30, 40))
    rays = RayMap.fisheye(60, (30, 40))
    view = {"pinhole": Pinhole(60.0, 62.0, 20.0, 15.0), "orthographic": Orthographic(0.3), "rays": rays}[camera]
    graph = QuotientGraph.from_normals(scene.normals, scene.mask, view, "opencv", connectivity=connectivity)
    last = graph.optimize(merge_every=3).graph
    last.save(tmp_path / "levels.qg")
    back = QuotientGraph.load(tmp_path / "levels.qg")
    assert isinstance(back, QuotientGraph)
    assert back.level == last.level > 1
    same(last, back)
    np.testing.assert_array_equal(graph.optimize().depth, back.levels[0].optimize().depth)


def test_what_the_normals_do_not_tell_is_kept(tmp_path):
    """Jumps of another model, and a G0 without the edges across drawn lines."""
    scene = scenes.make("spheres", shape=(30, 40))
    graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", continuity=bini)
    graph = absorb_small(split_at_lines(graph, [[(5, -1), (5, 20)]]))
    assert len(graph.pixels.removed)
    graph.save(tmp_path / "graph.npz")
    same(graph, QuotientGraph.load(tmp_path / "graph.npz"))


def test_levels_keep_their_numbers_and_what_is_known_inside(tmp_path):
    """A tree that is cut at level 2 is contracted once and of level 2; each level keeps its own `inside`."""
    scene = scenes.make("spheres", shape=(40, 50))
    graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", angle=2.0)
    cut = graph.optimize(merge_every=5).hierarchy.cut(level=2)
    absorbed = absorb_small(graph)
    further = absorbed.contract(absorbed.cut[::9])
    assert (cut.level, len(cut.levels)) == (2, 2)
    assert [level.inside is None for level in further.levels] == [True, False, True]
    for k, one in enumerate((cut, absorbed, further, absorb_small(cut).contract([]))):
        one.save(tmp_path / f"{k}.qg")
        same(one, QuotientGraph.load(tmp_path / f"{k}.qg"))


def test_former_files_load(tmp_path):
    """Files that tell the number of the first level alone, and `inside` of the last one, are read as they were."""
    scene = scenes.make("spheres", shape=(30, 40))
    graph = absorb_small(QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv"))
    graph.save(tmp_path / "graph.qg")
    rewritten(tmp_path / "graph.qg", lambda arrays, facts: facts.pop("levels"))
    same(graph, QuotientGraph.load(tmp_path / "graph.qg"))
    QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv").save(tmp_path / "graph.qg")
    for preset in ("best", None):
        rewritten(
            tmp_path / "graph.qg",
            lambda arrays, facts: [facts.pop("formed_by_preset", 0), facts.update(preset=preset)],  # noqa: B023
        )
        assert QuotientGraph.load(tmp_path / "graph.qg").formed_by_preset == (preset is not None)


@pytest.fixture
def saved(tmp_path, noisy_graph):
    path = tmp_path / "graph.qg"
    graph = noisy_graph(1)
    graph.contract(graph.cut[::7]).save(path)
    return path


def test_cut_off_files_are_refused(saved, tmp_path):
    """At any length, and with any byte changed, a file is either refused with `InputError` or read as it was."""
    whole, random = saved.read_bytes(), np.random.default_rng(0)
    known = QuotientGraph.load(saved)
    damaged = [whole[:n] for n in (0, 1, 10, len(whole) // 2, len(whole) - 1)]
    for at in random.integers(0, len(whole), 60):
        damaged.append(whole[:at] + bytes([whole[at] ^ random.integers(1, 256)]) + whole[at + 1 :])
    refused = 0
    for content in damaged:
        (tmp_path / "bad.qg").write_bytes(content)
        try:
            same(known, QuotientGraph.load(tmp_path / "bad.qg"))
        except io.InputError as error:
            refused += "bad.qg" in str(error)
    assert refused > 40


def rewritten(path, change):
    """The archive with its arrays changed by a function, checksums in order."""
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    facts = json.loads(arrays["facts"].tobytes())
    change(arrays, facts)
    if "facts" in arrays:
        arrays["facts"] = np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)
    np.savez(path.open("wb"), **arrays)


@pytest.mark.parametrize(
    "change",
    [
        lambda a, f: a.pop("normals"),
        lambda a, f: a.pop("facts"),
        lambda a, f: f.update(version=99),
        lambda a, f: f.update(kind="soup"),
        lambda a, f: f.update(shape=[3, 3]),
        lambda a, f: f.update(shape=[-9, -11]),
        lambda a, f: f.update(connectivity=6),
        lambda a, f: f.update(camera={"kind": "pinhole", "fx": -1, "fy": 1, "cx": 0, "cy": 0}),
        lambda a, f: f.update(camera={"kind": "periscope"}),
        lambda a, f: f.update(n_levels=7),
        lambda a, f: f.update(levels=[0]),
        lambda a, f: f.update(levels=[0, None]),
        lambda a, f: f.update(angle=-3),
        lambda a, f: a.update(labels=a["labels"][:-1]),
        lambda a, f: a.update(labels=a["labels"] + 5),
        lambda a, f: a.update(position=a["position"][::-1]),
        lambda a, f: a.update(normals=-a["normals"]),
        lambda a, f: a.update(normals=2 * a["normals"]),
        lambda a, f: a.update(contracted_1=a["contracted_1"] + 10**7),
        lambda a, f: a.update(contracted_at_1=a["contracted_at_1"][:-1]),
        lambda a, f: a.update(tail=np.array([0]), head=np.array([10**6])),
        lambda a, f: a.update(jump=np.zeros(3)),
        lambda a, f: a.update(inside=np.array([-4.0])),
    ],
)
def test_parts_that_do_not_fit_are_refused(saved, change):
    """Also where the archive itself is in order: a graph that is returned is sound."""
    rewritten(saved, change)
    with pytest.raises(io.InputError, match=r"graph\.qg"):
        QuotientGraph.load(saved)


class Trap:
    """Loading its pickle makes a folder."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_pickles_are_never_loaded(saved, tmp_path):
    """An array of objects in the archive is not loaded, whatever its name."""
    known, trap = QuotientGraph.load(saved), np.array([Trap(str(tmp_path / "sprung"))], dtype=object)
    for name, refused in (("more", False), ("labels", True)):
        with np.load(saved) as archive:
            arrays = {key: archive[key] for key in archive.files}
        np.savez(tmp_path / "trap.npz", **{**arrays, name: trap})
        if refused:
            with pytest.raises(io.InputError, match=r"trap\.npz"):
                QuotientGraph.load(tmp_path / "trap.npz")
        else:
            same(known, QuotientGraph.load(tmp_path / "trap.npz"))
    assert not (tmp_path / "sprung").exists()


def test_missing_and_foreign_files(tmp_path):
    """What is not there, a folder, and other archives."""
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    (tmp_path / "text.qg").write_text("hello")
    for path in (tmp_path / "nothing.qg", tmp_path, tmp_path / "other.npz", tmp_path / "text.qg"):
        with pytest.raises(io.InputError):
            QuotientGraph.load(path)
    with pytest.raises(io.OutputError):
        QuotientGraph.from_normals(np.tile([0.0, 0.0, 1.0], (3, 3, 1))).save(tmp_path / "no" / "where.qg")


@pytest.mark.parametrize("suffix", [".graphml", ".csv", ".parquet", ".PNG"])
def test_names_that_say_something_else_are_refused(tmp_path, suffix):
    """An archive of arrays that is called GraphML would be a riddle to the program that opens it."""
    graph = QuotientGraph.from_normals(np.tile([0.0, 0.0, 1.0], (3, 3, 1)))
    with pytest.raises(OSError, match=r"is saved as \.npz, not as .*write_tables"):
        graph.save(tmp_path / f"graph{suffix}")
    assert list(tmp_path.iterdir()) == []
