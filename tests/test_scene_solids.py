"""Solids of the random scenes: every ray stops at the first point of the solid, with the normal of its surface."""

import numpy as np
import pytest

from quotientgraph.scenes.blob import Blob, melted
from quotientgraph.scenes.hollow_solids import Carved, Common, Interior
from quotientgraph.scenes.round_solids import Frustum, Polyhedron, Rounded
from quotientgraph.scenes.solids import Ball, Box, Plane, Torus, along, turned

TILTED = turned(25, "x") @ turned(40) @ turned(-15, "y")
WEDGE = np.array([[-1.0, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, -1], [0.6, 0, 0.8]])

CONVEX = {
    "ball": Ball((0.1, 0, 0.2), 0.7),
    "box": Box((0, 0.1, 0), (1.2, 0.7, 0.9), TILTED),
    "can": Frustum((0, 0, 0.1), 0.5, 0.5, 1.0, TILTED),
    "cone": Frustum((0, 0, 0.1), 0.6, 0.0, 1.1, TILTED),
    "upturned cone": Frustum((0, 0, 0), 0.2, 0.7, 0.5),
    "wedge": Polyhedron((0, 0, 0), WEDGE, np.array([0.5, 0.4, 0.4, 0.3, 0.1]), 1.5, TILTED),
    "ellipsoid": Rounded((0, 0, 0), (0.8, 0.4, 0.5), 2.0, TILTED),
    "cushion": Rounded((0, 0, 0), (0.8, 0.4, 0.5), 4.0, TILTED),
    "nearly a box": Rounded((0, 0, 0), (0.6, 0.6, 0.5), 9.0, TILTED),
    "half a ball": Common((Ball((0, 0, 0), 0.8), Box((0, 0, 0.9), (4, 4, 2), TILTED))),
}


def blob(seed=0):
    draw = np.random.default_rng(seed)
    return Blob((0.1, 0, 0), *melted(draw, 9, 0.35, (1, 1, 1)), draw.uniform(1.2, 3), TILTED)


OTHERS = {
    "cup": Carved(Frustum((0, 0, 0), 0.5, 0.6, 1.0), (Frustum((0, 0, 0.1), 0.4, 0.5, 1.0),)),
    "arch": Carved(Box((0, 0, 0), (1.4, 0.5, 1.2)), (Frustum((0, 0, -0.1), 0.4, 0.4, 2, turned(90, "x")),)),
    "frame": Carved(Box((0, 0, 0), (1, 0.3, 1)), (Box((0.1, 0, 0), (0.5, 1, 0.4)), Box((0, 0, 0.3), (0.3, 1, 0.5)))),
    "blob": blob(),
    "ring": Torus((0, 0, 0), 0.5, 0.2, TILTED),
}


def rays(count=3000, seed=1, distance=4.0):
    """Rays from one point that spread over the ball of radius 1.2 around the origin."""
    draw = np.random.default_rng(seed)
    o = np.array([0.4, -1.0, 0.5]) * distance
    aims = draw.uniform(-1.0, 1.0, size=(3, count))
    return o[:, None], (aims - o[:, None]) / distance


def inside(solid, p):
    """Whether points lie in the solid, by its definition and not by its crossings."""
    if isinstance(solid, Carved):
        return (solid.body.within(p) > 0) & ~np.any([c.within(p) > 0 for c in solid.cavities], axis=0)
    if isinstance(solid, Blob):
        local = solid.rotation.T @ (p - np.reshape(solid.centre, (3, 1)))
        scaled = (local[:, None] - solid.lumps.T[:, :, None]) / solid.halves.T[:, :, None]
        return np.exp(solid.sharpness * (1 - along(scaled, scaled))).sum(axis=0) > 1
    if isinstance(solid, Torus):
        return solid._outside(solid.rotation.T @ (p - np.reshape(solid.centre, (3, 1))))[0] < 0
    return solid.within(p) > 0


@pytest.fixture(params=[*CONVEX.items(), *OTHERS.items()], ids=lambda item: item[0])
def solid(request):
    return request.param[1]


def crossed(solid, count=3000):
    o, d = rays(count)
    with np.errstate(all="ignore"):
        s = solid.distance(o, d)
        hit = np.isfinite(s)
        normal = solid.normal(np.broadcast_to(o, d.shape)[:, hit], d[:, hit], s[hit])
    return o, d, s, hit, normal


def test_each_ray_stops_at_the_surface(solid):
    """Just before the hit a ray is outside, just behind it inside."""
    o, d, s, hit, normal = crossed(solid)
    assert 0.05 < hit.mean() < 0.9
    steep = -along(normal, d[:, hit]) > 0.05  # a ray that grazes is inside for a short while only
    at = o + s[hit] * d[:, hit]
    for step, within in ((-1e-9, False), (1e-9, True)):
        assert (inside(solid, at + step * d[:, hit]) == within)[steep].all()


def test_nothing_lies_before_the_hit(solid):
    """No point of a fine walk along a ray is inside the solid before the hit, nor at all if there is none."""
    o, d, s, _, _ = crossed(solid, 800)
    for t in np.linspace(2.5, 6.5, 800):
        assert not inside(solid, o + t * d)[t < s - 1e-9].any()


