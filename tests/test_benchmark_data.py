"""Error ceilings on real data: five objects of the DiLiGenT benchmark and a rendered room.

Skipped where the data are not there; see `data_dir`. The expected figures are those of the method's paper.
"""

from __future__ import annotations

import functools
import itertools

import imagecodecs
import numpy as np
import pytest

from quotientgraph import QuotientGraph, metrics

COUNTS = {
    "bear": {2.0: 5882, 3.5: 1900, 5.0: 836},
    "buddha": {2.0: 22175, 3.5: 13883, 5.0: 9787},
    "cat": {2.0: 8150, 3.5: 2896, 5.0: 1282},
    "harvest": {2.0: 29612, 3.5: 18145, 5.0: 12109},
    "goblet": {2.0: 3335, 3.5: 1512, 5.0: 933},
}
MADE = {"bear": 0.018, "buddha": 0.105, "cat": 0.03, "harvest": 0.85, "goblet": 0.35}  # mm, by default
LEAST_MADE = {"bear": 0.012, "buddha": 0.02, "cat": 0.024, "harvest": 0.04, "goblet": 0.063}
ITERATIONS = {"bear": 10, "buddha": 20, "cat": 15, "harvest": 25, "goblet": 150}

# (angle, reweighting, connectivity): MADE in mm of bear, buddha, cat. At 2.0° without reweighting the paper continues
# only because its solver is inexact: with exact solves iterations 0 and 1 are the same, and the energy has converged.
PAPER = {
    (2.0, "soft", 8): (0.02, 0.17, 0.03),
    (3.5, "soft", 8): (0.02, 0.11, 0.04),
    (5.0, "soft", 8): (0.02, 0.15, 0.51),
    (None, "soft", 8): (0.02, 0.20, 0.03),
    (3.5, "none", 8): (0.20, 0.91, 0.16),
    (5.0, "none", 8): (0.17, 1.04, 0.51),
    (2.0, "soft", 4): (0.03, 0.12, 0.03),
    (3.5, "soft", 4): (0.04, 0.14, 0.04),
    (5.0, "soft", 4): (0.02, 0.12, 0.03),
    (None, "soft", 4): (0.03, 0.13, 0.03),
}


@functools.cache
def load(folder):
    """Normals (OpenGL frame), mask, K and true depth of a folder of the data."""
    if (folder / "normal_map.png").exists():
        normals = imagecodecs.imread(folder / "normal_map.png")[..., :3].astype(np.float64) / 65535 * 2 - 1
    else:
        normals = np.load(folder / "normals.npz")["normals"]
    mask = imagecodecs.imread(folder / "mask.png")
    mask = (mask if mask.ndim == 2 else mask[..., 0]) > 0
    return normals, mask, np.loadtxt(folder / "K.txt"), np.load(folder / "depth_gt.npz")["depth_gt"]


@pytest.mark.parametrize("name", COUNTS)
def test_component_counts(name, data_dir):
    """Components at 2.0, 3.5 and 5.0° are the paper's to 0.5 %; goblet's, of which it gives two figures, to 15."""
    normals, mask, k, _ = load(data_dir / "diligent" / name)
    for angle, expected in COUNTS[name].items():
        found = QuotientGraph.from_normals(normals, mask, k, angle=angle).n_components
        assert abs(found - expected) <= (15 if name == "goblet" else 0.005 * expected)


@pytest.mark.parametrize("name", MADE)
def test_depth_error(name, data_dir):
    """By default MADE, least achievable MADE and the number of iterations stay below their ceilings."""
    normals, mask, k, truth = load(data_dir / "diligent" / name)
    graph = QuotientGraph.from_normals(normals, mask, k)
    result = graph.optimize()
    assert result.converged
    assert len(result.history) <= ITERATIONS[name]
    # Stem and foot of the goblet are placed by the axis that they share with the bowl; the others share none.
    assert ["axis of revolution" in text for text in result.warnings] == [True] * (name == "goblet")
    assert metrics.made(result.depth, truth) <= MADE[name]
    filled = graph.pixels.map.image(graph.pixels.map.camera.depth(graph.filled()))
    assert metrics.least_made(filled, truth, graph.label_image()) <= LEAST_MADE[name]


@pytest.mark.parametrize("row", PAPER, ids=str)
def test_the_papers_tables(row, data_dir):
    """MADE is that of the paper's tables to 0.03 mm or 8 %, or below it, for bear, buddha and cat."""
    angle, reweighting, connectivity = row
    for name, expected in zip(("bear", "buddha", "cat"), PAPER[row]):
        normals, mask, k, truth = load(data_dir / "diligent" / name)
        graph = QuotientGraph.from_normals(normals, mask, k, angle=angle, connectivity=connectivity)
        # With 4-connectivity cat does not settle in 150 iterations; its depth has long before. This saves the time.
        result = graph.optimize(preset="paper", reweighting=reweighting, max_iterations=15 if angle is None else 30)
        assert metrics.made(result.depth, truth) <= expected + max(0.03, 0.08 * expected)


def test_bedroom(data_dir):
    """A room at 2.0° with merging: 10137 components, at most 15 iterations, a relative error of at most 5.9 %."""
    normals, mask, k, truth = load(data_dir / "scenes" / "bedroom")
    graph = QuotientGraph.from_normals(normals, mask, k, angle=2.0)
    assert graph.n_components == pytest.approx(10137, rel=0.005)
    result = graph.optimize(merge_every=5, max_iterations=15)
    assert len(result.history) <= 15
    counts = [level.n_components for level in result.levels]
    assert all(after < before / 3 for before, after in itertools.pairwise(counts))
    assert metrics.relative_error(result.depth, truth) <= 0.059


def test_bedroom_by_default(data_dir):
    """The relative error is at most 3.5 %, and most of it is where confidence is low."""
    normals, mask, k, truth = load(data_dir / "scenes" / "bedroom")
    result = QuotientGraph.from_normals(normals, mask, k).optimize()
    assert metrics.relative_error(result.depth, truth) <= 0.035
    error = np.abs(metrics.aligned(result.depth, truth) / truth - 1)
    assert np.nanmean(error[result.confidence > 0.6]) < 0.2 * np.nanmean(error[result.confidence < 0.6])
