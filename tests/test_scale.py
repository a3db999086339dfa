"""Maps in tiles: the answer is that of the whole map, whatever the tiles are and whatever happens on the way."""

import errno
import functools
import os
import pickle
import signal
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import tifffile

import laplacians
from quotientgraph import Pinhole, QuotientGraph, RayMap, scenes
from quotientgraph.beyond.absorbing import absorbed
from quotientgraph.beyond.held_planes import HeldPlanes
from quotientgraph.beyond.hidden_jumps import hidden_jumps
from quotientgraph.beyond.joining import places
from quotientgraph.cli import main
from quotientgraph.method.filling import equations, fill

dask = pytest.importorskip("dask.array")
parquet = pytest.importorskip("pyarrow.parquet")
zarr = pytest.importorskip("zarr")

from quotientgraph import scale  # noqa: E402
from quotientgraph.scale import blocks, borders, coarse_system, groups, rounds  # noqa: E402
from quotientgraph.scale import joining as scale_joining  # noqa: E402
from quotientgraph.scale.coarse import Grid, Patch  # noqa: E402
from quotientgraph.scale.components import counted  # noqa: E402
from quotientgraph.scale.groups import Tree  # noqa: E402
from quotientgraph.scale.memory import bytes_of, check_driver, driver_needs, tile_for  # noqa: E402
from quotientgraph.scale.numbering import Components  # noqa: E402
from quotientgraph.scale.seams import align  # noqa: E402
from quotientgraph.scale.sources import Source  # noqa: E402
from quotientgraph.scale.tiling import Box, Tiling  # noqa: E402
from quotientgraph.scale.work import Work  # noqa: E402

# The default filling stops when the normals contradict each other far more than it is off. Here it has to be exact.
EXACT = laplacians.Multigrid(rtol=1e-12, maxiter=200)


