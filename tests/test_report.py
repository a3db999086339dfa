"""The report: pictures, the self-contained page, notebooks, figures; at the end, the page in a browser."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import re
import select
import shutil
import subprocess
import sys
import time
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest

from quotientgraph import QuotientGraph, integrate, report, scenes
from quotientgraph.cli import main
from quotientgraph.geometry.camera import Orthographic, Pinhole, RayMap
from quotientgraph.geometry.normals import NormalMap
from quotientgraph.graph.pixels import PixelGraph
from quotientgraph.io import write_image
from quotientgraph.report.charts import bar_chart, line_chart
from quotientgraph.report.color import Scale, brief, color_ramp
from quotientgraph.report.comparison import angle_to_input, depth_error, prior_as_depth
from quotientgraph.report.page import report_html
from quotientgraph.report.pictures import crop_of, stable_labels
from quotientgraph.report.readings import pack_readings, readings_of
from quotientgraph.report.regions import doubtful_regions
from quotientgraph.report.viewer_mesh import grid_mesh, pack

SECTIONS = [
    "warnings",
    "surface",
    "input",
    "components",
    "depth",
    "convergence",
    "energy",
    "count",
    "time",
    "facts",
]


# ---- stand-ins for a Reconstruction -----------------------------------------------------------------------


def made(depth, normals=None, camera=None, labels=None, sheets=None, n_steps=12, **changes):
    """A result with the attributes that reports read; opengl normals, facing the viewer by default.

    The surface is broken where `sheets`, an (H, W) array, changes.
    """
    depth = np.asarray(depth, dtype=np.float64)
    if normals is None:
        normals = np.broadcast_to([0.0, 0.0, 1.0], (*depth.shape, 3))
    source = NormalMap.from_array(np.array(normals), np.isfinite(depth), camera or Orthographic())
    depth = np.where(source.index >= 0, depth, np.nan)
    if labels is None:
        labels = [np.where(np.isfinite(depth), np.indices(depth.shape).sum(axis=0) // 20, -1)]
        labels.append(np.where(np.isfinite(depth), 0, -1))
    index = source.index
    pairs = [(index[:, :-1], index[:, 1:]), (index[:-1], index[1:])]
    tail, head = (np.concatenate([p[k][(p[0] >= 0) & (p[1] >= 0)] for p in pairs]) for k in (0, 1))
    sheet = (np.zeros(depth.shape) if sheets is None else sheets).ravel()[source.position]
    levels = [
        SimpleNamespace(
            label_image=lambda image=image: image.astype(np.int32),
            n_components=len(np.unique(image[image >= 0])),
            level=k,
            pixels=PixelGraph(source, 4, tail, head),
        )
        for k, image in enumerate(labels)
    ]
    history = [
        SimpleNamespace(
            iteration=i,
            level=int(i > n_steps // 2 and len(levels) > 1),
            n_components=levels[int(i > n_steps // 2 and len(levels) > 1)].n_components,
            energy=0.7**i,
            solver_iterations=9,
            seconds=0.01,
        )
        for i in range(1, n_steps + 1)
    ]
    values = {
        "depth": depth,
        "points": source.camera.points(depth),
        "graph": levels[-1],
        "levels": levels,
        "history": history,
        "seconds": {"graph": 0.02, "components": 0.01, "filling": 0.3, "scales": 1.2},
        "converged": True,
        "warnings": [],
        "broken": sheet[tail] != sheet[head],
        "discontinuity": np.abs(np.nan_to_num(depth) * 1e-4) + np.where(np.isfinite(depth), 0, np.nan),
        "confidence": None,
    }
    return SimpleNamespace(**values | changes)


def _step(iteration, energy):
    return SimpleNamespace(
        iteration=iteration, level=0, n_components=1, energy=energy, solver_iterations=None, seconds=0.0
    )


def ball(height=120, width=150, **changes):
    """A ball in front of a wall, seen by a pinhole camera."""
    camera = Pinhole(width, width, (width - 1) / 2, (height - 1) / 2)
    rays = camera.rays((height, width))
    centre, radius = np.array([0.0, 0.0, 4.0]), 1.2
    b, c = rays @ centre, centre @ centre - radius**2
    root = b**2 - np.sum(rays**2, axis=-1) * c
    hit = root > 1e-3
    near = (b - np.sqrt(np.maximum(root, 0))) / np.sum(rays**2, axis=-1)
    depth = np.where(hit, near, 6.0)
    points = camera.points(depth)
    normals = np.where(hit[..., None], (points - centre) / radius, [0.0, 0.0, -1.0]) * [1, -1, -1]
    fine = np.where(hit, 1 + (np.indices(hit.shape)[0] // 9), 0)
    return made(depth, normals, camera, [fine, hit.astype(int)], hit, **changes)


def step(height=20, width=30, camera=None, jump=5.0):
    """Two walls that face the viewer, the right one behind the left."""
    depth = np.full((height, width), 40.0)
    depth[:, width // 2 :] += jump
    return made(depth, camera=camera, sheets=depth)


ODD = {
    "one pixel": lambda: made(np.full((1, 1), 2.0)),
    "one row": lambda: made(np.arange(1.0, 40)[None]),
    "one column": lambda: made(np.arange(1.0, 40)[:, None]),
    "flat": lambda: made(np.full((30, 40), 5.0), discontinuity=np.zeros((30, 40))),
    "zero depth": lambda: made(np.zeros((9, 9))),
    "negative depth": lambda: made(-np.arange(81.0).reshape(9, 9)),
    "huge range": lambda: made(np.logspace(-9, 12, 400).reshape(20, 20), camera=Pinhole(20, 20, 9.5, 9.5)),
    "huge values": lambda: made(np.linspace(-1e100, 1e100, 400).reshape(20, 20)),
    "two islands": lambda: made(np.where(np.arange(40) % 20 < 8, 1.0, np.nan) * np.ones((9, 1))),
    "no history": lambda: made(np.ones((9, 9)), n_steps=0, history=[], seconds={}, converged=False),
    "one step": lambda: made(np.ones((9, 9)), n_steps=1),
    "no residual": lambda: made(np.ones((9, 9)), discontinuity=None),
    "confidence": lambda: made(np.ones((9, 9)), confidence=np.linspace(0, 1, 81).reshape(9, 9)),
    "no levels": lambda: made(np.ones((9, 9)), levels=[]),
    "zero energy": lambda: made(np.ones((9, 9)), history=[_step(i, e) for i, e in enumerate((0.0, None, np.nan, 0))]),
}


# ---- pictures ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ODD)
def test_pictures_are_uint8_images_of_the_same_size(name):
    result = ODD[name]()
    shape = (*result.depth.shape, 3)
    source = result.graph.pixels.map
    for picture in (
        report.depth_picture(result.depth),
        report.depth_picture(result.depth, shade=False),
        report.label_picture(result.graph.label_image()),
        report.normal_picture(source.image(source.normals)),
        report.shaded_picture(result),
        report.residual_picture(result.depth),
    ):
        assert picture.shape == shape
        assert picture.dtype == np.uint8
    overview = report.overview_picture(result)
    assert overview.dtype == np.uint8
    assert overview.ndim == 3
    assert overview.shape[1] >= 3 * 1


def test_outside_is_background():
    depth = np.array([[1.0, np.nan, 3.0]])
    assert (report.depth_picture(depth)[0, 1] == 255).all()
    assert (report.depth_picture(depth, background=0)[0, 1] == 0).all()
    assert (report.label_picture(np.array([[0, -1]]))[0, 1] == 255).all()


def test_near_is_lighter_than_far():
    picture = report.depth_picture(np.linspace(1, 2, 50)[None], shade=False)[0]
    assert (np.diff(picture @ [0.2126, 0.7152, 0.0722]) < 0).all()


def test_normal_picture_has_the_usual_colours():
    normals = np.array([[[0.0, 0.0, -1.0], [1.0, 0.0, 0.0], [0.0, -1.0, 0.0]]])  # opencv: to the viewer, right, up
    assert report.normal_picture(normals)[0].tolist() == [[128, 128, 255], [255, 128, 128], [128, 255, 128]]


@pytest.mark.parametrize("name", ["depth", "residual", "confidence"])
def test_ramps_change_evenly(name):
    """Lightness is monotone and no two neighbouring colours differ by a visible jump."""
    table = color_ramp(name).astype(int)
    light = table @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(light) <= 1).all() or (np.diff(light) >= -1).all()
    assert np.abs(np.diff(table, axis=0)).max() <= 6


@pytest.mark.parametrize("bad", [np.zeros(3), np.zeros((2, 2, 2)), np.zeros((0, 4))])
def test_wrong_shapes_are_named(bad):
    with pytest.raises(ValueError, match="depth: expected an image"):
        report.depth_picture(bad)


def test_merged_components_keep_the_label_of_their_largest_part():
    fine = np.array([[0, 0, 0, 1, 2, 2, -1]])
    coarse = np.array([[1, 1, 1, 1, 0, 0, -1]])
    first, second = stable_labels(made(np.where(fine < 0, np.nan, 1.0), labels=[fine, coarse]).levels)
    assert first.tolist() == fine.tolist()
    assert second.tolist() == [[0, 0, 0, 0, 2, 2, -1]]


def test_overview_is_cropped_to_the_valid_pixels():
    depth = np.full((200, 300), np.nan)
    depth[50:90, 100:160] = 1.0
    rows, columns = crop_of(made(depth))
    assert (rows.start, rows.stop, columns.start, columns.stop) == (49, 91, 99, 161)
    assert report.overview_picture(made(depth)).shape[0] == 42


# ---- scales and charts ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [
        [0, 1],
        [5, 5],
        [0, 0],
        [1e-9, 1e9],
        [-3, 7],
        [1e-300, 1e300],
        [-1e200, 1e200],
        [],
        [np.nan],
        [1470.2, 1512.9],
    ],
)
def test_ticks_are_few_and_inside(values):
    scale = Scale.of(np.array(values, dtype=float))
    ticks = scale.ticks()
    assert 1 <= len(ticks) <= 12
    slack = 1e-6 * max(abs(scale.low), abs(scale.high))
    assert all(scale.low - slack <= t <= scale.high + slack for t in ticks)
    assert np.isfinite(scale(np.array(values, dtype=float)[~np.isnan(values)])).all()
    assert all(brief(t) for t in ticks)


def test_charts_without_data_say_so():
    assert "No iteration" in line_chart("e", [], [], x_label="iteration", y_label="energy")
    assert "No times" in bar_chart("t", {})


def test_long_histories_keep_the_last_point():
    chart = line_chart("e", range(1, 5001), list(np.logspace(0, -6, 5000)), x_label="iteration", y_label="energy")
    assert chart.count("<circle") <= 302
    assert "iteration 5,000 · 10⁻⁶" in chart


# ---- the 3-D surface --------------------------------------------------------------------------------------

FANS = {15: [0, 2, 1, 1, 2, 3], 7: [0, 2, 1], 11: [0, 3, 1], 13: [0, 2, 3], 14: [1, 2, 3]}  # as in viewer.js


def triangles(mesh):
    """(n, 3, 3) corners of the triangles that the viewer draws."""
    out = []
    for v, u in zip(*np.nonzero(mesh.cells)):
        quad = mesh.points[[v, v, v + 1, v + 1], [u, u + 1, u, u + 1]]
        out += list(quad[FANS.get(int(mesh.cells[v, u]), [])].reshape(-1, 3, 3))
    return np.array(out).reshape(-1, 3, 3)


@pytest.mark.parametrize("camera", [None, Pinhole(30, 30, 14.5, 9.5)])
@pytest.mark.parametrize("max_points", [10_000, 100])
def test_triangles_never_bridge_a_step(camera, max_points):
    result = step(camera=camera)
    mesh = grid_mesh(result, crop_of(result), max_points)
    corners = triangles(mesh)
    assert len(corners) == mesh.n_triangles > 0
    assert np.ptp(corners[..., 2], axis=1).max() < 1e-9
    assert len(np.unique(corners[..., 2].round(6))) == 2


def test_thinned_triangles_never_bridge_a_gap_of_the_mask():
    """Across masked pixels there is no edge that could be broken."""
    depth = np.full((24, 36), 40.0)
    depth[:, 18:] = 60.0
    depth[:, 17:19] = np.nan
    result = made(depth)
    mesh = grid_mesh(result, crop_of(result), 60)
    assert mesh.step > 3
    assert np.ptp(triangles(mesh)[..., 2], axis=1).max() < 1e-9


def test_smooth_surfaces_are_not_cut():
    """Of the ball only the contour is cut: a ring of about 2πr cells."""
    result = ball()
    mesh = grid_mesh(result, crop_of(result))
    missing = (120 - 1) * (150 - 1) - np.sum(mesh.cells == 15)
    assert missing < 2 * 2 * np.pi * 50
    assert np.ptp(triangles(mesh)[..., 2], axis=1).max() < 0.5 * np.ptp(mesh.points[..., 2])


def test_triangles_face_the_camera():
    result = step()
    corners = triangles(grid_mesh(result, crop_of(result))) * [1, -1, -1]
    assert (np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])[:, 2] > 0).all()


def test_packed_positions_are_true_to_16_bits():
    result = ball()
    mesh = grid_mesh(result, crop_of(result))
    attributes, text = pack(mesh)
    rows, columns = (int(x) for x in attributes["grid"].split()[:2])
    data = gzip.decompress(base64.b64decode(text))
    n = rows * columns
    start = -(-n // 8) + (rows - 1) * (columns - 1)
    assert len(data) == start + 9 * n
    low, span = (np.array([float(x) for x in attributes[k].split()]) for k in ("low", "span"))
    found = np.stack([planes(data, start + 2 * k * n, n, 2) for k in range(3)], axis=-1)
    found = low + found / 65535 * span
    assert np.abs(found - mesh.points.reshape(n, 3) * [1, -1, -1]).max() < span.max() / 65535


def planes(data, start, n, width):
    """Numbers of `width` bytes from their differences, as maps.js unpacks them."""
    change = np.frombuffer(data, np.uint8, n * width, start).reshape(width, n).astype(np.uint64)
    values = sum(change[b] << np.uint64(8 * (width - 1 - b)) for b in range(width))
    return np.cumsum(values) % (1 << (8 * width))


def read_out(one, codes):
    """Values from what is stored, as maps.js computes them."""
    t = (codes.astype(float) - (2 if one["log"] else 1)) / one["steps"]
    low, high = one["low"], one["high"]
    value = low ** (1 - t) * high**t if one["log"] else low + t * (high - low)
    return np.where(codes == 0, np.nan, np.where((codes == 1) & one["log"], 0, value))


def test_readings_are_true_to_their_bytes():
    """Depth to 16 bits, confidence to 8; names of components of every level; numbers of regions; nothing outside."""
    result = ball(confidence=np.broadcast_to(np.linspace(0, 1, 150), (120, 150)))
    result.depth[:5] = np.nan
    regions = doubtful_regions(result)
    assert [region.mask.any() for region in regions] == [True]
    about, text = pack_readings(result, (slice(0, 120), slice(0, 150)), readings_of(result), regions)
    data = gzip.decompress(base64.b64decode(text))
    n, m, at = about["rows"] * about["columns"], about["components"], 0
    shape = about["rows"], about["columns"]
    truth = {"Depth": result.depth, "Confidence": np.where(np.isfinite(result.depth), result.confidence, np.nan)}
    for one in about["maps"]:
        codes = planes(data, at, n, one["bytes"]).reshape(shape)
        at += n * one["bytes"]
        if one["name"] in truth:
            step = (one["high"] - one["low"]) / one["steps"]
            assert one["steps"] >= (65000 if one["name"] == "Depth" else 250)
            known = np.isfinite(result.depth) & (codes > 0)
            assert known.sum() == np.isfinite(truth[one["name"]]).sum()
            assert np.abs(read_out(one, codes) - truth[one["name"]])[known].max() <= 0.5001 * step
    component = planes(data, at, n, 4).reshape(shape)
    place = planes(data, at + 4 * n, n, 1).reshape(shape)
    np.testing.assert_array_equal(place > 0, regions[0].mask)
    at += 5 * n + 3 * m
    names = planes(data, at, m, 4)
    for k, labels in enumerate(stable_labels(result.levels)):
        whole = planes(data, at + 4 * m * (k + 1), m, 4)
        np.testing.assert_array_equal(names[whole[component - 1]], labels)
    assert at + 4 * m * (1 + len(about["levels"])) == len(data)


def test_readings_do_not_end_where_colours_end():
    """From the smallest to the largest, every residual, angle and error is read to a quarter of a per cent; 0 is 0."""
    shape = (40, 50)
    rng = np.random.default_rng(0)
    residual, angle, error = 10.0 ** rng.uniform([[[-14]], [[-6]], [[-9]]], [[[2]], [[2.2]], [[0]]], size=(3, *shape))
    for values in (residual, angle, error):
        values[:3] = 0
        values[3, :9] = np.nan
    result = made(np.ones(shape), discontinuity=-residual)
    readings = readings_of(result, angle, error)
    about, text = pack_readings(result, (slice(0, 40), slice(0, 50)), readings, [])
    data, at, found = gzip.decompress(base64.b64decode(text)), 0, {}
    for one in about["maps"]:
        found[one["name"]] = read_out(one, planes(data, at, residual.size, one["bytes"])).reshape(shape)
        at += residual.size * one["bytes"]
    for name, truth in (("Residual", residual), ("Angle to the input", angle), ("Error", 100 * error)):
        np.testing.assert_allclose(found[name], truth, rtol=2.51e-3, atol=0)


@pytest.mark.parametrize("size", [0.0, 5e-324, 1e-16, 3.0])
def test_a_constant_is_read_exactly(size):
    result = made(np.ones((6, 7)), discontinuity=np.full((6, 7), size))
    about, text = pack_readings(result, (slice(0, 6), slice(0, 7)), readings_of(result)[-1:], [])
    (one,) = about["maps"]
    codes = planes(gzip.decompress(base64.b64decode(text)), 0, 42, one["bytes"])
    np.testing.assert_allclose(read_out(one, codes), size, rtol=2.51e-3, atol=1e-100)


def test_large_maps_are_thinned():
    depth = np.ones((700, 900))
    about, _ = pack_readings(made(depth), (slice(0, 700), slice(0, 900)), readings_of(made(depth)), [])
    assert about["step"] == 3
    assert about["rows"] * about["columns"] <= 120_000 * 1.01


def test_normals_of_the_result_agree_where_the_surface_is_smooth():
    """On a ball in front of a wall: within a degree or two, on both sides of the break, and nothing is lost there."""
    result = ball(240, 300)
    angle = angle_to_input(result)
    assert np.isfinite(angle).mean() > 0.99
    assert np.nanmedian(angle) < 0.05
    assert np.nanpercentile(angle, 95) < 2
    tilted = made(np.ones((20, 20)), np.broadcast_to([0.0, np.sin(0.1), np.cos(0.1)], (20, 20, 3)))
    np.testing.assert_allclose(angle_to_input(tilted), np.degrees(0.1), rtol=1e-6)


@pytest.mark.parametrize("reading", ["scaled", "affine", "disparity", "affine disparity"])
def test_a_prior_is_shown_in_the_units_of_the_result(reading):
    result = ball()
    prior = {
        "scaled": 7 * result.depth,
        "affine": 2 * result.depth + 3,
        "disparity": 5 / result.depth,
        "affine disparity": 0.2 + 1 / result.depth,
    }[reading]
    prior[40:50, 40:50] *= 1.5  # what the result changed stays visible
    found = prior_as_depth(result, prior)
    off = np.abs(found / result.depth - 1)
    off[40:50, 40:50] = 0
    assert np.median(off) < 1e-9
    assert off.max() < 1e-6
    assert np.abs(found / result.depth - 1)[41:49, 41:49].min() > 0.05


def test_error_is_shown_where_truth_is_known():
    result = ball()
    truth = 3 * result.depth
    truth[:, :20] *= 1.1
    error = depth_error(result, truth)
    np.testing.assert_allclose(error[:, 30:], 0, atol=1e-12)
    np.testing.assert_allclose(error[:, :20], 1 - 1 / 1.1)
    text = report_html(result, title="t", truth=truth, prior=truth)
    for name in ("error", "prior", "angle", "result-normals"):
        assert f'id="picture-{name}"' in text
    plain = report_html(result, title="t")
    assert "picture-error" not in plain
    assert "picture-prior" not in plain
    with pytest.raises(ValueError, match=r"truth: expected the shape of the normals, \(120, 150\), got \(3, 4\)"):
        report_html(result, title="t", truth=np.ones((3, 4)))


def test_regions_and_alternatives_are_listed():
    """Connected regions of low confidence by size, specks left out; alternatives of a result come first."""
    confidence = np.full((120, 150), 0.9)
    confidence[10:30, 10:30] = 0.1
    confidence[60:100, 60:100] = 0.3
    confidence[110, 110] = 0.0
    result = ball(confidence=confidence)
    assert [int(region.mask.sum()) for region in doubtful_regions(result)] == [1600, 400]
    mask = np.zeros((120, 150), dtype=bool)
    mask[:5] = True
    result.alternatives = [SimpleNamespace(mask=mask, text="the wall <further> away", probability=0.42)]
    text = report_html(result, title="t")
    listed = re.findall(r'data-region="\d+"[^>]*>([^<]*)<', text)
    assert listed[0].startswith("the wall &lt;further&gt; away (better: 42 %)")
    assert [words[:5] for words in listed[1:]] == ["8.9 %", "2.2 %"]
    assert "No region of low confidence" in report_html(ball(), title="t")


# ---- the page ---------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """Ids, tags and inline texts of a page; void and optional-end elements aside, tags must be balanced."""

    LOOSE = frozenset(["meta", "link", "img", "input", "tr", "td", "th", "thead", "tbody", "polyline", "stop"])

    def __init__(self, text):
        super().__init__()
        self.ids: list[str] = []
        self.open: list[tuple] = []
        self.inline: dict[str, list[str]] = {"script": [], "style": []}
        self.links: list[str] = []
        self.policy = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.ids += [values["id"]] if "id" in values else []
        self.links += [values[k] for k in ("src", "href") if k in values]
        assert "style" not in values, "the policy forbids style attributes"
        assert not any(k.startswith("on") for k in values), "the policy forbids inline handlers"
        if values.get("http-equiv") == "Content-Security-Policy":
            self.policy = values["content"]
        if tag not in self.LOOSE:
            self.open.append((tag, values))

    def handle_endtag(self, tag):
        if tag not in self.LOOSE:
            assert self.open.pop()[0] == tag

    def handle_data(self, data):
        if self.open and self.open[-1][0] in self.inline and "type" not in self.open[-1][1]:
            self.inline[self.open[-1][0]].append(data)


def test_the_page_is_complete_and_self_contained(tmp_path):
    path = report.write_report(ball(), tmp_path / "ball.html")
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    assert page.open == []
    assert set(SECTIONS) <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    for name in ("normals", "level-0", "level-1", "depth", "shading", "residual"):
        assert f"picture-{name}" in page.ids
    assert not re.search(r"https?://|//[a-z]+\.[a-z]|@import|url\((?!#)", text)
    assert all(link.startswith("data:") for link in page.links)
    for kind in ("script", "style"):
        for inline in page.inline[kind]:
            digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in page.policy
    assert "<title>ball · quotientgraph</title>" in text


@pytest.mark.parametrize("name", ODD)
def test_odd_results_make_whole_pages(name):
    page = Page(report_html(ODD[name](), title=name))
    assert page.open == []
    assert set(SECTIONS) <= set(page.ids)


def test_no_number_is_printed_as_nan():
    for make in ODD.values():
        text = re.sub(r"base64,[^\"]*|<script.*?</script>", "", report_html(make(), title="odd"), flags=re.S)
        assert not re.search(r"\b(nan|inf|None)\b", text)


def test_a_mask_is_shown_unless_it_is_full():
    """A mask of the whole image would be an empty frame: it is said instead."""
    depth = np.ones((5, 6))
    text = report_html(made(depth), title="full")
    assert "picture-mask" not in Page(text).ids
    assert "every pixel is valid" in text
    text = report_html(made(np.where(np.eye(5, 6) > 0, np.nan, depth)), title="holes")
    assert "picture-mask" in Page(text).ids
    assert "every pixel is valid" not in text


def test_a_jump_of_the_energy_is_explained():
    """A curve that falls needs no explanation; one that rises by orders of magnitude does."""
    falling, jumping = ([_step(i, energy) for i, energy in enumerate(curve)] for curve in ((9, 3, 1), (9, 1, 2e4)))
    calm = report_html(made(np.ones((3, 3)), history=falling), title="t")
    wild = report_html(made(np.ones((3, 3)), history=jumping), title="t")
    assert "begins again from another start" not in calm
    assert "begins again from another start" in wild


def test_facts_about_the_input():
    text = report_html(made(np.ones((3, 3))), title="x", about={"Frame of the normals": "dsine <given>"})
    assert '<th scope="row">Frame of the normals<td>dsine &lt;given&gt;' in text


def test_text_is_escaped():
    text = report_html(
        made(np.ones((3, 3)), warnings=["<script>alert(1)</script> & more"]),
        title='</title><img src=x onerror="1">',
    )
    assert "<script>alert" not in text
    assert "<img src=x" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; more" in text
    Page(text)


def test_a_photograph_is_shown_and_checked():
    result = made(np.ones((6, 7)))
    for image in (np.zeros((6, 7, 3), np.uint8), np.zeros((6, 7)), np.zeros((6, 7, 4), np.uint16)):
        text = report_html(result, title="t", image=image)
        assert 'id="picture-image"' in text
        assert 'data-texture="picture-image"' in text
    with pytest.raises(ValueError, match=r"image: expected shape \(6, 7, 3\)"):
        report_html(result, title="t", image=np.zeros((7, 6, 3)))
    with pytest.raises(ValueError, match="image: expected uint8"):
        report_html(result, title="t", image=np.zeros((6, 7, 3), np.int64))


def test_a_megapixel_takes_less_than_two_megabytes(tmp_path):
    """A smooth map with everything in it, and the worst of 600 × 500: random normals, one component a pixel, six levels."""
    result = ball(1000, 1000, confidence=np.full((1000, 1000), 0.5))
    known = {"truth": result.depth * 1.01, "prior": 2 * result.depth, "image": np.zeros((1000, 1000, 3), np.uint8)}
    assert report.write_report(result, tmp_path / "smooth.html", **known).stat().st_size < 2e6
    rng = np.random.default_rng(0)
    depth = rng.uniform(10, 20, (500, 600))
    normals = rng.normal(size=(500, 600, 3)) * [1, 1, 0.1] + [0, 0, 3]
    labels = [np.arange(depth.size).reshape(depth.shape) // k for k in (1, 2, 3, 4, 5, 6)]
    noisy = made(depth, normals, labels=labels, discontinuity=depth, confidence=rng.uniform(size=depth.shape))
    image = rng.integers(0, 255, (500, 600, 3), dtype=np.uint8)
    assert report.write_report(noisy, tmp_path / "noisy.html", image=image).stat().st_size < 4e6


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(OSError, match="No space"):
            report.write_report(made(np.ones((3, 3))), path)
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    assert path.read_text() == "old"
    report.write_report(made(np.ones((3, 3))), str(path))
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_a_planted_link_is_not_followed(tmp_path):
    """The temporary file has a name that nobody can guess, so no link can wait in its place."""
    victim = tmp_path / "victim.txt"
    victim.write_text("precious")
    for name in (f".r.html.{os.getpid()}.part", ".r.part.html", "r.html.part"):
        (tmp_path / name).symlink_to(victim)
    report.write_report(made(np.ones((3, 3))), tmp_path / "r.html")
    assert victim.read_text() == "precious"
    assert not (tmp_path / "r.html").is_symlink()


def test_names_that_are_not_utf_8(tmp_path):
    """A lone surrogate, which is how Python shows a byte that is not UTF-8, does not stop the report."""
    path = tmp_path / os.fsdecode(b"caf\xe9.html")
    about = {"File": os.fsdecode(b"na\xefve.png")}
    text = report_html(made(np.ones((3, 3))), title=path.stem, about=about)
    assert "<h1>caf?</h1>" in text
    assert "na?ve.png" in text
    try:
        path.touch()
    except OSError:
        return  # this file system has no such names
    assert report.write_report(made(np.ones((3, 3))), path, about=about) == path
    assert path.read_bytes().startswith(b"<!doctype html>")


def test_real_reconstructions(tmp_path):
    """A step scene through the whole pipeline: every attribute that the report reads is there."""
    shape = (40, 60)
    normals = np.full((*shape, 3), [0.3, 0.0, 1.0])
    normals[:, 30:] = [-0.5, 0.2, 1]
    result = integrate(normals, camera=Pinhole(60, 60, 29.5, 19.5))
    page = Page(report.write_report(result, tmp_path / "real.html").read_text(encoding="utf-8"))
    assert set(SECTIONS) <= set(page.ids)
    assert report.overview_picture(result).shape[0] == 40
    assert "<img" in report.html_fragment(result)


def test_the_command_line_gives_the_report_all_it_knows(tmp_path, capsys):
    """The true depth that lies beside the normals, and the prior that was given."""
    scene = scenes.make("stairs", shape=(48, 60))
    write_image(tmp_path / "normal_map.png", np.rint((scene.normals * [1, -1, -1] + 1) * 32767.5).astype(np.uint16))
    np.savetxt(tmp_path / "K.txt", scene.camera.matrix)
    np.savez(tmp_path / "depth_gt.npz", depth_gt=scene.depth)
    np.save(tmp_path / "coarse.npy", 2 * scene.depth)
    words = ["integrate", tmp_path, "--frame", "opengl", "--depth-prior", tmp_path / "coarse.npy"]
    words += ["--report", "--mesh", "none", "-o", tmp_path / "out"]
    assert main([str(word) for word in words]) == 0, capsys.readouterr().err
    page = Page((tmp_path / "out" / "report.html").read_text(encoding="utf-8"))
    assert {"picture-error", "picture-prior", "picture-angle", "picture-confidence"} <= set(page.ids)


def test_images_that_wrap_make_whole_pages():
    """A texture that tiles and a panorama from inside: seams are neighbours that lie far apart in the image."""
    tile = scenes.texture("waves", shape=(40, 48))
    rays = RayMap.equirectangular((24, 48))
    inward = -rays.rays((24, 48))
    inward /= np.linalg.norm(inward, axis=-1, keepdims=True)
    for result in (
        integrate(tile.normals, frame="opencv", wrap="both"),
        integrate(inward, camera=rays, frame="opencv"),
    ):
        assert result.graph.pixels.map.wrap.x
        assert angle_to_input(result).shape == result.depth.shape
        page = Page(report_html(result, title="around"))
        assert page.open == []
        assert set(SECTIONS) <= set(page.ids)


# ---- notebooks and figures --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ODD)
def test_fragments_are_static_and_small(name):
    text = report.html_fragment(ODD[name]())
    assert "<script" not in text
    assert text.count("<div") == text.count("</div")
    assert len(text) < 600_000


def test_show_without_a_display_returns_a_fragment(monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    shown = report.show(made(np.ones((5, 5)), warnings=["look <here>"]))
    assert isinstance(shown, report.Fragment)
    assert shown._repr_html_() == shown
    assert "look &lt;here&gt;" in shown


def test_show_in_a_notebook_returns_the_views(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipykernel", SimpleNamespace())
    shown = report.show(made(np.ones((5, 5)), warnings=["look <here>"]))
    assert shown.startswith("<iframe srcdoc=")
    assert "&lt;script&gt;" in shown
    assert "<script" not in shown
    assert "look &lt;here&gt;" in shown


def test_graphs_have_a_picture_in_notebooks():
    normals = np.full((40, 60, 3), [0.3, 0.0, 1.0])
    normals[:, 30:] = [-0.5, 0.2, 1]
    text = QuotientGraph.from_normals(normals)._repr_html_()
    assert "<script" not in text
    assert "data:image/png" in text
    assert re.search(r"Components</div><div>2<", text)


@pytest.mark.parametrize("name", ["one pixel", "flat", "huge range", "no history", "no residual", "zero energy"])
def test_figures_can_be_saved(name, tmp_path):
    pytest.importorskip("matplotlib")
    made_figures = report.figures(ODD[name]())
    assert set(made_figures) == {"maps", "convergence"}
    for key, figure in made_figures.items():
        figure.savefig(tmp_path / f"{key}.png", dpi=40)
        assert (tmp_path / f"{key}.png").stat().st_size > 1000


def test_without_matplotlib_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r'pip install "quotientgraph\[plots\]"'):
        report.figures(made(np.ones((3, 3))))


# ---- in a real browser ------------------------------------------------------------------------------------

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""
needs_chromium = pytest.mark.skipif(
    not CHROMIUM or os.name != "posix",
    reason="chromium is not installed (Debian: apt-get install chromium)",
)


class Browser:
    """Headless Chromium, driven by the DevTools protocol over a pipe: no port and no further package."""

    FLAGS = (
        "--headless",
        "--no-sandbox",
        "--use-gl=angle",
        "--use-angle=swiftshader",
        "--enable-unsafe-swiftshader",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--remote-debugging-pipe",
    )

    # Chromium speaks on descriptors 3 and 4, which may be taken here: move the pipes there in the child.
    LAUNCH = (
        "import fcntl, os, sys\n"
        "high = [fcntl.fcntl(int(fd), fcntl.F_DUPFD, 10) for fd in sys.argv[1:3]]\n"
        "os.dup2(high[0], 3), os.dup2(high[1], 4)\n"
        "os.execv(sys.argv[3], sys.argv[3:])"
    )

    def __init__(self, profile, *flags):
        theirs_in, self.to = os.pipe()
        self.back, theirs_out = os.pipe()
        pipes = [str(theirs_in), str(theirs_out)]
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                self.LAUNCH,
                *pipes,
                CHROMIUM,
                *self.FLAGS,
                *flags,
                f"--user-data-dir={profile}",
            ],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self.buffer, self.number, self.events, self.session = b"", 0, [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def _read(self, timeout=60):
        while b"\0" not in self.buffer:
            ready = select.select([self.back], [], [], timeout)[0]
            piece = os.read(self.back, 1 << 20) if ready else b""
            if not piece:
                raise RuntimeError("chromium stopped answering")
            self.buffer += piece
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def run(self, script):
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait(self, condition, seconds=30):
        end = time.monotonic() + seconds
        while not self.run(condition):
            assert time.monotonic() < end, f"never true: {condition}"
            time.sleep(0.05)

    def visit(self, path, width=1280, height=900, scheme="light"):
        self.events.clear()
        mobile = width < 600
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=mobile,
        )
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url=path.as_uri())
        self.wait("document.readyState === 'complete' && location.protocol === 'file:'")

    def frames(self):
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def canvas(self, name="view"):
        """Pixels of the 3-D view or of the map inside its focus ring and above its controls, (h, w, 3) uint8."""
        import imagecodecs

        self.frames()
        x, y, w, h = self.run(
            f"(() => {{ const r = document.getElementById('{name}').getBoundingClientRect();"
            " return [r.x + scrollX, r.y + scrollY, r.width, r.height] })()"
        )
        clip = {"x": x + 8, "y": y + 8, "width": w - 16, "height": h - 78, "scale": 1}
        shot = self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        return imagecodecs.png_decode(base64.b64decode(shot["data"]))[..., :3]

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def drag(self, dx, dy):
        self.run("document.getElementById('view').scrollIntoView({block: 'center'})")
        x, y = self.run(
            "(() => { const r = document.getElementById('view').getBoundingClientRect();"
            " return [r.x + r.width / 2, r.y + r.height / 2] })()"
        )
        held = {"button": "left", "buttons": 1, "clickCount": 1}
        self.mouse("mousePressed", x, y, **held)
        for k in range(1, 5):
            self.mouse("mouseMoved", x + dx * k / 4, y + dy * k / 4, **held)
        self.mouse("mouseReleased", x + dx, y + dy, button="left", clickCount=1)

    def complaints(self):
        """What the page wrote to the console in anger."""
        bad = []
        for event in self.events:
            kind, params = event.get("method"), event.get("params", {})
            level = {"Runtime.exceptionThrown": "error", "Runtime.consoleAPICalled": params.get("type")}.get(kind)
            level = params["entry"]["level"] if kind == "Log.entryAdded" else level
            if level in ("error", "warning", "assert"):
                bad.append(params)
        return bad

    def close(self):
        self.session = None
        try:
            self.call("Browser.close")
            self.process.wait(10)
        except (OSError, RuntimeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.back)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def ball_report(tmp_path_factory):
    image = np.random.default_rng(0).integers(0, 255, (120, 150, 3), dtype=np.uint8)
    return report.write_report(ball(), tmp_path_factory.mktemp("report") / "ball.html", image=image)


DRAWN = "document.getElementById('stage').dataset.drawn === 'yes'"
READY = "document.getElementById('map').dataset.ready === 'yes'"
READING = "document.getElementById('reading').textContent"


@pytest.fixture(scope="module")
def full_report(tmp_path_factory):
    """The ball with everything that a report can show: two levels, doubts on the right, true depth, a prior."""
    result = ball(confidence=np.where(np.indices((120, 150))[1] >= 120, 0.2, 0.9))
    truth = result.depth.copy()
    truth[:30] *= 1.2
    known = {"truth": truth, "prior": 4 * np.roll(result.depth, 20, axis=0)}
    return report.write_report(result, tmp_path_factory.mktemp("full") / "full.html", **known)


def open_views(browser, path, *size, **more):
    browser.visit(path, *size, **more)
    browser.wait(DRAWN)
    browser.wait(READY)
    browser.run("document.getElementById('stage').scrollIntoView({block: 'center'})")


def on_map(browser, u, v, width=150, height=120):
    """Where the centre of a pixel of the image lies in the window."""
    return browser.run(
        "(() => { const m = document.getElementById('map'), r = m.getBoundingClientRect();"
        f" const s = Math.min(r.width / {width}, r.height / {height});"
        f" return [r.x + r.width / 2 + s * ({u} + 0.5 - {width} / 2),"
        f" r.y + r.height / 2 + s * ({v} + 0.5 - {height} / 2)] }})()"
    )


def color_on_map(browser, u, v):
    """The colour that the map has at a pixel of the image, [r, g, b]."""
    return browser.run(
        "(() => { const m = document.getElementById('map');"
        f" const at = [{u} + 0.5, {v} + 0.5].map((x, k) => Math.floor(x * (k ? m.height / 120 : m.width / 150)));"
        " const c = document.createElement('canvas'), pen = c.getContext('2d', {willReadFrequently: true});"
        " [c.width, c.height] = [m.width, m.height]; pen.drawImage(m, 0, 0);"
        " return [...pen.getImageData(...at, 1, 1).data].slice(0, 3) })()"
    )


def choose(browser, element, value, event="input"):
    browser.run(
        f"(() => {{ const e = document.getElementById('{element}'); e.value = {value!r};"
        f" e.dispatchEvent(new Event('{event}')) }})()"
    )


@needs_chromium
def test_values_are_read_under_the_pointer(browser, full_report):
    """On the ball, on the wall, in the doubtful part; and the same place is marked on the surface."""
    result = ball()
    open_views(browser, full_report)
    for u, v, sure in ((75, 60, "0.9"), (5, 5, "0.9"), (140, 100, "0.2")):
        browser.mouse("mouseMoved", *on_map(browser, u, v))
        text = browser.run(READING)
        found = dict(re.findall(r"(Column|row|Depth|Confidence|Error|Component of Q0|Residual) ([\d.]+)", text))
        assert (found["Column"], found["row"], found["Confidence"]) == (str(u), str(v), sure)
        assert float(found["Depth"]) == pytest.approx(result.depth[v, u], rel=1e-3)
        assert int(found["Component of Q0"]) == result.levels[0].label_image()[v, u]
        assert (float(found["Error"]) > 10) == (v < 30)
        assert not browser.run("document.getElementById('pin').hidden")
    browser.mouse("mouseMoved", 3, 3)
    assert browser.run("document.getElementById('pin').hidden")
    assert "Point at either view" in browser.run(READING)
    assert browser.complaints() == []


@needs_chromium
def test_pointing_at_the_surface_reads_the_same_values(browser, full_report):
    """Where the pin of a place on the map lies, the surface gives the values of that place."""
    open_views(browser, full_report)
    browser.mouse("mouseMoved", *on_map(browser, 75, 60))
    x, y = browser.run(
        "(() => { const r = document.getElementById('pin').getBoundingClientRect();"
        " return [r.x + r.width / 2, r.y + r.height / 2] })()"
    )
    browser.mouse("mouseMoved", x, y)
    browser.frames()
    found = re.match(r"Column (\d+)\s+row (\d+)\s+Depth ([\d.]+)", browser.run(READING))
    assert abs(int(found[1]) - 75) <= 2
    assert abs(int(found[2]) - 60) <= 2
    assert float(found[3]) == pytest.approx(ball().depth[60, 75], rel=0.01)


@needs_chromium
def test_keys_move_the_place_that_is_read(browser, full_report):
    open_views(browser, full_report)
    browser.run("document.getElementById('map').focus()")
    for key, wanted in (("ArrowRight", "Column 76 row 60"), ("ArrowUp", "Column 76 row 59")):
        browser.call("Input.dispatchKeyEvent", type="keyDown", key=key)
        assert browser.run(READING).startswith(wanted)
    browser.call("Input.dispatchKeyEvent", type="keyDown", key="Escape")
    assert "Point at either view" in browser.run(READING)


@needs_chromium
def test_a_tap_reads_on_a_phone(browser, full_report):
    open_views(browser, full_report, 390, 844)
    browser.run("document.getElementById('map').scrollIntoView({block: 'center'})")
    x, y = on_map(browser, 40, 80)
    browser.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
    browser.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    assert browser.run(READING).startswith("Column 40 row 80")
    assert browser.run("document.documentElement.scrollWidth") == 390


@needs_chromium
def test_the_slider_merges_components_in_both_views(browser, full_report):
    """At Q0 the ball has bands of many colours, at Q1 it has one; the text counts them."""
    open_views(browser, full_report)
    choose(browser, "level", "0")
    assert browser.run("document.querySelector('input[name=mode]:checked + span').textContent") == "Components"
    bands = {tuple(color_on_map(browser, 75, v)) for v in range(30, 90, 4)}
    before = browser.canvas()
    choose(browser, "level", "1")
    assert browser.run("document.getElementById('level-name').textContent") == "Q1: 2 components"
    assert len(bands) >= 6
    assert len({tuple(color_on_map(browser, 75, v)) for v in range(30, 90, 4)}) == 1
    assert color_on_map(browser, 75, 60) != color_on_map(browser, 2, 60)
    assert changed(before, browser.canvas()) > 0.02
    assert browser.complaints() == []


@needs_chromium
def test_before_and_after(browser, full_report):
    """Left of the border the prior, right of it the result; the border moves with its slider and under the pointer."""
    open_views(browser, full_report)
    browser.run("document.querySelectorAll('input[name=mode]')[2].click()")
    result = color_on_map(browser, 75, 16)  # wall in the result, ball in the prior, which lies lower
    ball_color = color_on_map(browser, 75, 60)
    assert result != ball_color
    pair = browser.run("[...document.getElementById('wipe-pair').options].map((o) => o.value)")
    assert pair == ["", "picture-normals picture-result-normals", "picture-prior picture-depth"]
    choose(browser, "wipe-pair", pair[2], "change")
    choose(browser, "wipe", "100")
    before = color_on_map(browser, 75, 105)
    choose(browser, "wipe", "0")
    after = color_on_map(browser, 75, 105)
    assert np.abs(np.subtract(before, after)).max() > 40
    choose(browser, "wipe", "60")
    assert color_on_map(browser, 75, 105) == before
    assert color_on_map(browser, 75, 16) != after
    x, y = on_map(browser, 30, 60)
    browser.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
    browser.mouse("mouseReleased", x, y, button="left", clickCount=1)
    assert float(browser.run("document.getElementById('wipe').value")) == pytest.approx(20, abs=2)
    assert color_on_map(browser, 75, 105) == after
    browser.run("document.querySelectorAll('input[name=mode]')[0].click()")
    assert browser.run("document.getElementById('wipe').disabled")
    assert browser.complaints() == []


@needs_chromium
def test_a_click_shows_a_doubtful_region(browser, full_report):
    """All else turns grey, in both views; a second click brings the colours back."""
    open_views(browser, full_report)
    browser.run("document.querySelectorAll('input[name=mode]')[2].click()")
    inside, outside, before = color_on_map(browser, 140, 60), color_on_map(browser, 75, 60), browser.canvas()
    browser.run("document.querySelector('[data-region]').click()")
    assert browser.run("document.querySelector('[data-region]').getAttribute('aria-pressed')") == "true"
    assert color_on_map(browser, 140, 60) == inside
    assert np.ptp(color_on_map(browser, 75, 60)) < 0.6 * np.ptp(outside)
    assert changed(before, browser.canvas()) > 0.05
    browser.run("document.querySelector('[data-region]').click()")
    assert color_on_map(browser, 75, 60) == outside
    assert changed(before, browser.canvas()) < 0.001


@needs_chromium
def test_a_notebook_shows_the_same_views(browser, tmp_path):
    """The fragment is complete: in a page that knows nothing of it, the views draw, and values can be read."""
    page = tmp_path / "notebook.html"
    page.write_text(f"<!doctype html><meta charset=utf-8><p>cell</p>{report.frame_fragment(ball())}", encoding="utf-8")
    assert page.stat().st_size < 1e6
    browser.visit(page)
    inner = "document.querySelector('iframe').contentDocument"
    browser.wait(f"{inner}.getElementById('stage')?.dataset.drawn === 'yes'")
    browser.wait(f"{inner}.getElementById('map').dataset.ready === 'yes'")
    browser.run(f"{inner}.getElementById('map').focus()")
    browser.call("Input.dispatchKeyEvent", type="keyDown", key="ArrowLeft")
    assert browser.run(f"{inner}.getElementById('reading').textContent").startswith("Column 74 row 60")
    assert browser.complaints() == []


@needs_chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_opens_without_complaint(browser, ball_report, width, scheme):
    browser.visit(ball_report, width, scheme=scheme)
    browser.wait(DRAWN)
    heights = browser.run(f"{json.dumps(SECTIONS)}.map((id) => document.getElementById(id).offsetHeight)")
    assert all(h > 20 for h in heights)
    assert browser.run("document.documentElement.scrollWidth") == width
    assert browser.run("[...document.images].every((i) => i.hidden || i.src === '' || i.naturalWidth > 0)")
    paper = browser.run("getComputedStyle(document.body).backgroundColor")
    assert (int(re.findall(r"\d+", paper)[0]) > 128) == (scheme == "light")
    asked = [e["params"]["request"]["url"] for e in browser.events if e.get("method") == "Network.requestWillBeSent"]
    assert all(url.startswith(("file:", "data:")) for url in asked)
    assert browser.complaints() == []


@needs_chromium
def test_the_view_shows_the_surface_and_turns(browser, ball_report):
    browser.visit(ball_report)
    browser.wait(DRAWN)
    first = browser.canvas()
    assert first.reshape(-1, 3).std(axis=0).max() > 8
    browser.drag(160, 40)
    turned = browser.canvas()
    assert changed(first, turned) > 0.05
    browser.run("document.getElementById('view-reset').click()")
    assert changed(first, browser.canvas()) < 0.001
    assert browser.complaints() == []


@needs_chromium
def test_keys_wheel_and_double_click(browser, ball_report):
    browser.visit(ball_report)
    browser.wait(DRAWN)
    first = browser.canvas()
    browser.drag(0, 0)  # focus
    for key in ("ArrowLeft", "ArrowUp", "+"):
        browser.call("Input.dispatchKeyEvent", type="keyDown", key=key)
        assert changed(first, browser.canvas()) > 0.01
        browser.call("Input.dispatchKeyEvent", type="keyDown", key="Home")
        assert changed(first, browser.canvas()) < 0.001
    browser.mouse("mouseWheel", 640, 400, deltaX=0, deltaY=-300)
    assert changed(first, browser.canvas()) > 0.01
    for count in (1, 2):
        browser.mouse("mousePressed", 640, 400, button="left", buttons=1, clickCount=count)
        browser.mouse("mouseReleased", 640, 400, button="left", clickCount=count)
    assert changed(first, browser.canvas()) < 0.001


@needs_chromium
def test_each_colouring_looks_different(browser, ball_report):
    browser.visit(ball_report)
    browser.wait(DRAWN)
    names = browser.run("[...document.querySelectorAll('input[name=mode] + span')].map((s) => s.textContent)")
    assert names == ["Shaded", "Normals", "Depth", "Discontinuity", "Components", "Angle", "Image"]
    seen, flat = [], []
    for k in range(len(names)):
        browser.run(f"document.querySelectorAll('input[name=mode]')[{k}].click()")
        seen.append(browser.canvas())
        flat.append(browser.canvas("map"))
    for a in range(len(names)):
        for b in range(a):
            assert changed(seen[a], seen[b]) > 0.05, (names[a], names[b])
            assert changed(flat[a], flat[b]) > 0.05, (names[a], names[b])
    assert browser.complaints() == []


@needs_chromium
def test_pinch_zooms_on_a_phone(browser, ball_report):
    browser.visit(ball_report, 390, 844)
    browser.wait(DRAWN)
    browser.run("document.getElementById('view').scrollIntoView({block: 'center'})")
    first = browser.canvas()
    for kind, reach in (("touchStart", 20), ("touchMove", 50), ("touchMove", 80)):
        points = [{"x": 195 + s * reach, "y": 400, "id": i} for i, s in enumerate((-1, 1))]
        browser.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)
    browser.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    assert changed(first, browser.canvas()) > 0.01


@needs_chromium
def test_charts_give_readings_and_pictures_open(browser, ball_report):
    browser.visit(ball_report)
    browser.run("document.getElementById('energy').scrollIntoView({block: 'center'})")
    x, y = browser.run(
        "(() => { const r = document.querySelector('#energy svg').getBoundingClientRect();"
        " return [r.x + r.width / 2, r.y + r.height / 2] })()"
    )
    browser.mouse("mouseMoved", x, y)
    assert re.match(r"iteration \d+ · ", browser.run("document.querySelector('#energy .reading.on text').textContent"))
    browser.run("document.querySelector('#depth button.picture').click()")
    assert browser.run("document.getElementById('large').open")
    browser.call("Input.dispatchKeyEvent", type="keyDown", key="Escape", code="Escape", windowsVirtualKeyCode=27)
    browser.wait("!document.getElementById('large').open")
    assert browser.complaints() == []


@needs_chromium
@pytest.mark.parametrize("name", ["one pixel", "one row", "huge range", "two islands", "no history"])
def test_odd_results_open_without_complaint(browser, tmp_path, name):
    browser.visit(report.write_report(ODD[name](), tmp_path / "odd.html"))
    browser.wait(DRAWN)
    browser.wait(READY)
    assert browser.canvas().reshape(-1, 3).std(axis=0).max() > 1
    assert browser.complaints() == []


@needs_chromium
def test_without_webgl_a_still_picture_and_the_reason(tmp_path, ball_report):
    browser = Browser(tmp_path / "profile", "--disable-3d-apis")
    try:
        browser.visit(ball_report)
        assert "no WebGL" in browser.run("document.getElementById('view-message').innerText")
        assert browser.run("document.querySelector('.still img').offsetHeight") > 50
        assert browser.run("document.getElementById('view').offsetHeight") == 0
        assert [c for c in browser.complaints() if "WebGL" not in json.dumps(c)] == []
    finally:
        browser.close()


def changed(a, b):
    """Share of pixels that differ visibly."""
    return float((np.abs(a.astype(int) - b).max(axis=-1) > 12).mean())
