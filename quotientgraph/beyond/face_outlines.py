"""Outlines of faces of which only some edges are seen.

The edges of a face that show are those at which another face falls away towards the viewer. The others lie between
surfaces of equal normals and show nowhere. Things that people make are symmetric more often than not, so the unseen edges
are guessed from the seen ones, in coordinates of the plane: a rim is part of a circle, two sides of a parallelogram tell the
other two, three sides of a rectangle the fourth, and behind a single edge lies a square. An edge that leaves the picture
goes on outside.
"""

from __future__ import annotations

import numpy as np

_ROUND = 0.1  # root mean square distance of the points of a rim from a circle, in heights of the arc over its chord
_ARC, _BENT = 70.0, 5  # degrees of a circle that a rim must cover, and straight pieces that it consists of
_STRAIGHT, _OPPOSITE = (
    20.0,
    150.0,
)  # degrees that a straight line turns at most, and three sides of a rectangle at least
_FAR = 30.0  # lengths of the seen edges that an edge goes on outside the picture
_CONVEX = 0.85  # least share of its convex hull that a face covers
_BROAD = 0.03  # least area of a face in squares of the length of its seen edges


def whole_outline(
    vertices: np.ndarray, points: np.ndarray, closed: bool, leaves: tuple[bool, bool], left: float
) -> np.ndarray | None:
    """The polygon of a face from the chain of its seen edges.

    Parameters
    ----------
    vertices : (n + 1, 2) float64
        Corners of the chain in coordinates of the plane.
    points : (m, 2) float64
        Points along it, in its order.
    closed : bool
        Whether it closes.
    leaves : (bool, bool)
        Whether its first and its last corner lie at the edge of the picture.
    left : float
        1 if the left of someone who walks along the chain is the left in these coordinates, −1 if it is the right.

    Returns
    -------
    (k, 2) float64 or None
        Corners in the direction of the chain; None where nothing can be guessed.
    """
    if not (np.isfinite(vertices).all() and np.isfinite(points).all()):
        return None
    step = np.diff(vertices, axis=0)
    length = float(np.hypot(*step.T).sum())
    if not length > 0 or (all(leaves) and not closed):
        return None
    heading = np.arctan2(step[:, 1], step[:, 0])
    turn = np.degrees(((np.diff(heading) + np.pi) % (2 * np.pi) - np.pi).sum())
    if closed:
        return _if_broad(vertices[:-1], length)
    if len(step) >= _BENT and (circle := _circle(points, length)) is not None:
        return circle if turn > 0 else circle[::-1]
    if abs(turn) <= _STRAIGHT:
        return _behind(vertices[0], vertices[-1], leaves, left)
    if abs(turn) > _OPPOSITE:
        return _if_broad(vertices, length)
    if any(leaves):
        return _going_on(vertices, leaves, length)
    return _if_broad(np.concatenate([vertices, vertices[0] + vertices[-1] - vertices[1:-1]]), length)


def signed_area(polygon: np.ndarray) -> float:
    """The area of a polygon (n, 2), positive if its corners turn to the left."""
    x, y = polygon.T
    return 0.5 * float(np.dot(x, next_ones(y)) - np.dot(y, next_ones(x)))


def next_ones(values: np.ndarray) -> np.ndarray:
    """For each value the next one, and for the last one the first; `np.roll` takes ten times as long."""
    return np.concatenate([values[1:], values[:1]])


def _if_broad(polygon: np.ndarray, length: float) -> np.ndarray | None:
    """The polygon if it is nearly convex, and no sliver."""
    area = abs(signed_area(polygon))
    if len(polygon) < 3 or area < _BROAD * length * length:
        return None
    return polygon if area >= _CONVEX * hull_area(polygon) else None


def hull_area(points: np.ndarray) -> float:
    """The area of the convex hull of points (n, 2). SciPy's takes longer to load than many integrations take.

    >>> hull_area(np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.2], [0.0, 1.0]]))
    0.5
    """
    from_left = sorted(map(tuple, points.tolist()))
    hull: list[tuple[float, float]] = []
    for walk in (from_left, from_left[::-1]):  # along the lower side, and back along the upper one
        side: list[tuple[float, float]] = []
        for x, y in walk:
            while len(side) > 1:
                (x0, y0), (x1, y1) = side[-2:]
                if (x1 - x0) * (y - y0) > (y1 - y0) * (x - x0):  # it turns to the left
                    break
                side.pop()
            side.append((x, y))
        hull += side[:-1]
    return signed_area(np.array(hull)) if len(hull) > 2 else 0.0


def _circle(points: np.ndarray, length: float) -> np.ndarray | None:
    """The circle through the points of a rim, if they follow one and cover enough of it."""
    middle = points.mean(axis=0)
    x = points - middle
    solution = np.linalg.lstsq(np.column_stack([2 * x, np.ones(len(x))]), (x * x).sum(axis=1), rcond=None)[0]
    centre, radius = solution[:2], np.sqrt(max(solution[2] + solution[:2] @ solution[:2], 0.0))
    away = x - centre
    covered = np.ptp(np.unwrap(np.arctan2(away[:, 1], away[:, 0])))
    misfit, height = np.sqrt(np.mean((np.hypot(*away.T) - radius) ** 2)), length * covered / 8
    if misfit > _ROUND * height or covered < np.radians(_ARC):
        return None
    middle_of_rim = away.mean(axis=0)  # the polygon is symmetric about it, whichever way the rim is walked
    angle = np.arctan2(middle_of_rim[1], middle_of_rim[0]) + np.linspace(0, 2 * np.pi, 72, endpoint=False)
    return middle + centre + radius * np.column_stack([np.cos(angle), np.sin(angle)])


def _behind(first: np.ndarray, last: np.ndarray, leaves: tuple[bool, bool], left: float) -> np.ndarray | None:
    """The square behind an edge; a strip without an end if the edge leaves the picture."""
    edge = last - first
    length = float(np.hypot(*edge))
    if not length > 0:
        return None
    back = left * np.array([-edge[1], edge[0]])
    if any(leaves):
        back = _FAR * back
        first, last = first - leaves[0] * _FAR * edge, last + leaves[1] * _FAR * edge
    return np.array([first, last, last + back, first + back])


def _going_on(vertices: np.ndarray, leaves: tuple[bool, bool], length: float) -> np.ndarray:
    """The face between an edge that leaves the picture and the edge parallel to it from the other end of the chain."""
    inward = vertices if leaves[1] else vertices[::-1]
    edge = inward[-1] - inward[-2]
    away = _FAR * length * edge / max(float(np.hypot(*edge)), 1e-300)
    polygon = np.concatenate([inward, [inward[-1] + away, inward[0] + away]])
    return polygon if leaves[1] else polygon[::-1]
