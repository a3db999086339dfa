"""The table of unseen scenes: its cases, its statistics with their spread, and how it is run from the command line."""

import json
from dataclasses import replace

import numpy as np
import pytest

from quotientgraph import Orthographic, metrics, scenes
from quotientgraph.bench import Case, Job, find
from quotientgraph.bench.degrade import DEGRADATIONS, degraded
from quotientgraph.bench.parts import PARTS, part_of
from quotientgraph.bench.unseen import PAPER_ROW, UNSEEN_TABLE, VARIANTS, unseen_cases, unseen_table, variations
from quotientgraph.cli import main


def _angles(first, second, mask):
    return np.degrees(np.arccos(np.clip(np.sum(first * second, axis=-1)[mask], -1, 1)))


def _view(path, scene):
    k = np.array([[scene.camera.fx, 0, scene.camera.cx], [0, scene.camera.fy, scene.camera.cy], [0, 0, 1]])
    np.savez(path, normals=np.where(scene.mask[..., None], scene.normals, 0), mask=scene.mask, depth=scene.depth, K=k)


@pytest.mark.parametrize("text", DEGRADATIONS.values())
def test_degraded_normals_are_unit_and_repeatable(text):
    """Normals stay of unit length, the same seed gives the same normals, and depth and mask are untouched."""
    scene = scenes.make("boxes", shape=(24, 30))
    worse = degraded(scene, text, seed=3)
    np.testing.assert_allclose(np.linalg.norm(worse.normals, axis=-1), 1, atol=1e-12)
    np.testing.assert_array_equal(worse.normals, degraded(scene, text, seed=3).normals)
    np.testing.assert_array_equal(worse.depth, scene.depth)
    np.testing.assert_array_equal(worse.mask, scene.mask)


def test_a_bias_has_the_size_that_was_asked_for_and_is_smooth():
    """The angle is 3° in the root mean square; between neighbours on one plane it changes by a small part of that."""
    scene = scenes.make("plane", shape=(60, 80))
    worse = degraded(scene, "bias=3", seed=1)
    angle = _angles(worse.normals, scene.normals, scene.mask)
    assert np.sqrt(np.mean(angle**2)) == pytest.approx(3, rel=1e-3)
    step = _angles(worse.normals[:, 1:], worse.normals[:, :-1], scene.mask[:, 1:])
    assert step.max() < 1.0
    other = degraded(scene, "bias=3", seed=2)
    assert _angles(worse.normals, other.normals, scene.mask).mean() > 1


def test_an_unknown_degradation_is_named():
    with pytest.raises(ValueError, match="degradation='fog=1' is not known"):
        degraded(scenes.make("plane", shape=(8, 9)), "fog=1")


def test_cases_are_the_scenes_of_the_split(tmp_path):
    """Each seed of each kind appears with each degradation; the splits have no scene in common; views are found."""
    per_scene = len(DEGRADATIONS)
    sources = {split: {case.source for case in unseen_cases(split, 2, [tmp_path])} for split in scenes.SPLITS}
    assert all(len(found) == 2 * len(scenes.KINDS) * per_scene for found in sources.values())
    assert not sources["tune"] & sources["validate"]
    assert not sources["validate"] & sources["test"]
    (tmp_path / "real").mkdir()
    scene = scenes.make("boxes", shape=(20, 24))
    _view(tmp_path / "real" / "hall.npz", scene)
    views = [case for case in unseen_cases("tune", 1, [tmp_path]) if case.source.startswith("view:")]
    assert [case.name for case in views] == [f"hall {label}" for label in (*DEGRADATIONS, *PARTS)]
    maps = views[0].maps
    np.testing.assert_allclose(maps.normals[maps.mask], scene.normals[scene.mask], atol=1e-6)
    assert metrics.made(np.where(maps.mask, maps.truth, np.nan), scene.depth) == pytest.approx(0, abs=1e-6)
    assert not np.array_equal(views[3].maps.normals, maps.normals)


@pytest.mark.parametrize("name", PARTS)
def test_a_part_of_a_view_sees_the_same_surface(name):
    """Its pixels lie in the planes of their normals as those of the view do: camera, normals and depth belong together."""
    scene = scenes.make("plane", shape=(30, 40))
    part = part_of(scene, name)
    points = part.depth[..., None] * part.camera.rays(part.shape)
    assert part.mask.all()
    assert part.mask.size < 0.5 * scene.mask.size
    np.testing.assert_allclose((points * part.normals).sum(axis=-1), (points * part.normals).sum(axis=-1)[0, 0])
    assert np.isin(part.depth, scene.depth).all()


def test_parts_are_made_of_pinhole_views_only():
    """An unknown part and another camera are refused by name."""
    scene = scenes.make("plane", shape=(12, 16))
    with pytest.raises(ValueError, match="upper_left"):
        part_of(scene, "left")
    with pytest.raises(ValueError, match="pinhole"):
        part_of(replace(scene, camera=Orthographic()), "middle")


