"""Small pieces of a graph, each solved by elimination in the order of its nodes."""

import numpy as np
import pytest

from laplacians.core.edges import connected_labels
from laplacians.core.sharing import at_most
from laplacians.direct import pieces
from laplacians.direct.pieces import solve_pieces
from quotientgraph import solvers


def pixels(height, width, kept, seed=0):
    """The edges of a grid of eight neighbours of which a part is kept: tail, head, weight, target, first of each piece."""
    node = np.arange(height * width, dtype=np.int32).reshape(height, width)
    steps = [
        (node[:, :-1], node[:, 1:]),
        (node[:-1], node[1:]),
        (node[:-1, :-1], node[1:, 1:]),
        (node[:-1, 1:], node[1:, :-1]),
    ]
    tail, head = (np.concatenate([step[i].ravel() for step in steps]) for i in range(2))
    order = np.lexsort([head, tail])
    tail, head, random = tail[order], head[order], np.random.default_rng(seed)
    weight = np.where(random.random(len(tail)) < kept, random.uniform(0.1, 10, len(tail)), 0).astype(np.float32)
    label = connected_labels(node.size, tail[weight > 0], head[weight > 0])
    return (
        tail,
        head,
        weight,
        random.normal(size=len(tail)),
        np.unique(label, return_index=True)[1][label].astype(np.int32),
    )


def flows(n, tail, head, flow):
    return np.bincount(tail, flow, n) - np.bincount(head, flow, n)


@pytest.mark.parametrize(
    ("height", "width", "kept"), [(30, 40, 0.2), (30, 40, 0.35), (9, 8, 1.0), (1, 50, 0.9), (60, 3, 0.8)]
)
def test_pieces_are_solved_exactly(height, width, kept):
    """What is added to the start solves the equations of each piece, and nothing is left of them."""
    tail, head, weight, target, first = pixels(height, width, kept)
    n, given = height * width, weight.astype(np.float64)
    start = np.random.default_rng(1).normal(size=n)
    left = target - (start[tail] - start[head])
    x, rhs = start.copy(), flows(n, tail, head, given * left)
    gain, n_left = solve_pieces(tail, head, weight, first, x, rhs)
    assert n_left == 0
    assert not rhs.any()
    assert not weight.any()
    found = solvers.get("direct").solve(solvers.LaplacianSystem.from_edges(n, tail, head, given, left)).x
    change = x - start - found
    for piece in np.unique(first):
        assert np.ptp(change[first == piece]) < 1e-10
    after = target - (x[tail] - x[head])
    assert gain == pytest.approx(given @ left**2 - given @ after**2, rel=1e-9)


def test_pieces_of_much_work_are_left_alone(monkeypatch):
    """A wide piece stays as it is, with its weights and its right-hand side; the small ones beside it are solved."""
    monkeypatch.setattr(pieces, "_MOST_WORK", 30)
    tail, head, weight, target, first = pixels(40, 40, 0.5)
    before, n = weight.copy(), 1600
    rhs = flows(n, tail, head, before * target)
    given, x = rhs.copy(), np.zeros(n)
    _, n_left = solve_pieces(tail, head, weight, first, x, rhs)
    size = np.bincount(first, minlength=n)[first]
    wide = size > 100
    assert np.count_nonzero((size > 1) & ~wide) > 0
    assert n_left == np.count_nonzero(wide)
    assert not x[wide].any()
    np.testing.assert_array_equal(rhs, np.where(wide, given, 0))
    np.testing.assert_array_equal(weight, np.where(wide[tail], before, 0))


def test_threads_do_not_change_a_bit():
    """Pieces are independent of each other, whoever solves them."""
    results = []
    for n_threads in (1, 3):
        tail, head, weight, target, first = pixels(120, 130, 0.3)
        x, rhs = np.zeros(len(first)), flows(len(first), tail, head, weight * target)
        with at_most(n_threads):
            results.append((x, solve_pieces(tail, head, weight, first, x, rhs)))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    assert results[0][1] == results[1][1]
