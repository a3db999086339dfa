"""Right isosceles triangles that are halved again and again: their errors, and those that remain at a threshold.

A square of side s has the corners 0 to 3 clockwise from the upper left. Halving alternates between two kinds of triangle:

- half squares: the right angle is at a corner, the long side is a diagonal. The corner is an odd one where row + column
  of the square, counted in squares, is even.
- quarter squares: the long side is a side of the square, the right angle is in its middle.

Beyond the right and lower border of the image, vertices are moved to the border; triangles without area vanish there.
"""

from __future__ import annotations

import math

import numpy as np

from laplacians.core.jit import kernel

_ROW = (0, 0, 1, 1)
_COLUMN = (0, 1, 1, 0)


@kernel
def _to_segment(px, py, pz, dx, dy, dz):
    """Distance from p to the segment from 0 to d."""
    square = dx * dx + dy * dy + dz * dz
    t = min(1.0, max(0.0, (px * dx + py * dy + pz * dz) / square)) if square > 0.0 else 0.0
    px, py, pz = px - t * dx, py - t * dy, pz - t * dz
    return math.sqrt(px * px + py * py + pz * pz)


@kernel(error_model="numpy")  # a plane through the camera is infinitely far
def _deviation(points, pixels, torn, central, v0, u0, v1, u1, v2, u2):
    """Largest distance in pixels from a triangle to the surface at the pixels in it; infinite if a torn square is in it.

    Assumes corners inside the image, counter-clockwise to the viewer; a triangle without area in the image has no distance.
    Where pixels share their rays, a triangle can be flat in space or be seen from its edge. A ray that does not meet its
    plane, or meets it at less than half or more than twice the distance, counts by the distance to the nearest side instead.
    """
    if (u1 - u0) * (v2 - v0) == (v1 - v0) * (u2 - u0):
        return 0.0
    top, left = min(v0, v1, v2), min(u0, u1, u2)
    bottom, right = max(v0, v1, v2), max(u0, u1, u2)
    # A triangle with other sides than horizontal, vertical and diagonal ones was moved to the border of the image:
    # then every square of its bounding box counts.
    odd = False
    for dv, du in ((v1 - v0, u1 - u0), (v2 - v1, u2 - u1), (v0 - v2, u0 - u2)):
        odd |= dv != 0 and du != 0 and abs(dv) != abs(du)
    ax, ay, az = points[v0, u0, 0], points[v0, u0, 1], points[v0, u0, 2]
    bx, by, bz = points[v1, u1, 0] - ax, points[v1, u1, 1] - ay, points[v1, u1, 2] - az
    cx, cy, cz = points[v2, u2, 0] - ax, points[v2, u2, 1] - ay, points[v2, u2, 2] - az
    nx, ny, nz = by * cz - bz * cy, bz * cx - bx * cz, bx * cy - by * cx
    level = nx * ax + ny * ay + nz * az
    dx, dy, dz = cx - bx, cy - by, cz - bz
    longest = max(bx * bx + by * by + bz * bz, cx * cx + cy * cy + cz * cz, dx * dx + dy * dy + dz * dz)
    edge_on = abs(level) <= 1e-9 * longest * math.sqrt(ax * ax + ay * ay + az * az)  # or flat, up to rounding
    worst = 0.0
    for v in range(top, bottom + 1):
        for u in range(left, right + 1):
            a = (u1 - u0) * (v - v0) - (v1 - v0) * (u - u0)
            b = (u2 - u1) * (v - v1) - (v2 - v1) * (u - u1)
            c = (u0 - u2) * (v - v2) - (v0 - v2) * (u - u2)
            if v < bottom and u < right and torn[v, u]:
                inside = 2 * a + u1 - u0 - v1 + v0 <= 0 and 2 * b + u2 - u1 - v2 + v1 <= 0
                if odd or (inside and 2 * c + u0 - u2 - v0 + v2 <= 0):
                    return np.inf
            if a <= 0 and b <= 0 and c <= 0:
                px, py, pz = points[v, u, 0], points[v, u, 1], points[v, u, 2]
                here = nx * px + ny * py + nz * pz
                if central:
                    below = 0.0 if edge_on else min(here / level, level / here)
                    far = 1.0 / below - 1.0 if below > 0.0 else np.inf
                    if far > 1.0:
                        side = _to_segment(px - ax, py - ay, pz - az, bx, by, bz)
                        side = min(side, _to_segment(px - ax, py - ay, pz - az, cx, cy, cz))
                        side = min(side, _to_segment(px - ax - bx, py - ay - by, pz - az - bz, dx, dy, dz))
                        far = min(far, side / math.sqrt(px * px + py * py + pz * pz))
                else:
                    far = abs((level - here) / nz)
                worst = max(worst, far * pixels[v, u])
    return worst


