"""Consensus: runs of edges that agree, creases where borders put them, and a start that listens to borders."""

from dataclasses import replace

import numpy as np
import pytest

from quotientgraph import QuotientGraph, integrate, scenes
from quotientgraph.beyond.contacts import residual_range
from quotientgraph.beyond.runs import Runs, agreed
from quotientgraph.method.cutedges import CutEdges
from quotientgraph.method.weights import Outliers, pair_terms, pair_terms_over


@pytest.fixture(scope="module")
def flight():
    """Stairs from the side: graph, filled potential, cut edges, ranges, and the true shift of each component."""
    scene = scenes.make("stairs", (128, 160), view="side")
    graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", angle=2.0)
    potential = graph.filled()
    cut = CutEdges.from_graph(graph, potential, Outliers().scale(graph.pixels.map))
    truth = scene.camera.potential(scene.depth).ravel()[graph.pixels.map.position] - potential
    shift = np.array([np.median(truth[graph.labels == c]) for c in range(graph.n_components)])
    return graph, potential, cut, residual_range(graph, cut), shift


def test_the_largest_runs_hold_the_true_offsets(flight):
    """Most long borders of the stairs are contact: their largest run contains the true offset, to a tenth of a pixel."""
    graph, _, cut, _, shift = flight
    runs = Runs.find(graph, cut, least=30, most=1, tolerance=0.02)
    assert len(runs.pair) > 20
    assert (runs.lower <= runs.upper).all()
    np.testing.assert_array_equal(np.bincount(runs.of[runs.of >= 0]), runs.votes)
    offset = (shift[cut.pattern.tail] - shift[cut.pattern.head])[runs.pair]
    off = np.maximum(runs.lower - offset, offset - runs.upper) * np.median(graph.pixels.focal_at(cut.number))
    assert np.mean(off < 0.1) > 0.8


def test_runs_are_what_a_search_by_hand_finds(flight):
    """The votes of each border's first run are the most intervals that any of their ends lies in."""
    graph, _, cut, contact, _ = flight
    least = 12
    runs = Runs.find(graph, cut, least, most=3, tolerance=0.0)
    first = {int(p): int(v) for p, v in zip(runs.pair[::-1], runs.votes[::-1])}
    normals, pixels = graph.pixels.map.normals, graph.pixels
    dot = np.sum(normals[pixels.tail[cut.number]] * normals[pixels.head[cut.number]], axis=1)
    lower, upper = contact - cut.residual
    for p in range(cut.pattern.n_pairs):
        e = np.arange(cut.start[p], cut.start[p + 1])
        if len(e) < least:
            assert p not in first
            continue
        e = e[dot[e] < np.cos(np.radians(8))]
        most = max((np.sum((lower[e] <= x) & (x <= upper[e])) for x in lower[e]), default=0)
        assert first.get(p, 0) == (most if most >= least else 0)


def test_drifting_offsets_show_beside_a_run(flight):
    """Where all edges of a border ask for one offset, none asks for one beside it; where offsets drift, many do."""
    graph, _, cut, contact, _ = flight
    focal, size = graph.pixels.focal_at(cut.number), np.diff(cut.start)
    along = np.arange(len(cut.number)) - np.repeat(cut.start[:-1], size)
    share = {}
    for drift in (0.0, 0.05):
        asked = replace(cut, residual=contact.mean(axis=0) + drift * along / focal)
        runs = Runs.find(graph, asked, least=16, most=1, tolerance=0.0)
        long = size[runs.pair] > 100
        share[drift] = np.mean(runs.aside[long] / runs.votes[long])
    assert share[0.0] < 0.1 < 0.5 < share[0.05]


def test_agreed_creases_rest_at_the_truth(flight):
    """At the true offsets, edges that agree have no pull beyond their slack, and the slack is narrower than before."""
    graph, _, cut, contact, shift = flight
    together = agreed(graph, cut, contact)
    moved = np.flatnonzero(together.residual != cut.residual)
    assert len(moved) > 0.5 * len(cut.number)
    room = np.ptp(together.slack[:, moved], axis=0)
    assert np.median(room / np.maximum(np.ptp(contact[:, moved], axis=0), 1e-12)) < 0.5
    chi = together.residuals(shift)[moved] * graph.pixels.focal_at(cut.number)[moved]
    assert np.mean(np.abs(chi) < 0.3) > 0.8
    assert cut.slack is None


@pytest.mark.parametrize("bilateral", [False, True])
def test_shares_scale_the_terms_of_their_pairs(flight, bilateral):
    """The share multiplies weight, flow and energy of a pair, in both bodies."""
    _, _, cut, _, shift = flight
    share = np.random.default_rng(0).uniform(0.1, 1, cut.pattern.n_pairs)
    shared = replace(cut, share=share)
    for body in (pair_terms, lambda *args: pair_terms_over(np, *args)):
        plain = body(cut, shift, bilateral, Outliers())
        np.testing.assert_allclose(body(shared, shift, bilateral, Outliers()), plain * share, rtol=1e-12)


@pytest.mark.parametrize("view", ["front", "side"])
def test_the_consensus_start_finds_the_stairs(view):
    """From a uniform start the stairs end at half a per cent or more; from consensus within a tenth."""
    scene = scenes.make("stairs", (128, 160), view=view)
    error = {}
    for alignment in ("uniform", "consensus", "auto"):
        result = integrate(scene.normals, scene.mask, scene.camera, "opencv", angle=2.0, alignment=alignment)
        ratio = result.depth / scene.depth
        error[alignment] = np.nanmean(np.abs(ratio / np.nanmedian(ratio) - 1))
    assert error["consensus"] < 1e-3 < 4e-3 < error["uniform"]
    assert error["auto"] < 1e-3
