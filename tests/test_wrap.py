"""Images that wrap: edges of G0 around the borders, closed surfaces of tiles, the net slope, closed meshes, exports."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from quotientgraph import Orthographic, Pinhole, QuotientGraph, RayMap, integrate, scenes
from quotientgraph.geometry.normals import NormalMap
from quotientgraph.geometry.wrapping import Wrap
from quotientgraph.graph import quotient
from quotientgraph.graph.pixels import PixelGraph

masks = arrays(bool, st.tuples(st.integers(3, 7), st.integers(3, 7))).filter(np.any)
wraps = st.sampled_from(["x", "y", "both"])


def grid(mask, wrap, connectivity=8):
    """G0 of a flat tile seen through a mask."""
    normals = np.tile([0.0, 0.0, -1.0], (*mask.shape, 1))
    return PixelGraph.from_map(NormalMap.from_array(normals, mask, frame="opencv", wrap=wrap), connectivity)


def around(wrap):
    return wrap in ("x", "both"), wrap in ("y", "both")


def error(result, scene):
    """Standard deviation of the error, as a share of the range of the depth."""
    return np.nanstd(result.depth - scene.depth) / np.ptp(scene.depth)


def line_residuals(result):
    """RMS residual of the edges from each column to the next, and from each row to the next; the seam comes last."""
    pixels = result.graph.pixels
    place, out = np.divmod(pixels.map.position, pixels.map.shape[1]), []
    for at, step, n in zip(place, pixels.steps(), pixels.map.shape, strict=True):
        line = np.where(step == 1, at[pixels.tail], at[pixels.head])[step != 0]
        square = np.bincount(line, result.residual[step != 0] ** 2, n) / np.bincount(line, minlength=n)
        out.append(np.sqrt(square))
    return out


@settings(max_examples=60, deadline=None)
@given(masks, wraps, st.sampled_from([4, 8]))
def test_every_pair_of_neighbours_once(mask, wrap, connectivity):
    """The edges are the pairs of valid pixels at distance one on the torus or cylinder, each once, sorted by tail."""
    graph = grid(mask, wrap, connectivity)
    place = graph.map.position
    found = list(zip(place[graph.tail].tolist(), place[graph.head].tolist()))
    height, width = mask.shape
    wanted = set()
    for v, u in np.argwhere(mask):
        for w, x in np.argwhere(mask):
            dv, du = abs(v - w), abs(u - x)
            du = min(du, width - du) if around(wrap)[0] else du
            dv = min(dv, height - dv) if around(wrap)[1] else dv
            near = max(dv, du) == 1 if connectivity == 8 else dv + du == 1
            if near and (v, u) < (w, x):
                wanted.add((v * width + u, w * width + x))
    assert len(found) == len(set(found))
    assert set(found) == wanted
    assert (graph.tail < graph.head).all()
    assert (np.diff(graph.tail) >= 0).all()


@settings(max_examples=40, deadline=None)
@given(masks, wraps)
def test_opposite_neighbours_and_steps(mask, wrap):
    """From the tail by (dv, du) one reaches the head, and once more the pixel beyond it, around the border or not."""
    graph = grid(mask, wrap)
    beyond_tail, beyond_head = graph.opposites(np.arange(graph.n_edges))
    down, right = graph.steps()
    assert max(np.abs(down).max(initial=0), np.abs(right).max(initial=0)) <= 1
    for e in range(graph.n_edges):
        tail = np.array(divmod(int(graph.map.position[graph.tail[e]]), mask.shape[1]))
        for times, found in ((1, graph.head[e]), (2, beyond_head[e]), (-1, beyond_tail[e])):
            at = tail + times * np.array([down[e], right[e]])
            inside = True
            for axis, wraps_here in ((0, around(wrap)[1]), (1, around(wrap)[0])):
                at[axis] %= mask.shape[axis] if wraps_here else 10**6
                inside &= at[axis] < mask.shape[axis]
            assert found == (graph.map.index[tuple(at)] if inside else -1)


def test_without_wrap_nothing_changes():
    """wrap="none" and the default give the edges, the jumps and the depth that there were before."""
    scene = scenes.make("boxes", shape=(40, 50))
    plain = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv")
    none = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", wrap="none")
    assert not plain.pixels.map.wrap
    for name in ("tail", "head"):
        np.testing.assert_array_equal(getattr(plain.pixels, name), getattr(none.pixels, name))
    np.testing.assert_array_equal(plain.jump, none.jump)
    assert plain.optimize().slope == (0.0, 0.0)


@pytest.mark.parametrize("kind", ["waves", "fractal"])
@pytest.mark.parametrize("bits", [None, 8])
def test_a_smooth_tile_is_recovered(kind, bits):
    """RMS error below 0.1 % of the range, exact or in 8 bits; no line of pixels is worse at the seam than inside."""
    scene = scenes.texture(kind, shape=(160, 128), relief=0.1)
    given_scene = scene if bits is None else scene.quantised(bits)
    result = integrate(given_scene.normals, frame="opencv", wrap="both")
    assert error(result, scene) < 1e-3
    for residual in line_residuals(result):
        assert residual[-1] <= 1.05 * residual[:-1].max() + 1e-12


@pytest.mark.parametrize("kind", ["waves", "fractal"])
@pytest.mark.parametrize("method", ["components", "fft"])
def test_shifting_a_smooth_tile_shifts_its_surface(kind, method):
    """To 1e-9, wherever the tile is cut."""
    scene = scenes.texture(kind, shape=(96, 128), relief=0.1)
    whole = integrate(scene.normals, frame="opencv", wrap="both", method=method).depth
    for shift in ((1, 0), (17, 63), (95, 127)):
        moved = integrate(np.roll(scene.normals, shift, (0, 1)), frame="opencv", wrap="both", method=method).depth
        np.testing.assert_allclose(moved, np.roll(whole, shift, (0, 1)), atol=1e-9)


@pytest.mark.parametrize("slope", ["remove", "steps"])
def test_bricks_tile_with_their_steps(slope):
    """Bricks with vertical sides: the seam is no rougher than the inside. They are tilted, on average, too; that is kept
    with slope="steps", and each brick then has its shape."""
    scene = scenes.texture("bricks", shape=(180, 180), relief=0.15)
    result = integrate(scene.normals, frame="opencv", wrap="both", slope=slope)
    assert result.graph.n_components > 5
    for residual in line_residuals(result):
        assert residual[-1] <= 1.05 * residual[:-1].max()
    if slope == "steps":
        left = result.depth - scene.depth
        for brick in (left[35:50, 38:80], left[5:25, 8:50], left[65:85, 128:170]):
            assert np.ptp(brick) < 0.02 * np.ptp(scene.depth)


@pytest.mark.parametrize("wrap", ["x", "y"])
def test_a_cylinder_closes_in_one_direction(wrap):
    """A surface that tiles in one direction only is closed there and free in the other."""
    scene = scenes.texture("waves", shape=(96, 128))
    axis = 1 if wrap == "x" else 0
    ramp = 0.2 * np.indices(scene.shape)[1 - axis]
    normals = scene.normals / -scene.normals[..., 2:]
    normals[..., 1 - (1 - axis)] += 0.2
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    for method in ("components", "poisson", "fft"):
        result = integrate(normals, frame="opencv", wrap=wrap, method=method)
        left = result.depth - scene.depth - ramp
        assert left.std() < 0.02 * np.ptp(scene.depth)
        assert result.slope == pytest.approx((0, 0), abs=1e-9)


@pytest.mark.parametrize("hole", [False, True])
@pytest.mark.parametrize("kind", ["waves", "bricks"])
def test_the_net_slope_is_removed_and_reported(kind, hole):
    """A tilted tile gives the surface of the level one, and the tilt; the same through a mask with a hole."""
    scene = scenes.texture(kind, shape=(96, 96))
    tilted = scene.normals / -scene.normals[..., 2:] + [0.1, -0.07, 0]
    tilted /= np.linalg.norm(tilted, axis=-1, keepdims=True)
    mask = np.ones(scene.shape, dtype=bool)
    mask[40:60, 30:50] = not hole
    level = integrate(scene.normals, mask, frame="opencv", wrap="both", angle=180)
    result = integrate(tilted, mask, frame="opencv", wrap="both", angle=180)
    np.testing.assert_allclose(np.subtract(result.slope, level.slope), (0.1, -0.07), atol=1e-6)
    np.testing.assert_allclose(result.depth, level.depth, atol=0.05 * np.ptp(scene.depth))
    assert any("slope" in text for text in result.warnings)


def test_a_slope_can_be_kept():
    """The depth then rises by the slope, and a tile's far border is a whole rise above the near one."""
    scene = scenes.texture("waves", shape=(64, 64))
    tilted = scene.normals / -scene.normals[..., 2:] + [0.1, 0, 0]
    tilted /= np.linalg.norm(tilted, axis=-1, keepdims=True)
    keep, remove = (integrate(tilted, frame="opencv", wrap="both", slope=slope) for slope in ("keep", "remove"))
    rise = (keep.depth - remove.depth)[0]
    np.testing.assert_allclose(np.diff(rise), 0.1, atol=1e-9)
    z = keep.mesh().vertices[:, 2].reshape(65, 65)
    np.testing.assert_allclose(z[:, -1] - z[:, 0], 6.4, atol=1e-9)
    np.testing.assert_allclose(z[-1], z[0], atol=1e-9)


