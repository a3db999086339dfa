"""Maps in tiles that wrap: textures and panoramas have the answer of the map in memory, whatever the tiles are."""

import json

import numpy as np
import pytest

import laplacians
from quotientgraph import Orthographic, QuotientGraph, RayMap
from quotientgraph.beyond import net_slope
from quotientgraph.cli import main
from quotientgraph.geometry.wrapping import Wrap
from quotientgraph.method import torus

pytest.importorskip("dask.array")
zarr = pytest.importorskip("zarr")

from quotientgraph import scale  # noqa: E402
from quotientgraph.scale import blocks, groups, rounds, run  # noqa: E402
from quotientgraph.scale.coarse import Grid  # noqa: E402
from quotientgraph.scale.numbering import Components  # noqa: E402
from quotientgraph.scale.sources import Source  # noqa: E402
from quotientgraph.scale.tiling import Tiling  # noqa: E402
from quotientgraph.scale.window import Job, Window  # noqa: E402
from quotientgraph.scale.work import Work  # noqa: E402

# In memory, filling and the net slope stop far below what the normals contradict each other. Here they have to be exact.
EXACT = laplacians.Multigrid(rtol=1e-12, maxiter=300)


@pytest.fixture(autouse=True)
def _exact_in_memory(monkeypatch):
    monkeypatch.setattr(net_slope, "_MULTIGRID", EXACT)
    monkeypatch.setattr(torus, "_ENERGY_TOL", 1e-16)


def texture(height, width, seed=3):
    """Waves that close around the borders, on a tilted plane, with domes that occlude and a tear; in the frame of OpenGL."""
    random = np.random.default_rng(seed)
    v, u = np.mgrid[:height, :width].astype(float)
    p, q = np.full((height, width), 0.03), np.full((height, width), -0.05)
    for right, down in ((1, 0), (0, 1), (1, 2), (-2, 1)):
        a, b = 2 * np.pi * right / width, 2 * np.pi * down / height
        wave = 0.6 * np.cos(a * u + b * v + random.uniform(0, 6))
        p, q = p + a * wave, q + b * wave
    along = np.pi * ((u / width + 0.4) % 1 - 0.1) / 0.8  # the tear runs through the right border
    deep = (v > height / 2) & (along > 0) & (along < np.pi)
    p += np.where(deep, 30 * np.pi / (0.8 * width) * np.cos(along), 0)
    for _ in range(3):
        r = random.uniform(0.08, 0.15) * min(height, width)
        du, dv = _around(u - random.uniform(0, width), width), _around(v - random.uniform(0, height), height)
        rest = r * r - du**2 - dv**2
        dome = rest > (0.6 * r) ** 2
        p[dome], q[dome] = (du[dome], dv[dome]) / np.sqrt(rest[dome])
    return _unit(np.stack([p, -q, np.ones_like(p)], axis=-1))


def _around(step, period):
    """A difference of places, the short way around."""
    return (step + period / 2) % period - period / 2


def _unit(normals):
    return (normals / np.linalg.norm(normals, axis=-1, keepdims=True)).astype(np.float32)


def moats(height, width):
    """A mask with two moats, one of them across the corner of the map; what they surround are islands."""
    v, u = np.mgrid[:height, :width]
    mask = np.ones((height, width), dtype=bool)
    for top, left in ((0.4, 0.6), (0.02, 0.97)):
        away = np.hypot(_around(u - left * width, width), _around(v - top * height, height)) / min(height, width)
        mask &= (away > 0.22) | (away < 0.15)
    return mask