def bumpy(height, width, noise=0.0, tear=True, seed=3):
    """Hills with occluding balls, a fault that tapers off at both ends, a hole and a separate strip; OpenGL frame."""
    random = np.random.default_rng(seed)
    v, u = np.mgrid[:height, :width].astype(float)
    p, q = np.zeros((height, width)), np.zeros((height, width))
    for _ in range(5):
        a, b = random.normal(0, 1 / 30, 2)
        wave = 3 * np.cos(a * u + b * v + random.uniform(0, 6))
        p, q = p + a * wave, q + b * wave
    if tear:  # below the middle the surface sinks and rises again along u: a depth jump that ends at both ends
        along = np.pi * (u / width - 0.1) / 0.8
        p += np.where((v > height / 2) & (along > 0) & (along < np.pi), 30 * np.pi / (0.8 * width) * np.cos(along), 0)
    for _ in range(height * width // 3000):
        cu, cv, r = random.uniform(0, width), random.uniform(0, height), random.uniform(5, 16)
        rest = r * r - (u - cu) ** 2 - (v - cv) ** 2
        ball = rest > (0.5 * r) ** 2
        p[ball], q[ball] = ((u - cu)[ball], (v - cv)[ball]) / np.sqrt(rest[ball])
    normals = np.stack([p, -q, np.ones_like(p)], axis=-1)
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    normals += noise * random.standard_normal(normals.shape)
    mask = (u - 0.3 * width) ** 2 + (v - 0.7 * height) ** 2 > (0.1 * height) ** 2
    mask[:, int(0.85 * width)] = False
    return normals.astype(np.float32), mask


def whole(
    normals, mask, camera=None, preset="best", angle="auto", connectivity=8, wrap="none", frame="opengl", **settings
):
    """The same in memory, with an exact filling, and with everything else as users have it."""
    graph = QuotientGraph.from_normals(
        normals, mask, camera, frame, angle=angle, connectivity=connectivity, preset=preset, wrap=wrap, check=False
    )
    return graph.optimize(fill_solver=EXACT, preset=preset, **settings)


def difference(result, depth):
    """The largest difference of depths, relative to their range."""
    assert np.array_equal(np.isnan(depth), np.isnan(result.depth))
    return float(np.nanmax(np.abs(depth - result.depth)) / np.ptp(result.depth[np.isfinite(result.depth)]))


@pytest.mark.parametrize(
    ("preset", "settings"),
    [
        ("paper", {}),
        ("best", {}),
        ("paper", {"connectivity": 4, "angle": 6.0, "max_iterations": 5}),
        ("paper", {"merge_every": 5}),
    ],
    ids=["paper", "best", "four neighbours", "merging"],
)
def test_tiles_give_the_answer_of_the_whole_map(tmp_path, preset, settings):
    """Depth and components are those of the map in memory, for a size that no tile divides."""
    normals, mask = bumpy(140, 181)
    depth, report = scale.integrate(
        normals, mask, out=tmp_path / "depth.zarr", tile=64, workers=1, preset=preset, **settings
    )
    expected = whole(normals, mask, preset=preset, **settings)
    assert difference(expected, depth.compute()) < 1e-6
    labels = zarr.open_array(report.components, mode="r")[:]
    assert np.array_equal(labels, expected.levels[0].label_image())
    assert report.rounds, "no component crossed a seam"
    assert len(report.history) == len(expected.history)
    assert not (tmp_path / "depth.work").exists()


@pytest.mark.parametrize(
    ("kind", "seed", "noise"),
    [("tabletop", 0, 0.0), ("shelves", 1, 0.0), ("open_room", 2, 0.5)],
    ids=["hidden faces", "both sides of a tear", "noise"],
)
def test_maps_with_faces_are_joined_as_in_memory(tmp_path, kind, seed, noise):
    """Crumbs are absorbed, borders judged, hidden faces set apart and components placed: all as in memory, across tiles."""
    scene = scenes.random(kind, seed, shape=(150, 200)).with_noise(noise)
    given = scene.normals, scene.mask, scene.camera
    depth, report = scale.integrate(*given, out=tmp_path / "depth.zarr", tile=104, workers=1, frame="opencv")
    expected = whole(*given, frame="opencv")
    assert expected.joined
    assert report.joining == "certain"
    assert report.as_in_memory
    # On both sides of a tear, rounds of filling would get nowhere without symmetric steps.
    assert not any("tolerance" in text for text in report.warnings)
    labels = zarr.open_array(report.components, mode="r")[:]
    assert np.array_equal(labels, expected.graph.label_image())
    assert difference(expected, depth.compute()) < 1e-6
    assert len(report.history) == len(expected.history)
    size = parquet.read_table(report.nodes)["size"].to_numpy()
    assert np.array_equal(size, expected.graph.sizes)
    graph = absorbed(QuotientGraph.from_normals(*given, "opencv", check=False))
    assert report.n_components > graph.n_components, "no face hides in another one"


def test_a_floor_that_leaks_is_flat_as_in_memory(tmp_path, leaking):
    """Whether the map is joined depends on the cores of its faces, which tiles add up in a pass of their own."""
    scene = leaking(12, 1.0)
    given = scene.normals, scene.mask, scene.camera
    depth, report = scale.integrate(*given, out=tmp_path / "depth.zarr", tile=64, workers=1, frame="opencv")
    expected = whole(*given, frame="opencv")
    assert expected.joined
    assert report.joining == "certain"
    assert "cores" in report.seconds
    assert difference(expected, depth.compute()) < 1e-6


def test_planes_are_held_as_in_memory(tmp_path):
    """Faces that were joined by their plane alone stay in it while scales are found across tiles."""
    scene = scenes.random("stairwell", 78, shape=(150, 200))
    given = scene.normals, scene.mask, scene.camera
    depth, report = scale.integrate(*given, out=tmp_path / "depth.zarr", tile=104, workers=1, frame="opencv")
    expected = whole(*given, frame="opencv")
    assert HeldPlanes.of(expected.judged.witnesses, places(expected.judged), moved=True) is not None
    assert report.as_in_memory
    assert difference(expected, depth.compute()) < 1e-6


def test_a_frame_by_its_directions(tmp_path):
    """As in memory; what is no frame is refused with the same words."""
    normals = np.tile([0.0, 0.6, 0.8], (40, 48, 1))
    out = {"out": tmp_path / "depth.zarr", "tile": 104, "workers": 1}
    depth, _ = scale.integrate(normals, frame="right,up,viewer", **out)
    np.testing.assert_allclose(depth.compute(), whole(normals, None).depth, atol=1e-9)
    with pytest.raises(ValueError, match=r"frame='right,up' is not known; use one of opencv, .* directions"):
        scale.integrate(normals, frame="right,up", **out)


def test_joining_goes_on_after_an_interruption(tmp_path):
    """A run that was stopped among the stages of joining ends with the same bytes."""
    scene = scenes.random("tabletop", 0, shape=(150, 200))
    given = {"camera": scene.camera, "frame": "opencv", "tile": 104, "workers": 1}
    stops = iter(["band", "parts", "seams"])

    def stop(name, done, n, at=None):
        if name == at and done == 1:
            raise KeyboardInterrupt

    def run(folder, at, **more):
        out, watch = tmp_path / folder / "depth.zarr", functools.partial(stop, at=at)
        return scale.integrate(scene.normals, scene.mask, out=out, progress=watch, **given, **more)[0].compute()

    for k, at in enumerate(stops):
        with pytest.raises(KeyboardInterrupt):
            run("stopped", at, resume=k > 0)
    assert np.array_equal(run("stopped", None, resume=True), run("whole", None), equal_nan=True)


@pytest.mark.parametrize(
    ("joining", "camera", "memory", "why"),
    [
        (None, None, None, None),
        ("none", None, None, None),
        (None, None, 1.0, "the driver would take"),
        (None, scale.RayFormula.fisheye(60, (40, 64)), None, "rays that are given by a formula"),
    ],
    ids=["joined", "none", "memory", "formula"],
)
def test_a_map_whose_borders_cannot_be_judged_says_so(tmp_path, monkeypatch, joining, camera, memory, why):
    """Two walls that meet, with noise: the default in memory judges their border, and a warning says if tiles do not."""
    walls = np.where(np.arange(64)[:, None] < 30, [0.6, 0.0, 0.8], [-0.6, 0.0, 0.8])
    normals = np.tile(walls, (40, 1, 1)) + 0.003 * np.random.default_rng(0).standard_normal((40, 64, 3))
    if memory is not None:
        monkeypatch.setattr(scale_joining, "_MOST", memory)
    _, report = scale.integrate(
        normals, camera=camera, out=tmp_path / "depth.zarr", tile=48, workers=1, angle=5.0, joining=joining
    )
    assert report.as_in_memory == (why is None)
    assert [why in text for text in report.warnings if "most certain borders" in text] == [True] * (why is not None)
    assert report.joining == ("certain" if joining is None and why is None else "none")
    assert whole(normals, None, angle=5.0, joining=joining).joined == (joining is None)


@pytest.mark.parametrize(
    ("part", "noise", "settings"),
    [
        (np.s_[:64, :80], 0.0, {"angle": None}),
        (np.s_[:64, :1], 0.0, {}),
        (np.s_[:5], 0.0, {"reweighting": "hard"}),
        (np.s_[:, :100], 0.05, {}),
    ],
    ids=["pixels", "column", "strip", "noise"],
)
def test_odd_maps(tmp_path, part, noise, settings):
    """Every pixel a component, maps narrower than a tile, crumbs: the answer is that of the whole map."""
    normals, mask = (image[part] for image in bumpy(90, 110, noise))
    depth, report = scale.integrate(normals, mask, out=tmp_path / "depth.zarr", tile=40, workers=1, **settings)
    assert difference(whole(normals, mask, **settings), depth.compute()) < 1e-6
    assert len(report.rounds) < 20, "rounds go on although nothing but constants changes"


def test_the_map_has_hidden_jumps_across_tiles():
    """The comparison above means something: components of the map hide depth jumps, longer than a tile."""
    normals, mask = bumpy(140, 181)
    graph = QuotientGraph.from_normals(normals, mask, check=False)
    found = hidden_jumps(graph, *equations(graph, None))
    column = graph.pixels.map.position[graph.pixels.tail[found]] % 181
    assert np.ptp(column) > 64


def test_nothing_is_imported_otherwise():
    """Neither Dask nor Zarr is loaded by the library itself, nor by the command line's integrate."""
    program = (
        "import sys, quotientgraph, quotientgraph.cli.integrate\n"
        "quotientgraph.integrate\n"
        "print([name for name in ('dask', 'distributed', 'zarr', 'pyarrow') if name in sys.modules])"
    )
    root = Path(__file__).parents[1]
    paths = [str(root), str(root / "solvers"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_component_within_a_tile_is_filled_as_in_memory(tmp_path):
    """Where the components of tiles never meet, the depth is the same to rounding."""
    normals, mask = bumpy(128, 128, tear=False)
    mask[62:66] = False
    mask[:, 62:66] = False
    depth, report = scale.integrate(normals, mask, out=tmp_path / "depth.zarr", tile=64, workers=1, angle=180.0)
    assert report.rounds == []
    assert difference(whole(normals, mask, angle=180.0), depth.compute()) < 1e-9


def stored(folder):
    """The bytes of every file of the results, by name; the report has times in it."""
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.name != "report.json"
    }


@pytest.fixture(scope="module")
def small():
    return bumpy(96, 110)


@pytest.fixture(scope="module")
def undisturbed(small, tmp_path_factory):
    """The results of a run to which nothing happened."""
    folder = tmp_path_factory.mktemp("undisturbed")
    scale.integrate(*small, out=folder / "depth.zarr", tile=48, workers=1)
    return stored(folder)


class Stop(Exception):
    """Stands for the end of the driver."""


def stopping_after(n):
    """A function for `progress` that stops the driver after `n` tasks."""
    seen = []

    def watch(stage, done, total):
        seen.append(stage)
        if len(seen) > n:
            raise Stop

    return watch


def test_an_interrupted_run_goes_on_to_the_same_bytes(small, undisturbed, tmp_path):
    """Stopped again and again, after a few more tasks each time, a run ends with the files of one that was not stopped."""
    reused = []
    for n in (3, 9, 14, 8, 30, 10, 1000):
        try:
            _, report = scale.integrate(
                *small, out=tmp_path / "depth.zarr", tile=48, workers=1, resume=True, progress=stopping_after(n)
            )
            reused.append(report.reused)
        except Stop:
            continue
    assert reused
    assert reused[0] > 20
    assert stored(tmp_path) == undisturbed


def test_damaged_files_are_made_again(small, undisturbed, tmp_path):
    """A file whose checksum is wrong counts as not written."""
    with pytest.raises(Stop):
        scale.integrate(*small, out=tmp_path / "depth.zarr", tile=48, workers=1, progress=stopping_after(22))
    images = sorted((tmp_path / "depth.work" / "labels").glob("*.npy"))
    for file in images[:2]:
        content = bytearray(file.read_bytes())
        content[-1] ^= 1
        file.write_bytes(content)
    images[3].unlink()
    journal = tmp_path / "depth.work" / "journal.jsonl"
    journal.write_text(journal.read_text() + '{"stage": "la')  # the driver died while it wrote a line
    scale.integrate(*small, out=tmp_path / "depth.zarr", tile=48, workers=1, resume=True)
    assert stored(tmp_path) == undisturbed


def test_a_run_is_not_mixed_with_another(small, tmp_path):
    """Neither a folder with an unfinished run nor results are touched unless the user asks for it."""
    where = tmp_path / "depth.zarr"
    with pytest.raises(Stop):
        scale.integrate(*small, out=where, tile=48, workers=1, progress=stopping_after(10))
    with pytest.raises(OSError, match=r"unfinished run.*resume"):
        scale.integrate(*small, out=where, tile=48, workers=1)
    with pytest.raises(OSError, match="other tiles"):
        scale.integrate(*small, out=where, tile=64, workers=1, resume=True)
    with pytest.raises(OSError, match="other settings"):
        scale.integrate(*small, out=where, tile=48, workers=1, resume=True, max_iterations=7)
    scale.integrate(*small, out=where, tile=48, workers=1, resume=True)
    for more in ({}, {"resume": True, "max_iterations": 7}):  # the second is of another run
        with pytest.raises(OSError, match=r"exists.*overwrite"):
            scale.integrate(*small, out=where, tile=48, workers=1, **more)


@pytest.mark.parametrize("n", [0, 60, 200, None], ids=["before", "early", "late", "after"])
def test_a_run_that_was_stopped_while_it_removed_its_folder_is_complete(small, undisturbed, tmp_path, monkeypatch, n):
    """Before, during or after that, `resume` removes what is left, does no task again and returns what was written."""
    clear, unlink, removed = Work.clear, Path.unlink, []

    def stopped(path, **options):
        if len(removed) == n:
            raise Stop
        removed.append(path)
        unlink(path, **options)

    def stopped_clear(work):
        monkeypatch.setattr(Path, "unlink", stopped)
        clear(work)
        raise Stop

    where, seen = tmp_path / "depth.zarr", []
    monkeypatch.setattr(Work, "clear", stopped_clear)
    with pytest.raises(Stop):
        scale.integrate(*small, out=where, tile=48, workers=1)
    monkeypatch.undo()
    assert len(removed) == n or n is None
    assert (tmp_path / "depth.work").exists() == (n is not None)
    with pytest.raises(OSError, match=r"exists.*overwrite" if n is None else "other settings"):
        scale.integrate(*small, out=where, tile=48, workers=1, resume=True, max_iterations=7)
    depth, report = scale.integrate(
        *small, out=where, tile=48, workers=1, resume=True, progress=lambda *one: seen.append(one)
    )
    assert not seen
    assert not (tmp_path / "depth.work").exists()
    assert stored(tmp_path) == undisturbed
    assert depth.shape == report.shape == (96, 110)
    assert np.array_equal(depth.compute(), zarr.open_array(where, mode="r")[:], equal_nan=True)
    assert report.history[-1].energy >= 0
    (tmp_path / "edges.parquet").unlink()  # what is not whole is not complete
    with pytest.raises(OSError, match=r"exists.*overwrite"):
        scale.integrate(*small, out=where, tile=48, workers=1, resume=True)


def test_a_run_that_replaces_results_is_not_taken_for_the_one_before(small, undisturbed, tmp_path):
    """When another run has begun to write over the results, the report of the first one no longer vouches for them."""

    def stop(stage, done, total):
        if stage == "write" and done == 1:
            raise Stop

    where = tmp_path / "depth.zarr"
    scale.integrate(*small, out=where, tile=48, workers=1)
    with pytest.raises(Stop):
        scale.integrate(*small, out=where, tile=48, workers=1, overwrite=True, max_iterations=1, progress=stop)
    Work(tmp_path / "depth.work", Tiling((96, 110), 48, 24)).clear()
    seen = []
    scale.integrate(
        *small, out=where, tile=48, workers=1, resume=True, overwrite=True, progress=lambda *one: seen.append(one)
    )
    assert seen
    assert stored(tmp_path) == undisturbed


def test_a_full_disk_stops_with_its_name_and_can_be_resumed(small, undisturbed, tmp_path, monkeypatch):
    """The error names the file and the cause; with room again, the run goes on."""
    real, written = np.save, []

    def save(file, array):
        written.append(file)
        if len(written) == 25:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(file, array)

    monkeypatch.setattr(np, "save", save)
    with pytest.raises(OSError, match=r"depth\.work.*No space left on device"):
        scale.integrate(*small, out=tmp_path / "depth.zarr", tile=48, workers=1)
    scale.integrate(*small, out=tmp_path / "depth.zarr", tile=48, workers=1, resume=True)
    assert stored(tmp_path) == undisturbed


def test_the_size_of_groups_of_edges_does_not_matter(small, undisturbed, tmp_path, monkeypatch):
    """Cut edges that are met group by group, each with whole borders, give the depth of one group."""
    monkeypatch.setattr(borders, "GROUP", 300)
    depth, report = scale.integrate(*small, out=tmp_path / "depth.zarr", tile=48, workers=1)
    assert report.n_edges > 900
    assert difference(whole(*small), depth.compute()) < 1e-6


@pytest.mark.slow
def test_a_large_coarse_grid_is_solved_by_multigrid(small, tmp_path, monkeypatch):
    """In place of a factorisation, with the same answer; if it fails, the factorisation is made after all."""
    monkeypatch.setattr(coarse_system, "MANY", 0)
    depth, report = scale.integrate(*small, out=tmp_path / "a" / "depth.zarr", tile=48, workers=1)
    assert difference(whole(*small), depth.compute()) < 1e-6
    monkeypatch.setattr(coarse_system, "_MULTIGRID", laplacians.Multigrid(rtol=1e-14, maxiter=1, coarsest=1))
    depth, again = scale.integrate(*small, out=tmp_path / "b" / "depth.zarr", tile=48, workers=1)
    assert difference(whole(*small), depth.compute()) < 1e-6
    assert len(again.rounds) == len(report.rounds)


@pytest.mark.parametrize("side", [3, 8], ids=["three", "all tiles"])
def test_groups_of_tiles_do_not_matter(small, undisturbed, tmp_path, monkeypatch, side):
    """2×2 tiles at a time, and 2×2 of these groups, give the bytes that all tiles in one group give."""
    assert Tree(Tiling((96, 110), 48, 16), groups.SIDE).height == 2
    monkeypatch.setattr(groups, "SIDE", side)
    scale.integrate(*small, out=tmp_path / "depth.zarr", tile=48, workers=1)
    assert stored(tmp_path) == undisturbed


@pytest.mark.slow
def test_a_coarse_grid_in_blocks_gives_the_answer_of_one(tmp_path, monkeypatch):
    """Blocks of 2×2 tiles of a panorama, which see a part of it only, with a wide grid above them."""
    normals, mask, camera = room((56, 200), (-50.4, 50.4))
    options = {"camera": camera, "tile": 48, "workers": 1, "tolerance": 1e-10}
    depth, one = scale.integrate(normals, mask, out=tmp_path / "a" / "depth.zarr", **options)
    monkeypatch.setattr(blocks, "NODES", 1)
    again, many = scale.integrate(normals, mask, out=tmp_path / "b" / "depth.zarr", **options)
    assert one.tasks["block"][0] == 1
    assert many.tasks["block"][0] == 3
    assert len(many.rounds) < 1.5 * len(one.rounds)
    depth = depth.compute()
    assert np.nanmax(np.abs(again.compute() - depth)) < 1e-9 * np.ptp(depth[np.isfinite(depth)])
    assert np.nanmax(np.abs(again.compute() - depth)) > 0, "there was one block"


def test_every_tile_is_in_one_group_of_each_level():
    """Going down from the whole map meets every tile once, and going up finds the groups that were met."""
    tree = Tree(Tiling((500, 900), 64, 16), 2)
    tiles = np.arange(tree.tiling.n_tiles)
    for level in range(1, tree.height + 1):
        met = [(member, g) for g in range(tree.n_groups(level)) for member in tree.members(level, g)]
        assert sorted(member for member, _ in met) == list(range(tree.n_groups(level - 1)))
        assert all(tree.above(level - 1, member)[0] == g for member, g in met)
        above = np.array([tree.above(level - 1, int(g))[0] for g in tree.group_of(level - 1, tiles)])
        assert np.array_equal(tree.group_of(level, tiles), above)
    assert tree.n_groups(tree.height) == 1


def test_the_driver_holds_no_list_of_the_pixels_along_seams(tmp_path):
    """What the driver takes for components and to align tiles is a fraction of what those pixels would take."""
    normals, mask = bumpy(384, 384)
    options = {"tile": 64, "workers": 1, "preset": "paper", "tolerance": 0.1}  # the depth is not looked at
    scale.integrate(normals, mask, out=tmp_path / "depth.zarr", keep=True, **options)
    work = Work(tmp_path / "depth.work", Tiling((384, 384), 64, 16))
    n_ring, n_labels, n_cut = counted(work)
    inside = sum(len(work.read("edges", k)) for k in range(work.tiling.n_tiles))  # with those between tiles
    assert 0.8 * inside < n_cut <= inside
    assert n_ring > 8_000
    assert work.joined("start", "n_parts").sum() <= n_labels  # the driver solves for the offset of each
    for _ in range(2):  # the first time loads what is needed, which does not count
        tracemalloc.start()
        Components.from_tables(work)
        align(work)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert most < 2**22 + 50 * n_labels  # a checksum reads 4 MiB at a time


def test_intermediate_images_go_when_no_tile_reads_them(tmp_path):
    """In the middle of a round, images of the round before are there only for tiles that some other tile still needs."""
    normals, mask = bumpy(400, 100)
    left = {}

    def watch(stage, done, total):
        if stage.startswith("correct") and stage != "correct.1":
            names = rounds.read_last(int(stage.split(".")[1]))
            left[stage, done] = max(len(list((tmp_path / "depth.work" / name).glob("*.npy"))) for name in names)

    _, report = scale.integrate(
        normals, mask, out=tmp_path / "depth.zarr", tile=40, workers=1, preset="paper", progress=watch
    )
    n_tiles = 30
    assert len(report.rounds) > 2
    for stage, done in left:  # tiles are done row by row, three to a row
        assert left[stage, done] <= n_tiles - 3 * max(done // 3 - 1, 0)
    assert all(left[stage, n_tiles] == 0 for stage, done in left if done == n_tiles)


def test_tables_describe_the_quotient_graph(small, tmp_path):
    """nodes.parquet and edges.parquet hold what the tables of the graph in memory hold."""
    _, report = scale.integrate(*small, out=tmp_path / "out.zarr", tile=48, workers=1)
    result = whole(*small)
    graph = result.levels[0]
    nodes, edges = parquet.read_table(report.nodes), parquet.read_table(report.edges)
    assert report.nodes.endswith("out.nodes.parquet")
    for name in ("size", "top", "left", "bottom", "right"):
        assert np.array_equal(nodes[name], graph.node_table()[name]), name
    filled = fill(graph, EXACT, hidden_jumps).potential
    tail, head, table = graph.edge_table(filled)
    assert np.array_equal(edges["tail"], tail)
    assert np.array_equal(edges["head"], head)
    assert np.array_equal(edges["n_edges"], table["n_edges"])
    assert np.allclose(edges["residual"], table["residual"], atol=1e-5)
    assert np.allclose(np.asarray(nodes["confidence"])[graph.labels], result.certainty, atol=1e-4)


def test_every_kind_of_store_is_read(tmp_path):
    """Windows are the same from arrays, memory maps, .npy, TIFF, Zarr arrays, groups, OME-Zarr and Dask."""
    normals, mask = bumpy(64, 80)
    np.save(tmp_path / "n.npy", normals)
    tifffile.imwrite(tmp_path / "n.tiff", normals, tile=(16, 16), photometric="rgb")
    group = zarr.open_group(tmp_path / "g.zarr", mode="w")
    group.create_array("normals", data=normals)
    group.create_array("mask", data=mask)
    ome = zarr.open_group(tmp_path / "ome.zarr", mode="w")
    ome.create_array("0", data=np.moveaxis(normals, -1, 0).copy())
    ome.attrs["ome"] = {"version": "0.5", "multiscales": [{"datasets": [{"path": "0"}]}]}
    box = Box(8, 16, 40, 56)
    for thing in (
        normals,
        np.load(tmp_path / "n.npy", mmap_mode="r"),
        tmp_path / "n.npy",
        str(tmp_path / "n.tiff"),
        group["normals"],
        group,
        tmp_path / "g.zarr",
        tmp_path / "ome.zarr",
        dask.from_array(normals, chunks=(20, 30, 3)),
    ):
        source = pickle.loads(pickle.dumps(Source.from_arrays(thing)))
        assert source.shape == (64, 80)
        assert np.array_equal(source.read(box)[0], normals[8:40, 16:56]), thing
    assert np.array_equal(Source.from_arrays(group, group["mask"]).read(box)[1], mask[8:40, 16:56])
    unsure = np.where(mask, 0.9, np.nan)
    unsure[0] = 1e-6
    assert np.array_equal(Source.from_arrays(normals, unsure).read(box)[1], (unsure > 0.5)[8:40, 16:56])
    coded = np.rint((normals + 1) * 32767.5).astype(np.uint16)
    assert np.allclose(Source.from_arrays(coded).read(box)[0], normals[8:40, 16:56], atol=1e-4)


def test_a_file_that_was_written_anew_is_read_anew(tmp_path):
    """Another map of another size under the same name, in one process."""
    for height in (64, 40):
        normals, _ = bumpy(height, 80)
        np.save(tmp_path / "n.npy", normals)
        zarr.open_group(tmp_path / "g.zarr", mode="w").create_array("normals", data=normals)
        for name in ("n.npy", "g.zarr"):
            source = Source.from_arrays(tmp_path / name)
            assert source.shape == (height, 80)
            assert np.array_equal(source.read(Box(0, 0, height, 80))[0], normals)


@pytest.mark.parametrize(
    ("thing", "text"),
    [
        (np.zeros((4, 5)), "expected an array of shape"),
        ("nowhere.zarr", "nowhere.zarr: no such file or Zarr store"),
        (__file__, r"is no Zarr array or group, .npy or .tiff file; write one of these, or pass an array$"),
        (3, "expected an array of Dask"),
    ],
)
def test_what_cannot_be_read_is_refused(thing, text):
    """The error says what was expected."""
    with pytest.raises(ValueError, match=text):
        Source.from_arrays(thing)


def test_a_pinhole_camera_and_empty_tiles(tmp_path):
    """Tiles without a valid pixel do no harm, and the camera counts from the corner of the map."""
    normals, mask = bumpy(100, 120)
    mask[:, :50] = False
    camera = Pinhole(300.0, 310.0, 55.0, 48.0)
    depth, _ = scale.integrate(normals, mask, camera, tmp_path / "depth.zarr", tile=48, workers=1)
    assert difference(whole(normals, mask, camera), depth.compute()) < 1e-6
    with pytest.raises(ValueError, match="no valid pixel"):
        scale.integrate(normals, np.zeros_like(mask), out=tmp_path / "none.zarr", tile=48, workers=1)


def test_rays_by_formula_are_those_of_the_array(tmp_path):
    """A fisheye given by formula gives the depth of the ray map in memory, and no array of rays is made."""
    normals, mask = bumpy(96, 110)
    depth, _ = scale.integrate(
        normals, mask, scale.RayFormula.fisheye(60, (96, 110)), tmp_path / "depth.zarr", tile=48, workers=1
    )
    assert difference(whole(normals, mask, RayMap.fisheye(60, (96, 110))), depth.compute()) < 1e-6


@pytest.mark.parametrize("latitude", [(-24, 24), (-50, 50)], ids=["square pixels", "wide pixels"])
def test_a_panorama_by_formula_is_that_of_the_array(tmp_path, latitude):
    """Part of a panorama that looks sideways and backwards: its depth is the distance, as in memory."""
    shape, longitude = (96, 200), (-100.0, 100.0 * latitude[1] / 24 - 4)
    formula = scale.RayFormula.equirectangular(shape, longitude, latitude)
    camera = RayMap.equirectangular(shape, longitude, latitude)
    assert camera.spherical
    rays = camera.rays(shape)
    random = np.random.default_rng(0)
    facing = random.normal(0, 0.25, (6, 10, 3)).repeat(16, axis=0).repeat(20, axis=1)
    normals = (-rays + facing) * [1, -1, -1]  # facets, in the frame of OpenGL
    normals = (normals / np.linalg.norm(normals, axis=-1, keepdims=True)).astype(np.float32)
    depth, _ = scale.integrate(normals, None, formula, tmp_path / "depth.zarr", tile=48, workers=1)
    assert difference(whole(normals, None, camera), depth.compute()) < 1e-6


def room(shape, latitude, seed=1):
    """A panorama, and normals of walls around it that bend, with holes, in the frame of OpenGL."""
    camera = RayMap.equirectangular(shape, latitude=latitude)
    rays, random = camera.rays(shape), np.random.default_rng(seed)
    v, u = np.mgrid[: shape[0], : shape[1]]
    turn = 2 * np.pi * u / shape[1]
    lean = [0.2 * np.sin(k * turn + 3 * v / shape[0] + random.uniform(0, 6)) for k in (1, 2, 5)]
    normals = (-rays + np.stack(lean, axis=-1)) * [1, -1, -1]
    wall = (u + 20) // 60 % 3  # one of the walls goes on across the border
    normals[..., 0] += 0.4 * (wall == 1)
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    mask = random.random(shape) > 0.003
    return normals.astype(np.float32), mask, camera


@pytest.mark.parametrize(
    ("by_formula", "tile", "preset"), [(True, 48, "paper"), (False, 48, "paper"), (True, 96, "best")]
)
def test_the_two_ends_of_a_panorama_meet(tmp_path, by_formula, tile, preset):
    """The depth is that of the panorama in memory, which wraps; with few columns of tiles too."""
    shape, latitude = (56, 200), (-50.4, 50.4)  # square pixels: in memory, focal lengths do not look across the border
    normals, mask, camera = room(shape, latitude)
    view = scale.RayFormula.equirectangular(shape, latitude=latitude) if by_formula else camera
    depth, report = scale.integrate(normals, mask, view, tmp_path / "depth.zarr", tile=tile, workers=1, preset=preset)
    expected = whole(normals, mask, camera, preset, wrap="x")
    assert difference(expected, depth.compute()) < 1e-6
    assert np.array_equal(zarr.open_array(report.components, mode="r")[:], expected.levels[0].label_image())
    assert any("were joined" in text for text in report.warnings)
    apart = whole(normals, mask, camera, preset)
    assert difference(apart, depth.compute()) > 1e-4, "the two ends say the same without being joined"
    depth, report = scale.integrate(
        normals, mask, view, tmp_path / "apart.zarr", tile=tile, workers=1, preset=preset, wrap="none"
    )
    assert difference(apart, depth.compute()) < 1e-6
    assert report.joining == "none"


def test_the_coarse_system_is_the_galerkin_product(small):
    """PᵀLP, added up over two parts of the rows, is the product of the matrices; P is `add_to`, Pᵀ is `sums`."""
    shape = small[1].shape
    graph = QuotientGraph.from_normals(*small, check=False)
    number = np.full((shape[0] + 2, shape[1] + 2), -1, dtype=np.int32)
    number[1:-1, 1:-1] = np.where(graph.label_image() < 3, graph.label_image(), -1)
    patch = Patch.from_ranks(Box(0, 0, *shape), Grid(shape, 16), number, np.array([1, -1, 0]))
    random = np.random.default_rng(1)
    weight, laplacian = np.zeros((4, *number.shape), dtype=np.float32), []
    for k, (dv, du) in enumerate(((0, 1), (1, -1), (1, 0), (1, 1))):
        same = (number >= 0) & (number == np.roll(number, (-dv, -du), (0, 1)))
        weight[k][same] = random.random(np.count_nonzero(same)) + 0.1
        laplacian.append((weight[k], dv, du))
    keys = patch.keys.ravel()
    a, b = random.random(len(keys)), random.random(len(keys))
    x, y = np.zeros(number.shape), np.zeros(number.shape)
    patch.add_to(x, keys, a)
    patch.add_to(y, keys, b)
    expected = sum(
        float(np.sum(w * (x - np.roll(x, (-dv, -du), (0, 1))) * (y - np.roll(y, (-dv, -du), (0, 1)))))
        for w, dv, du in laplacian
    )
    assert expected > 0
    total = 0.0
    for rows in (slice(1, 40), slice(40, number.shape[0] - 1)):
        row, column, value = patch.matrix(weight, rows, slice(1, number.shape[1] - 1))
        i, j = np.searchsorted(keys, row), np.searchsorted(keys, column)
        total += float(np.sum(value * np.where(i == j, a[i] * b[i], a[i] * b[j] + a[j] * b[i])))
    assert total == pytest.approx(expected, rel=1e-10)
    found, sums = patch.sums(y)
    assert np.dot(sums, a[np.searchsorted(keys, found)]) == pytest.approx(float(np.sum(x * y)), rel=1e-10)


def test_tiles_cover_the_map_once():
    """The parts of a box are disjoint and cover it, and every position belongs to the tile whose core holds it."""
    tiling = Tiling((100, 70), 40, 16)
    image = np.zeros(tiling.shape, dtype=int)
    box = Box(10, 5, 95, 70)
    for k, part in tiling.parts(box):
        image[part.within(Box(0, 0, *tiling.shape))] += 1
        row, column = np.mgrid[part.top : part.bottom, part.left : part.right]
        assert np.all(tiling.tile_of(row * 70 + column) == k)
    assert np.array_equal(image[10:95, 5:70], np.ones((85, 65)))
    assert image.sum() == 85 * 65


def test_memory_decides_on_the_tile():
    """More memory allows larger tiles; what is too little is refused with the least that will do."""
    assert tile_for(bytes_of("4GB")) > tile_for(bytes_of("2 GB")) >= 2048
    with pytest.raises(ValueError, match="allow at least"):
        tile_for(bytes_of("100MB"))
    with pytest.raises(ValueError, match="not a size"):
        bytes_of("much")


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"camera": Pinhole(100.0, 100.0, 96.0, 48.0), "wrap": "x"}, "wrap='x': a pinhole camera .*Orthographic"),
        ({"anchors": [(1, 1, 1.0)]}, "anchors: .*leave it out"),
        ({"contacts": [((1, 1), (1, 2))]}, "contacts: .*leave it out"),
        ({"prior_weight": 2.0}, "prior_weight: .*leave it out"),
        ({"prior_kind": "depth"}, "prior_kind: .*leave it out"),
        ({"camera": RayMap.equirectangular((96, 192)), "wrap": "y"}, "wrap='y': the rays .*wrap="),
    ],
    ids=["wrap", "anchors", "contacts", "weight", "kind", "panorama"],
)
def test_what_needs_the_whole_map_is_refused(tmp_path, settings, text):
    """The error names the keyword and what to do instead, and nothing is written."""
    with pytest.raises(ValueError, match=text):
        scale.integrate(np.ones((96, 192, 3), dtype=np.float32), out=tmp_path / "depth.zarr", tile=48, **settings)
    assert not list(tmp_path.iterdir())