def test_steps_may_undo_a_slope():
    """Roof tiles: ramps that end in a vertical step. slope="steps" keeps them as steep as their normals say."""
    u = np.arange(96)
    flat = u % 48 >= 30
    normals = np.zeros((40, 96, 3))
    normals[...] = np.where(flat[:, None], [0.0, 0.0, -1.0], np.array([0.3, 0.0, -1.0]) / np.hypot(0.3, 1))
    result = integrate(normals, frame="opencv", wrap="both", slope="steps")
    assert result.slope == (0.0, 0.0)
    rise = np.diff(result.depth, axis=1)
    np.testing.assert_allclose(rise[:, :29], 0.3, atol=1e-6)
    np.testing.assert_allclose(rise[:, 30:47], 0.0, atol=1e-6)
    assert np.abs(result.residual).max() > 3  # what goes around is undone in steps
    assert integrate(normals, frame="opencv", wrap="both").slope[0] == pytest.approx(0.3 * 30 / 48, rel=0.05)


def test_the_mesh_of_a_tile_reaches_its_far_border():
    """(H + 1)·(W + 1) vertices; the last column repeats the first, one period on, in x, height and texture."""
    scene = scenes.texture("waves", shape=(24, 32))
    mesh = integrate(scene.normals, camera=Orthographic(0.5), frame="opencv", wrap="both").mesh()
    assert len(mesh.vertices) == 25 * 33
    assert len(mesh.faces) == 2 * 24 * 32
    points, uv = mesh.vertices.reshape(25, 33, 3), mesh.uv.reshape(25, 33, 2)
    np.testing.assert_allclose(points[:, -1] - points[:, 0], np.tile([16.0, 0, 0], (25, 1)), atol=1e-12)
    np.testing.assert_allclose(points[-1] - points[0], np.tile([0, 12.0, 0], (33, 1)), atol=1e-12)
    np.testing.assert_allclose(uv[:, -1] - uv[:, 0], np.tile([1.0, 0], (25, 1)), atol=1e-12)
    assert (np.diff(uv[..., 0], axis=1) > 0).all()