def compared(folder, normals, mask=None, camera=None, *, exact=True, tile=40, wrap="both", **settings):
    """Integrate in tiles and in memory; components have to be the same. Returns the report and how far depths differ.

    `camera` are the one for tiles and the one for memory.
    """
    settings = {"preset": "best", "angle": 12.0, **settings}
    view, camera = camera or (None, None)
    depth, report = scale.integrate(
        normals, mask, view, folder / "depth.zarr", tile=tile, workers=1, wrap=wrap, overwrite=True, **settings
    )
    settings.pop("overlap", None)
    made = {name: settings.pop(name) for name in ("angle", "connectivity", "slope") if name in settings}
    graph = QuotientGraph.from_normals(normals, mask, camera, wrap=wrap, preset=settings["preset"], check=False, **made)
    expected = graph.optimize(**({"fill_solver": EXACT} if exact else {}), **settings)
    labels = zarr.open_array(report.components, mode="r")[:]
    assert np.array_equal(labels, expected.levels[0].label_image())
    assert np.allclose(report.slope, expected.slope, atol=1e-8)
    assert len(report.history) == len(expected.history)
    depth, valid = depth.compute(), np.isfinite(expected.depth)
    assert np.array_equal(np.isfinite(depth), valid)
    return report, float(np.abs(depth - expected.depth)[valid].max() / np.ptp(expected.depth[valid]))


@pytest.mark.parametrize(
    ("shape", "tile", "wrap", "settings"),
    [
        ((84, 101), 48, "both", {"preset": "paper"}),
        ((84, 101), 40, "both", {}),
        ((84, 101), 64, "x", {"slope": "keep", "preset": "paper"}),
        ((84, 101), 64, "y", {"slope": "keep"}),
        ((84, 101), 56, "both", {"slope": "steps", "connectivity": 4}),
        ((50, 61), 64, "both", {}),
        ((64, 80), 40, "both", {"preset": "paper", "overlap": 48}),
        ((11, 20), 32, "both", {"preset": "paper"}),
        ((3, 70), 32, "both", {"angle": 30.0}),
    ],
    ids=["paper", "best", "x", "y", "steps", "one tile", "far sight", "tiny", "three rows"],
)
def test_a_texture_has_the_answer_of_the_whole_map(tmp_path, shape, tile, wrap, settings):
    """For sizes that no tile divides, tiles that are their own neighbours, and windows that are larger than the map."""
    report, difference = compared(tmp_path, texture(*shape), tile=tile, wrap=wrap, **settings)
    assert difference < 1e-6
    assert report.rounds, "no component crossed a seam"
    assert report.wrap == wrap


@pytest.mark.parametrize(
    ("tile", "settings"), [(56, {"preset": "paper"}), (80, {}), (48, {"wrap": "y"})], ids=["four", "one", "two"]
)
def test_islands_in_a_texture(tmp_path, tile, settings):
    """With invalid pixels, the net slope is that of least squares over all edges, and not the mean of the normals'."""
    normals, mask = texture(68, 80), moats(68, 80)
    report, difference = compared(tmp_path, normals, mask, tile=tile, **settings)
    assert difference < 1e-6
    assert any("separate pieces" in text for text in report.warnings)
    assert not list(tmp_path.glob("*.work"))


