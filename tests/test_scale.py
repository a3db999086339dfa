"""Maps in tiles: the answer is that of the whole map, whatever the tiles are and whatever happens on the way."""


import numpy as np
import pytest

import laplacians
from quotientgraph import QuotientGraph

pytest.importorskip("zarr")
pytest.importorskip("dask")

import zarr

from quotientgraph import scale

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


def whole(normals, mask, camera=None, preset="best", angle="auto", connectivity=8, **settings):
    """The same in memory, with an exact filling."""
    graph = QuotientGraph.from_normals(
        normals, mask, camera, angle=angle, connectivity=connectivity, preset=preset, check=False
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
        ("paper", {"connectivity": 4, "angle": 6.0}),
        ("paper", {"merge_every": 5}),
    ],
    ids=["paper", "best", "four neighbours", "merging"],
)
def test_tiles_give_the_answer_of_the_whole_map(tmp_path, preset, settings):
    """Depth and components are those of the map in memory, for a size that no tile divides."""
    normals, mask = bumpy(170, 203)
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


def test_a_component_within_a_tile_is_filled_as_in_memory(tmp_path):
    """Where the components of tiles never meet, the depth is the same to rounding."""
    normals, mask = bumpy(128, 128, tear=False)
    mask[62:66] = False
    mask[:, 62:66] = False
    depth, report = scale.integrate(normals, mask, out=tmp_path / "depth.zarr", tile=64, workers=1, angle=180.0)
    assert report.rounds == []
    assert difference(whole(normals, mask, angle=180.0), depth.compute()) < 1e-9