def test_reports_and_mesh_files(tmp_path):
    """The report and the mesh of a tile with steps, and of a panorama, can be written."""
    scene = scenes.texture("bricks", shape=(60, 60), relief=0.3)
    shape = (32, 64)
    room = scenes.make("room", shape, RayMap.equirectangular(shape))
    for name, result in {
        "tile": integrate(scene.normals, frame="opencv", wrap="both"),
        "room": integrate(room.normals, room.mask, room.camera, "opencv"),
    }.items():
        assert result.broken.any()
        for suffix in (".html", ".glb", ".ply", ".exr"):
            result.save(tmp_path / f"{name}{suffix}")
            assert (tmp_path / f"{name}{suffix}").stat().st_size > 1000


def test_cuts_around_the_border():
    """A broken edge across the seam removes the triangles there, and no others."""
    scene = scenes.texture("waves", shape=(24, 32))
    result = integrate(scene.normals, frame="opencv", wrap="x")
    whole = result.mesh()
    pixels = result.graph.pixels
    down, right = pixels.steps()
    seam = (right != 0) & (np.abs(np.diff(np.stack([pixels.tail, pixels.head]) % 32, axis=0)[0]) > 1)
    assert len(whole.faces) == 2 * 23 * 32
    result.__dict__["residual"] = np.where(seam, 100.0, 0.0)
    assert len(result.mesh().faces) == 2 * 23 * 31
    assert down.max() == 1