def test_a_driver_without_enough_memory_says_so_early(small, tmp_path):
    """After the labels, before anything large is loaded; the message names what takes the memory and the remedy."""
    stages = []
    with pytest.raises(
        MemoryError, match=r"driver will need about 0\.\d GB.*0\.0 GB are allowed \(memory\); choose a larger"
    ):
        scale.integrate(
            *small,
            out=tmp_path / "depth.zarr",
            tile=48,
            workers=1,
            memory=1e6,
            progress=lambda *one: stages.append(one[0]),
        )
    assert stages[-1] == "labels"
    needs = [driver_needs(Tiling((2**16, 2**16), tile, 128), 2**18 // tile * 2**16, 1000) for tile in (1024, 2048)]
    assert needs[0]["tiles"] == 4 * needs[1]["tiles"]
    assert needs[0]["borders of groups of tiles"] == needs[1]["borders of groups of tiles"]
    for most, remedy in (
        ("tiles", "larger tiles"),
        ("borders of groups of tiles", "preset"),
        ("components", "larger angle"),
        ("cut edges", "larger angle"),
    ):
        with pytest.raises(MemoryError, match=rf"for {most}.*{remedy}"):
            check_driver({"the program": 1, **dict.fromkeys(needs[0], 1), most: 10**10}, 1e9)
    check_driver(needs[1], sum(needs[1].values()))


def test_the_command_line(small, tmp_path, monkeypatch, capsys):
    """`quotientgraph integrate map.zarr -o depth.zarr` writes what the function writes."""
    monkeypatch.chdir(tmp_path)
    zarr.open_group("map.zarr", mode="w").create_array("normals", data=small[0])
    np.save("mask.npy", small[1])
    command = ["integrate", "map.zarr", "-o", "depth.zarr", "--tile", "48", "--workers", "1", "--frame", "opengl"]
    assert main([*command, "--mask", "mask.npy"]) == 0
    assert difference(whole(*small), zarr.open_array("depth.zarr", mode="r")[:]) < 1e-6
    assert main(command) == 1
    assert "exists" in capsys.readouterr().err
    assert main([*command[:4], "--tile", "48"]) == 2
    assert "--frame" in capsys.readouterr().err


@pytest.mark.slow
def test_killed_workers_lose_nothing(small, undisturbed, tmp_path):
    """On a cluster whose workers are killed in the middle of their tasks, the results are the same bytes."""
    distributed = pytest.importorskip("distributed")
    killed = []

    def watch(stage, done, total):
        if len(killed) < 3 and done == 2 and stage in ("labels", "start", "write"):
            pid = next(iter(client.run(os.getpid).values()))
            os.kill(pid, signal.SIGKILL)
            killed.append(stage)

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit=0, dashboard_address=None, env={"NUMBA_NUM_THREADS": "1"}
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        scale.integrate(*small, out=tmp_path / "depth.zarr", client=client, tile=48, progress=watch)
    assert killed == ["labels", "start", "write"]
    assert stored(tmp_path) == undisturbed


@pytest.mark.slow
def test_killed_drivers_lose_nothing(small, undisturbed, tmp_path):
    """A driver that ends at once, without a chance to tidy up, leaves a folder from which the next one goes on."""
    np.savez(tmp_path / "map.npz", normals=small[0], mask=small[1])
    program = (
        "import os, signal, sys, numpy as np\n"
        "from quotientgraph import scale\n"
        "map, seen = np.load('map.npz'), []\n"
        "def watch(*event):\n"
        "    seen.append(event)\n"
        "    if len(seen) == int(sys.argv[1]):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "options = {'tile': 48, 'workers': 1, 'resume': True, 'progress': watch}\n"
        "scale.integrate(map['normals'], map['mask'], out='out/depth.zarr', **options)\n"
    )
    root = Path(__file__).parents[1]
    paths = [str(root), str(root / "solvers"), os.environ.get("PYTHONPATH", "")]
    for last in ("44", "0"):
        done = subprocess.run(
            [sys.executable, "-c", program, last],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == (0 if last == "0" else -signal.SIGKILL), done.stderr
    assert stored(tmp_path / "out") == undisturbed
