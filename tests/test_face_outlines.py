"""Outlines of faces: hulls, mirror images, and the pixels inside."""

import numpy as np
import pytest

from quotientgraph import Orthographic, Pinhole, QuotientGraph
from quotientgraph.beyond.face_outlines import Sheet, mirrored, within
from quotientgraph.method.filling import fill


@pytest.fixture(params=["pinhole", "orthographic"])
def sheet(request, plane_of):
    """A tilted plane, one component, laid flat."""
    camera = Pinhole.from_fov(40, (24, 32)) if request.param == "pinhole" else Orthographic(0.3)
    graph = QuotientGraph.from_normals(**plane_of(camera=camera).arguments)
    return Sheet(graph, fill(graph).potential, np.arange(graph.pixels.n_pixels))


def place(row, column):
    return np.asarray(row) * 32 + np.asarray(column)


def test_a_corner_is_completed_to_a_parallelogram():
    """Two sides of a rectangle: the other two follow. Three sides: the fourth is where they end."""
    side = np.linspace(0, 1, 60)
    corner = np.concatenate([np.stack([2 * side, 0 * side], 1), np.stack([0 * side, side], 1)])
    triangle = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    whole = mirrored(triangle, corner, 0.02)
    assert whole is not None
    assert within(whole, np.array([[1.9, 0.9], [0.1, 0.1], [2.1, 0.5]]), 0.0).tolist() == [True, True, False]
    three = np.concatenate([corner, np.stack([2 * np.ones(60), side], 1)])
    assert mirrored(np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]]), three, 0.02) is None


def test_a_rectangle_of_pixels_is_found_from_its_border(sheet):
    """Seeds along all four sides enclose what lies between them; a seed of another layer inside forbids it."""
    rows, columns = np.indices((24, 32))
    chosen = (rows >= 5) & (rows <= 15) & (columns >= 8) & (columns <= 24)
    border = chosen & ((rows == 5) | (rows == 15) | (columns == 8) | (columns == 24))
    seeds = np.flatnonzero(border.ravel())
    outline = sheet.outline(seeds, place([1, 20], [1, 30]))
    np.testing.assert_array_equal(np.sort(sheet.inside(outline, seeds)), np.flatnonzero(chosen.ravel()))
    inner = np.flatnonzero(((rows >= 8) & (rows <= 12) & (columns >= 12) & (columns <= 20)).ravel())
    assert sheet.outline(seeds, inner) is None


def test_two_sides_give_the_other_two(sheet):
    """Seeds along the upper and the left side of a rectangle on the plane: most of the rectangle is inside."""
    corner = np.concatenate([place(5, np.arange(8, 25)), place(np.arange(5, 16), 8)])
    outline = sheet.outline(corner, place([1], [1]))
    found = np.zeros(24 * 32, dtype=bool)
    found[sheet.inside(outline, corner)] = True
    found = found.reshape(24, 32)
    assert found[6:14, 9:22].mean() > 0.9
    assert not found[:4].any()
    assert not found[:, :7].any()


def test_a_line_encloses_nothing(sheet):
    assert sheet.outline(place(5, np.arange(8, 25)), place([1], [1])) is None


def test_parts_are_completed_and_numbered_by_piece(sheet):
    """Pixels of no part go to the nearest; a part in two pieces becomes two."""
    part = np.zeros((24, 32), dtype=np.int32)
    part[:, :4], part[:, 28:] = 1, 2
    near = sheet.nearest(part.ravel()).reshape(24, 32)
    assert (near[:, :15] == 1).all()
    assert (near[:, 17:] == 2).all()
    part[:, 28:] = 1
    pieces = sheet.connected(part.ravel()).reshape(24, 32)
    assert len(np.unique(pieces)) == 3
    assert len(np.unique(pieces[part == 1])) == 2