def test_the_ball_around_it_holds_it(solid):
    o, d, s, hit, _ = crossed(solid)
    away = o + s[hit] * d[:, hit] - np.reshape(solid.centre, (3, 1))
    assert np.sqrt(along(away, away)).max() <= solid.radius * (1 + 1e-12)


def test_normals_are_those_of_the_surface(solid):
    """A ray beside meets the surface where its tangent plane says, to second order in the distance of the rays."""
    o, d, s, hit, normal = crossed(solid)
    np.testing.assert_allclose(along(normal, normal), 1, atol=1e-12)
    falling = along(normal, d[:, hit])
    assert (falling < 0).all()
    draw = np.random.default_rng(5)
    beside = d + 1e-6 * draw.normal(size=d.shape)
    with np.errstate(all="ignore"):
        met = solid.distance(o, beside)[hit]
    planar = s[hit] * falling / along(normal, beside[:, hit])
    steep = falling < -0.3
    # A few rays beside fall on another face; on the same one only the curvature is left.
    assert (np.abs(met - planar)[steep] < 1e-8).mean() > 0.99


def test_moved_solids_meet_moved_rays(solid):
    o, d, s, hit, normal = crossed(solid)
    turn, shift = turned(70) @ turned(20, "x"), np.array([3.0, -2.0, 1.0])
    moved = solid.moved(turn, shift)
    with np.errstate(all="ignore"):
        again = moved.distance(turn @ o + shift[:, None], turn @ d)
        both = hit & np.isfinite(again)
        assert (hit == np.isfinite(again)).mean() > 0.999  # grazing rays may go either way
        np.testing.assert_allclose(again[both], s[both], atol=1e-9)
        found = moved.normal(
            (turn @ np.broadcast_to(o, d.shape) + shift[:, None])[:, both], (turn @ d)[:, both], again[both]
        )
    difference = np.abs(found - turn @ normal[:, both[hit]]).max(axis=0)
    assert (difference < 1e-6).mean() > 0.999


@pytest.mark.parametrize("name", CONVEX)
def test_spans_are_crossings(name):
    """A convex solid is left where it says: just before that inside, just behind outside."""
    solid = CONVEX[name]
    o, d = rays()
    with np.errstate(all="ignore"):
        enter, leave = solid.span(o, d)
    through = leave - enter > 1e-3
    at = o + leave[through] * d[:, through]
    steep = along(solid.outward(at), d[:, through]) > 0.05
    for step, within in ((-1e-9, True), (1e-9, False)):
        assert ((solid.within(at + step * d[:, through]) > 0) == within)[steep].all()
    assert (along(solid.outward(at), d[:, through]) > 0).mean() > 0.999


def test_a_room_is_left_through_no_opening():
    """From inside two joined rooms with a niche, every ray meets a wall whose normal faces it."""
    main = Box((0, 0, 1), (4, 4, 2))
    cells = (main, Box((1, 3, 1), (1.5, 3, 2)), Frustum((-2, 0, 1), 0.6, 0.6, 1.0), Ball((0, -1.8, 1.2), 0.7))
    room = Interior(cells)
    draw = np.random.default_rng(0)
    d = draw.normal(size=(3, 4000))
    o = np.array([[0.3], [-0.2], [1.1]])
    s = room.distance(o, d)
    assert np.isfinite(s).all()
    at = o + s * d
    normal = room.normal(np.broadcast_to(o, d.shape), d, s)
    assert (along(normal, d) < 0).all()
    for step, within in ((-1e-9, True), (1e-9, False)):
        assert (np.any([c.within(at + step * d) > 0 for c in cells], axis=0) == within).mean() > 0.999
    for t in np.linspace(0, 1, 200)[:-1]:
        assert np.any([c.within(o + t * s * d) > -1e-9 for c in cells], axis=0).all()
    assert (at[1] > 2.5).any()  # some see into the second room


def test_blobs_are_in_one_piece_and_solved_to_rounding():
    """On the surface the sum is 1 to rounding, and each lump overlaps an earlier one."""
    for seed in range(20):
        solid = blob(seed)
        o, d, s, hit, _ = crossed(solid, 1000)
        local = solid.rotation.T @ (o + s[hit] * d[:, hit] - np.reshape(solid.centre, (3, 1)))
        scaled = (local[:, None] - solid.lumps.T[:, :, None]) / solid.halves.T[:, :, None]
        total = np.exp(solid.sharpness * (1 - along(scaled, scaled))).sum(axis=0)
        assert np.abs(total - 1).max() < 1e-11
        for i in range(1, len(solid.lumps)):
            gap = np.linalg.norm((solid.lumps[i] - solid.lumps[:i]) / (solid.halves[i] + solid.halves[:i]), axis=1)
            assert gap.min() < 1


def test_planes_move_with_their_direction():
    plane = Plane(up=(0, 0, 1)).moved(turned(90, "x"), np.array([0.0, 2.0, 0.0]))
    np.testing.assert_allclose(plane.up, (0, -1, 0), atol=1e-15)
    assert plane.distance(np.array([0.0, -1.0, 0.0]), np.array([0.0, 1.0, 0.0])) == pytest.approx(3.0)