@pytest.mark.parametrize(
    ("chosen", "winds", "tile"),
    [
        (lambda v, u: (v - u * 60 // 72) % 60 < 12, (True, True), 80),
        (lambda v, u: (v - u * 60 // 72) % 60 < 12, (True, True), 40),
        (lambda v, u: (v > 20) & (v < 40), (True, False), 40),
        (lambda v, u: (u > 50) | (u < 10), (False, True), 80),
        (lambda v, u: (v > 10) & (v < 50) & ((u < 25) | (u > 55)), (False, False), 40),
    ],
    ids=["diagonally in one tile", "diagonally", "along rows", "along columns", "not at all"],
)
def test_a_band_that_winds_around_the_torus(tmp_path, chosen, winds, tile):
    """One component that meets itself; a slope is found in the directions in which a path goes around, and no others."""
    v, u = np.mgrid[:60, :72]
    slopes = 0.1 + 0.2 * np.sin(2 * np.pi * u / 72 + 1), 0.2 * np.cos(2 * np.pi * (v / 60 + 2 * u / 72)) - 0.07
    normals = _unit(np.stack([slopes[0], -slopes[1], np.ones((60, 72))], axis=-1))
    report, difference = compared(tmp_path, normals, chosen(v, u), tile=tile, preset="paper")
    assert difference < 1e-6
    assert tuple(abs(one) > 1e-6 for one in report.slope) == winds


def test_a_component_within_a_tile_is_filled_as_in_memory(tmp_path):
    """Where the components of tiles do not meet, around the borders neither, the depth is the same to rounding.

    No tile has a valid pixel at its sides, which hidden jumps are settled by.
    """
    normals, mask = texture(80, 96), np.ones((80, 96), dtype=bool)
    for line in (0, 39, 40, 79):
        mask[line] = False
    for line in (0, 39, 40, 79, 80, 95):
        mask[:, line] = False
    report, difference = compared(tmp_path, normals, mask, angle=180.0, slope="steps")
    assert report.rounds == []
    assert difference < 1e-9


@pytest.mark.parametrize(
    ("shape", "settings"),
    [((61, 72), {"angle": "auto"}), ((50, 81), {"angle": 60.0, "preset": "paper"}), ((6, 90), {"angle": "auto"})],
)
def test_a_continuous_texture_is_filled_as_in_memory(tmp_path, shape, settings):
    """One component whatever the angle, and corrected for the curvature between pixels as Fourier transforms do it."""
    v, u = np.mgrid[: shape[0], : shape[1]] * 2 * np.pi / np.array(shape)[:, None, None]
    along = 0.1 + 0.5 * np.cos(6 * u + v) + 0.3 * np.cos(9 * u)
    down = (0.5 * np.cos(6 * u + v) / 6 + 0.4 * np.cos(2 * v + 1)) * shape[1] / shape[0]
    noise = 0.004 * np.random.default_rng(0).standard_normal((*shape, 3))
    normals = _unit(np.stack([along, -down, np.ones(shape)], axis=-1) + noise)
    report, difference = compared(tmp_path, normals, exact=False, **settings)
    assert report.n_components == 1
    assert difference < 1e-6
    assert compared(tmp_path, normals, exact=True, **settings)[1] > 1e-4, "the correction makes no difference"


def test_interrupted_runs_go_on_to_the_same_bytes(tmp_path):
    """Also while the planes are filled that the slope is found by, and after that is done."""
    normals, mask = texture(40, 48), moats(40, 48)

    def stored(folder):
        return {path.name: path.read_bytes() for path in (folder / "depth.zarr").rglob("*") if path.is_file()}

    def integrated(folder, events):
        seen = []

        def watch(*event):
            seen.append(event)
            if len(seen) > events:
                raise InterruptedError

        scale.integrate(
            normals, mask, out=folder / "depth.zarr", tile=40, workers=1, wrap="both", preset="paper", resume=True,
            progress=watch,
        )  # fmt: skip
        return seen

    total = len(integrated(tmp_path / "a", 10**6))
    for events in (20, 60, total // 2):
        with pytest.raises(InterruptedError):
            integrated(tmp_path / "b", events)
    integrated(tmp_path / "b", 10**6)
    assert stored(tmp_path / "b") == stored(tmp_path / "a")


def test_the_command_line_takes_wrap_and_slope(tmp_path, monkeypatch, capsys):
    """`quotientgraph integrate texture.zarr --wrap both --slope keep` writes what the function writes."""
    monkeypatch.chdir(tmp_path)
    normals = texture(60, 72)
    zarr.open_group("map.zarr", mode="w").create_array("normals", data=normals)
    command = ["integrate", "map.zarr", "-o", "depth.zarr", "--tile", "40", "--workers", "1", "--frame", "opengl"]
    assert main([*command, "--wrap", "both", "--slope", "keep", "--preset", "paper", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["wrap"] == "both"
    slope = json.loads((tmp_path / "report.json").read_text())["slope"]
    result = QuotientGraph.from_normals(normals, wrap="both", slope="keep", preset="paper", check=False).optimize()
    assert np.allclose(slope, result.slope)
    depth = zarr.open_array("depth.zarr", mode="r")[:]
    assert np.abs(depth - result.depth).max() < 0.01 * np.ptp(result.depth)


def test_a_slope_is_worth_a_warning(tmp_path):
    """It names where the slope is found, and a wrong choice is refused."""
    _, report = scale.integrate(texture(40, 48), out=tmp_path / "depth.zarr", tile=40, workers=1, wrap="both")
    assert any("that slope was removed (see `report.slope`" in text for text in report.warnings)
    with pytest.raises(ValueError, match=r"slope='flat' is not known; use one of 'remove'"):
        scale.integrate(texture(40, 48), out=tmp_path / "other.zarr", wrap="both", slope="flat")


def blob(shape, latitude=(-90, 90)):
    """The inside of a blob with two walls that lean, one of them over a pole, all around a camera; with its ray map."""
    camera = RayMap.equirectangular(shape, latitude=latitude)
    rays = camera.rays(shape)
    x, y, z = np.moveaxis(rays, -1, 0)
    lean = [0.25 * np.sin(3 * y + 1), 0.2 * np.sin(2 * x + 2 * z), 0.25 * np.cos(3 * x)]
    lean[0] += 0.5 * (x + 0.3 * z > 0.25)
    lean[2] += 0.4 * ((y < -0.55) & (z > -0.2))
    mask = np.random.default_rng(1).random(shape) > 0.005
    return _unit((np.stack(lean, axis=-1) - rays) * [1, -1, -1]), mask, camera


@pytest.mark.parametrize(
    ("shape", "tile", "latitude", "by_formula", "settings"),
    [
        ((49, 98), 40, (-90, 90), True, {"preset": "paper"}),
        ((49, 98), 56, (-90, 90), False, {}),
        ((49, 98), 104, (-90, 90), True, {"angle": 30.0}),
        ((40, 90), 48, (-40, 90), False, {"preset": "paper"}),
        ((40, 91), 48, (-70, 50), True, {"preset": "paper"}),
    ],
    ids=["paper", "best", "one tile", "one pole", "odd width"],
)
def test_a_panorama_meets_at_its_poles(tmp_path, shape, tile, latitude, by_formula, settings):
    """Each pixel at a pole is a neighbour of the one half a turn away, and of those beside it, as in memory."""
    normals, mask, camera = blob(shape, latitude)
    view = scale.RayFormula.equirectangular(shape, latitude=latitude) if by_formula else camera
    report, difference = compared(tmp_path, normals, mask, (view, camera), tile=tile, wrap="auto", **settings)
    assert difference < 1e-6
    assert 0 < len(report.rounds) < 25
    assert any("rows at the poles" in text for text in report.warnings) == (90 in latitude)


@pytest.mark.parametrize(("shape", "tile"), [((56, 70), 40), ((50, 61), 64), (None, 40)], ids=["tiles", "one", "poles"])
def test_symmetric_steps_go_on_beyond_borders(tmp_path, monkeypatch, shape, tile):
    """Corrections of windows are added up at each copy of a pixel; a tile may see itself, also over a pole."""
    monkeypatch.setattr(run, "_STALLED", 0.0)
    if shape is None:
        normals, mask, camera = blob((33, 66))
        report, difference = compared(tmp_path, normals, mask, (camera, camera), tile=tile, wrap="auto", preset="paper")
    else:
        report, difference = compared(tmp_path, texture(*shape), tile=tile, preset="paper")
    assert difference < 1e-6
    assert report.tasks["local"][0] > 0
    assert len(report.rounds) < 50


def test_steps_that_would_cost_energy_do_not_end_rounds():
    """Gains below zero mean that steps are not symmetric enough. Rounding is what is left of a millionth of a millionth."""
    assert not rounds.at_rounding([1.0, -1e-5, -1e-6])
    assert not rounds.at_rounding([1.0, 1e-12, 9e-13])
    assert rounds.at_rounding([1.0, 1e-15, -9e-16])


def test_the_coarse_grid_of_a_panorama_with_poles_is_one_block(tmp_path, monkeypatch):
    """The node of a pole concerns all columns; without poles there are several blocks."""
    monkeypatch.setattr(blocks, "NODES", 1)
    source = Source.from_arrays(np.ones((96, 192, 3), np.float32), None)
    for wrap, n in ((Wrap(x=True), 2), (Wrap(x=True, top=True), 1)):
        work = Work(tmp_path, Tiling((96, 192), 48, 16, wrap))
        assert blocks.n_blocks(Job(source, work, Orthographic(), "opengl", 8, 8)) == n


def test_rays_by_formula_have_the_poles_of_the_array():
    """At the top, at the bottom, at both, or not at all."""
    for latitude in ((-90, 90), (-90, 10), (-10, 90), (-40, 40)):
        camera = RayMap.equirectangular((40, 80), latitude=latitude)
        formula = scale.RayFormula.equirectangular((40, 80), latitude=latitude)
        assert formula.wrap == Wrap.from_name("auto", camera, (40, 80))


@pytest.mark.parametrize(("shape", "tile", "reach"), [((50, 70), 40, 16), ((33, 20), 32, 48), ((4, 10), 32, 16)])
@pytest.mark.parametrize("name", ["x", "y", "both", "auto"])
def test_tiles_list_every_edge_once(tmp_path, shape, tile, reach, name):
    """The edges of all tiles, and the numbers that sort them, are those of the graph in memory; windows find them again."""
    camera = RayMap.equirectangular(shape) if name == "auto" else Orthographic()
    mask = np.random.default_rng(1).random(shape) > 0.2
    normals = np.tile(np.float32([0, 0, 1]), (*shape, 1))
    if name == "auto":
        normals = -camera.rays(shape) * [1, -1, -1]
    graph = QuotientGraph.from_normals(normals, mask, camera, wrap=name, check=False).pixels
    tiling = Tiling(shape, tile, reach, graph.map.wrap)
    assert tiling.wrap.top == tiling.wrap.bottom == (name == "auto")
    job = Job(Source.from_arrays(normals, mask), Work(tmp_path, tiling), camera, "opengl", 8, 8)
    found = []
    for k in range(tiling.n_tiles):
        window = Window.read(job, k, reach)
        edges = np.append(np.flatnonzero(window.inside), window.seam)
        tail, head = (window.positions(end[edges]) for end in (window.pixels.tail, window.pixels.head))
        found.append(np.stack([window.keys(edges), np.minimum(tail, head), np.maximum(tail, head)]))
        row, column, step = tiling.edges(window.box, tail, head)
        below, beside = row + (step > 0), column + np.where(step > 0, step - 2, 1)
        inside = (below < window.box.shape[0]) & (beside >= 0) & (beside < window.box.shape[1])
        assert inside.sum() >= len(edges)
        ends = [window.pixels.map.index[v[inside], u[inside]] for v, u in ((row, column), (below, beside))]
        listed = set(zip(window.pixels.tail.tolist(), window.pixels.head.tolist(), strict=True))
        assert set(zip(*(end.tolist() for end in ends), strict=True)) <= listed
    key, tail, head = np.concatenate(found, axis=1)
    order = np.argsort(key)
    assert np.array_equal(tail[order], graph.map.position[graph.tail])
    assert np.array_equal(head[order], graph.map.position[graph.head])


def test_the_coarse_grid_closes_over_poles():
    """Its functions are the same at the two places of a pixel, and all of a row at a pole is one node."""
    grid = Grid((40, 90), 16, Wrap(x=True, top=True, bottom=True))

    def values(row, column):
        (v, p), (u, q) = grid.cells(0, np.array(row)), grid.cells(1, np.array(column))
        found = np.zeros(grid.size)
        for down, right, share in ((0, 0, (1 - p) * (1 - q)), (0, 1, (1 - p) * q), (1, 0, p * (1 - q)), (1, 1, p * q)):
            found[grid.keys(np.int64(0), v + down, u + right)] += share
        return found

    for row, column in ((0, 3), (5, 80), (16, 44), (17, 0)):
        assert np.allclose(values(row, column), values(-1 - row, column + 45))
        assert np.allclose(values(39 - row, column), values(40 + row, column - 45))
        assert np.isclose(values(row, column).sum(), 1)
    for row in (0, 39):
        assert np.allclose(values(row, 3), values(row, 50))


def test_the_coarse_grid_closes():
    """Its functions add up to 1, and those of a pixel and of the same one a turn further are the same."""
    grid = Grid((50, 37), 16, Wrap(x=True, y=True))
    assert grid.nodes == (3, 2)
    for axis, size in enumerate(grid.shape):
        node, way = grid.cells(axis, np.arange(size))
        further, same = grid.cells(axis, np.arange(size) + 2 * size)
        assert np.array_equal(further % grid.nodes[axis], node)
        assert np.array_equal(way, same)
        assert way.min() == 0
        assert way.max() < 1
        assert (np.diff(node + way) > 0).all()


def test_small_components_across_a_border_need_no_coarse_grid(tmp_path):
    """The reach of a component is measured the short way around."""
    mask = np.zeros((64, 80), dtype=bool)
    mask[-3:], mask[:2] = True, True
    mask[:, 5:-5] = False
    normals = np.tile(np.float32([0, 0, 1]), (64, 80, 1))
    scale.integrate(
        normals, mask, out=tmp_path / "depth.zarr", tile=40, workers=1, wrap="both", preset="paper", keep=True
    )
    found = Components.from_tables(Work(tmp_path / "depth.work", Tiling((64, 80), 40, 16, Wrap(x=True, y=True))))
    assert found.reach.tolist() == [10]
    assert found.crossing.tolist() == [True]
    assert found.box.ravel().tolist() == [0, 0, 63, 79]


def test_groups_go_on_beyond_borders(tmp_path, monkeypatch):
    """Groups of tiles of any size give the same bytes; the filling, which comes after them, need not be exact."""
    normals, mask = texture(102, 203), moats(102, 203)
    options = {"tile": 48, "workers": 1, "wrap": "both", "angle": 12.0, "slope": "steps", "tolerance": 0.1}
    depth, report = scale.integrate(normals, mask, out=tmp_path / "a" / "depth.zarr", **options)
    monkeypatch.setattr(groups, "SIDE", 8)
    again, _ = scale.integrate(normals, mask, out=tmp_path / "b" / "depth.zarr", **options)
    assert report.n_components > 5
    assert np.array_equal(again.compute(), depth.compute(), equal_nan=True)


@pytest.mark.slow
def test_blocks_go_on_beyond_borders(tmp_path, monkeypatch):
    """A coarse grid in blocks gives the depth of one block. The last tiles are narrower than a cell of the grid may be."""
    normals, mask = texture(102, 203), moats(102, 203)
    options = {"tile": 48, "workers": 1, "wrap": "both", "angle": 12.0, "slope": "steps", "preset": "paper"}
    depth, one = scale.integrate(normals, mask, out=tmp_path / "a" / "depth.zarr", **options)
    monkeypatch.setattr(blocks, "NODES", 1)
    again, many = scale.integrate(normals, mask, out=tmp_path / "b" / "depth.zarr", **options)
    depth = depth.compute()
    assert one.tasks["block"][0] == 1
    assert many.tasks["block"][0] == 6
    assert len(many.rounds) < 1.5 * len(one.rounds)
    assert 0 < np.nanmax(np.abs(again.compute() - depth)) < 1e-7 * np.ptp(depth[np.isfinite(depth)])


@pytest.mark.parametrize(
    ("camera", "wrap", "text"),
    [
        (scale.RayFormula.equirectangular((48, 96)), "y", r"wrap='y': .*formula.*RayMap"),
        (scale.RayFormula.fisheye(90, (48, 96)), "x", r"wrap='x': .*formula.*wrap=\"auto\""),
        (RayMap.fisheye(90, (48, 96)), "x", r"wrap='x': the rays at opposite borders.*wrap=\"none\""),
    ],
)
def test_rays_that_do_not_close_are_refused(tmp_path, camera, wrap, text):
    """The error says what would do, and nothing is written."""
    with pytest.raises(ValueError, match=text):
        scale.integrate(np.ones((48, 96, 3), np.float32), None, camera, tmp_path / "depth.zarr", wrap=wrap)
    assert not list(tmp_path.iterdir())