@kernel
def find_errors(points, pixels, torn, central, tile, finest, enough, error):
    """Write the error of every vertex of the hierarchy that is not below squares of side 2^finest.

    `error` (rows, columns) is zero before, and has a vertex for each pixel and some beyond the image.
    """
    last_row, last_column = points.shape[0] - 1, points.shape[1] - 1
    side = 2 << finest
    while side <= tile:
        half = side // 2
        for kind in range(2):  # quarter squares, then half squares, which lie above them
            for row in range(0, error.shape[0] - 1, side):
                for column in range(0, error.shape[1] - 1, side):
                    turn = 1 - (row // side + column // side) % 2
                    for k in range(4 if kind == 0 else 2):
                        r = k if kind == 0 else 2 * k + turn
                        v0, u0 = row + side * _ROW[(r + 1) % 4], column + side * _COLUMN[(r + 1) % 4]
                        v1, u1 = row + side * _ROW[r], column + side * _COLUMN[r]
                        v2, u2 = row + side * _ROW[(r + 3) % 4], column + side * _COLUMN[(r + 3) % 4]
                        if kind == 0:
                            v2, u2 = row + half, column + half
                            v, u = (v0 + v1) // 2, (u0 + u1) // 2
                            found = error[v, u]
                            if half > 1:  # the middles of the two smaller squares on either side
                                found = max(found, error[(v0 + v2) // 2, (u0 + u2) // 2])
                                found = max(found, error[(v1 + v2) // 2, (u1 + u2) // 2])
                        else:
                            v, u = row + half, column + half
                            found = max(error[v, u], error[(v0 + v1) // 2, (u0 + u1) // 2])
                            found = max(found, error[(v1 + v2) // 2, (u1 + u2) // 2])
                        if found <= enough and found < np.inf:
                            v0, v1, v2 = min(v0, last_row), min(v1, last_row), min(v2, last_row)
                            u0, u1, u2 = min(u0, last_column), min(u1, last_column), min(u2, last_column)
                            far = _deviation(points, pixels, torn, central, v0, u0, v1, u1, v2, u2)
                            found = max(found, np.float32(far))
                        error[v, u] = found
        side *= 2


@kernel
def count_leaves(points, pixels, torn, central, tile, finest, error, threshold, n_own, whole, out):
    """Count the triangles that are not halved at a threshold; write them to `out` if it is not empty.

    Squares that are resolved fully are set in `whole` instead; `n_own` says how many faces the full mesh has in each.
    Returns the number of faces with those, and the largest deviation (0 if there is nothing to write).
    """
    last_row, last_column = points.shape[0] - 1, points.shape[1] - 1
    n_large, n_small, worst = 0, 0, 0.0
    side = 1 << finest
    while side <= tile:
        half = side // 2
        for row in range(0, error.shape[0] - 1, side):
            for column in range(0, error.shape[1] - 1, side):
                if row >= last_row or column >= last_column:
                    continue
                turn = 1 - (row // side + column // side) % 2
                halved = half >= 1 << finest and error[row + half, column + half] > threshold
                if side == 1:
                    both = tile == 1 or (
                        error[row + _ROW[turn], column + _COLUMN[turn]] > threshold
                        and error[row + _ROW[turn + 2], column + _COLUMN[turn + 2]] > threshold
                    )
                    if both:
                        n_small += n_own[row, column]
                        if len(out):
                            whole[row, column] = True
                        continue
                for k in range(4 if halved else 2):
                    r = k if halved else 2 * k + turn
                    v0, u0 = row + side * _ROW[(r + 1) % 4], column + side * _COLUMN[(r + 1) % 4]
                    v1, u1 = row + side * _ROW[r], column + side * _COLUMN[r]
                    v2, u2 = row + side * _ROW[(r + 3) % 4], column + side * _COLUMN[(r + 3) % 4]
                    if halved:
                        v2, u2 = row + half, column + half
                        if error[(v0 + v1) // 2, (u0 + u1) // 2] > threshold:
                            continue  # halved as well
                    elif side < tile and not error[v1, u1] > threshold:
                        continue  # part of a larger one
                    v0, v1, v2 = min(v0, last_row), min(v1, last_row), min(v2, last_row)
                    u0, u1, u2 = min(u0, last_column), min(u1, last_column), min(u2, last_column)
                    if (u1 - u0) * (v2 - v0) == (v1 - v0) * (u2 - u0):
                        continue
                    if finest > 0 or len(out):
                        far = _deviation(points, pixels, torn, central, v0, u0, v1, u1, v2, u2)
                        if far == np.inf:
                            continue
                        worst = max(worst, far)
                    if len(out):
                        width = last_column + 1
                        out[n_large, 0] = v0 * width + u0
                        out[n_large, 1] = v1 * width + u1
                        out[n_large, 2] = v2 * width + u2
                    n_large += 1
        side *= 2
    return n_large + n_small, worst