def test_exports_priors_anchors_and_merging(monkeypatch, tmp_path):
    """What can be done with a graph can be done with one that wraps."""
    scene = scenes.texture("bricks", shape=(60, 60), relief=0.3)
    graph = QuotientGraph.from_normals(scene.normals, frame="opencv", wrap="both")
    assert graph.to_igraph().vcount() == graph.to_networkx().number_of_nodes() == graph.n_components
    assert graph.contract(graph.cut).n_components == 1
    graph.save(tmp_path / "graph.npz")
    loaded = QuotientGraph.load(tmp_path / "graph.npz")
    assert loaded.pixels.map.wrap == graph.pixels.map.wrap
    assert loaded.pixels.map.slope == graph.pixels.map.slope
    np.testing.assert_array_equal(loaded.pixels.head, graph.pixels.head)
    np.testing.assert_array_equal(loaded.jump, graph.jump)
    placed = graph.optimize(prior=scene.depth)
    assert np.abs(placed.depth - scene.depth).mean() < 0.05 * np.ptp(scene.depth)
    anchored = graph.optimize(anchors=[(5, 5, 3.0)])
    assert anchored.depth[5, 5] == pytest.approx(3.0, abs=0.1)
    assert graph.optimize(merge_every=3).levels[-1].n_components < graph.n_components
    kept = graph.optimize().depth
    monkeypatch.setattr(quotient, "LEAN_EDGES", 10)
    lean = QuotientGraph.from_normals(scene.normals, frame="opencv", wrap="both")
    assert isinstance(lean.jump, quotient.PlanarJumps)
    np.testing.assert_allclose(lean.optimize().depth, kept, atol=1e-9)


@pytest.mark.parametrize("method", ["pixels", "logdepth", "logdepth-d", "bini", "poisson", "fft"])
def test_every_method_wraps(method):
    """The peers find the same closed surface."""
    scene = scenes.texture("waves", shape=(64, 64))
    result = integrate(scene.normals, frame="opencv", wrap="both", method=method)
    assert error(result, scene) < 5e-3


@pytest.mark.parametrize(
    ("camera", "wrap", "words"),
    [
        (Pinhole(40, 40, 8, 8), "x", "pinhole"),
        (Orthographic(), "z", "not known"),
        (RayMap.fisheye(120, (16, 16)), "x", "farther apart"),
        (RayMap.equirectangular((16, 32)), "y", "farther apart"),
    ],
)
def test_what_cannot_wrap_is_refused(camera, wrap, words):
    """The error names the argument and the remedy."""
    shape = (16, 32) if isinstance(camera, RayMap) and camera.directions.shape[1] == 32 else (16, 16)
    with pytest.raises(ValueError, match=words) as caught:
        Wrap.from_name(wrap, camera, shape)
    assert "wrap" in str(caught.value)
    assert "use" in str(caught.value)


def test_small_images_do_not_wrap():
    """Two pixels cannot go around: both neighbours would be the same."""
    with pytest.raises(ValueError, match="at least 3 pixels wide"):
        integrate(np.tile([0.0, 0.0, -1.0], (4, 2, 1)), frame="opencv", wrap="x")
    with pytest.raises(ValueError, match="slope"):
        integrate(np.tile([0.0, 0.0, -1.0], (4, 4, 1)), frame="opencv", wrap="x", slope="sideways")