def test_sources_of_random_scenes():
    """A random scene is named by kind and seed, and its degradation follows the same seed."""
    [case] = find(["random:tabletop?seed=3&shape=30x40&noise=1"])
    exact = scenes.random("tabletop", 3, shape=(30, 40))
    np.testing.assert_array_equal(case.maps.normals, exact.with_noise(1, seed=3).normals)
    with pytest.raises(ValueError, match="one of bits, noise, bias and turn"):
        _ = Case("both", "random:heap?seed=1&noise=1&bits=8").maps


def _records(errors):
    """Records of rows × scenes; `errors` maps the label of a row to relative errors, one for each scene."""
    out = []
    for label, values in errors.items():
        method, settings = VARIANTS[label]
        for seed, error in enumerate(values):
            job = Job(Case(f"heap {seed}", f"random:heap?seed={seed}", "opencv"), method, settings)
            state = {"status": "failed", "error": "x"} if error is None else {"status": "ok", "relative_error": error}
            out.append({"key": job.key, **job.to_json(), **state})
    return out


def _value(entries, quantity, row, column="clean"):
    [found] = [e for e in entries if e.quantity == f"random scenes: {quantity}" and (e.row, e.column) == (row, column)]
    return found


def test_statistics_of_known_errors():
    """Mean, median and shares of errors that are written down here; a failure is counted and left out."""
    records = _records({"default": [0.001, 0.02, 0.03, None], PAPER_ROW: [0.002, 0.02, 0.01, 0.01]})
    entries = UNSEEN_TABLE.entries(records)
    assert _value(entries, "mean error, %", "default").ours == pytest.approx(1.7)
    assert _value(entries, "median error, %", "default").ours == pytest.approx(2)
    assert _value(entries, "right (below 0.5 %), % of scenes", "default").ours == pytest.approx(100 / 3)
    assert _value(entries, "worse than the paper's preset, % of scenes", "default").ours == pytest.approx(100 / 3)
    assert _value(entries, "worse than the paper's preset, % of scenes", PAPER_ROW).ours == 0
    change = _value(entries, "mean change against the paper's preset, percentage points", "default")
    assert change.ours == pytest.approx((-0.1 + 0 + 2) / 3)
    assert _value(entries, "mean error, %", "default").failed == "1 failed"


def test_the_spread_is_the_standard_error_over_scenes():
    """For the mean of many scenes the spread is σ/√n; a change that is the same in every scene has none."""
    errors = np.random.default_rng(0).uniform(0.01, 0.05, 200)
    entries = UNSEEN_TABLE.entries(_records({"default": [*(errors + 0.01)], PAPER_ROW: [*errors]}))
    found = _value(entries, "mean error, %", "default")
    assert found.spread == pytest.approx(100 * errors.std() / np.sqrt(200), rel=0.15)
    change = _value(entries, "mean change against the paper's preset, percentage points", "default")
    assert change.ours == pytest.approx(1)
    assert change.spread == pytest.approx(0, abs=1e-9)


def test_rows_of_an_ablation():
    """Each text is a row; the paper's preset is always there to compare with."""
    rows = variations(["filling=induced", "angle=2;filling=induced"], ["components", "bini"])
    assert list(rows) == ["default", "filling=induced", "angle=2;filling=induced", "bini"]
    table = unseen_table(rows)
    jobs = table.jobs([Case("heap 1", "random:heap?seed=1", "opencv"), Case("bear", "/data/bear")])
    assert [job.settings for job in jobs if job.method == "components"] == [
        {},
        {"filling": "induced"},
        {"angle": 2, "filling": "induced"},
        {"preset": "paper"},
    ]
    with pytest.raises(ValueError, match="expected NAME=VALUE"):
        variations(["filling"])


def test_the_command_measures_and_resumes(tmp_path, capsys, monkeypatch):
    """Two processes, one stored view and no random scenes: the table is printed, and a second run measures nothing."""
    _view(tmp_path / "corner.npz", scenes.make("boxes", shape=(20, 24)))
    monkeypatch.setattr("quotientgraph.bench.unseen.scenes.cases", lambda split, limit: iter(()))
    words = ["bench", tmp_path, "--table", "unseen", "--vary", "filling=induced", "--out", tmp_path / "out", "--quiet"]
    assert main([*map(str, words), "--processes", "2"]) == 0
    text = capsys.readouterr().out
    assert "real views: mean error, %" in text
    assert "filling=induced" in text
    journal = tmp_path / "out" / "journal.jsonl"
    lines = journal.read_text().splitlines()
    assert sum("key" in json.loads(line) for line in lines) == 3 * (len(DEGRADATIONS) + len(PARTS))
    assert main([*map(str, words)]) == 0
    assert journal.read_text().splitlines() == lines
    rows = (tmp_path / "out" / "table-unseen.csv").read_text().splitlines()
    assert rows[0].endswith("spread")
