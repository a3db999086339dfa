"""How exact the default is, scene by scene: ceilings on the relative error, and never much above the paper's preset."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from quotientgraph import integrate, scenes
from quotientgraph.beyond.automatic_angle import suitable_angle
from quotientgraph.beyond.hidden_jumps import steady_edges
from quotientgraph.geometry.normals import NormalMap
from quotientgraph.graph.pixels import PixelGraph
from quotientgraph.metrics import aligned, relative_error

SHAPE = (128, 160)

# scene, parameters: ceiling in per cent, perspective and orthographic; the paper's preset is in docs/accuracy.md
CEILINGS = {
    ("room", ()): (11.5, 12.5),
    ("stairs", (("view", "front"),)): (0.06, 0.2),
    ("stairs", (("view", "side"),)): (0.06, 0.06),
    ("stairs", (("view", "above"),)): (20.0, 11.0),
    ("boxes", ()): (5.6, 5.5),
    ("step", ()): (0.05, 0.2),
    ("ramp", ()): (0.001, 0.001),
    ("tube", ()): (0.006, 0.04),
    ("torus", ()): (0.08, 0.2),
    ("spheres", ()): (0.9, 0.8),
    ("bumps", ()): (0.002, 0.006),
    ("sphere", ()): (0.04, 0.12),
    ("plane", ()): (1e-6, 1e-6),
}
CASES = [(name, camera) for name in CEILINGS for camera in ("perspective", "orthographic")]


@cache
def scene_of(name, camera, shape=SHAPE):
    return scenes.make(name[0], shape, camera, **dict(name[1]))


def error_of(scene, normals=None, **settings):
    """Relative error in per cent of a scene's depth, from other normals if they are given."""
    seen = scene if normals is None else normals
    result = integrate(seen.normals, seen.mask, seen.camera, "opencv", **settings)
    return 100 * relative_error(result.depth, scene.depth, offset=not scene.camera.central)


@pytest.mark.parametrize(("name", "camera"), CASES, ids=lambda part: part if isinstance(part, str) else part[0])
def test_exact_normals(name, camera):
    """The error of the default stays below the scene's ceiling."""
    ceiling = CEILINGS[name][camera == "orthographic"]
    assert error_of(scene_of(name, camera)) < ceiling


@pytest.mark.parametrize("name", [("step", ()), ("torus", ()), ("boxes", ()), ("spheres", ()), ("sphere", ())], ids=str)
@pytest.mark.parametrize("kind", ["8 bit", "1 degree"])
def test_no_worse_than_the_paper_under_noise(name, kind):
    """Quantised or noisy normals: at most 5 % above the paper's preset, or by nothing one would see."""
    scene = scene_of(name, "perspective")
    seen = scene.quantised() if kind == "8 bit" else scene.with_noise(1.0)
    assert error_of(scene, seen) <= 1.05 * error_of(scene, seen, preset="paper") + 0.005


def test_hidden_jumps_survive_noise():
    """A growing step under noise of 2°: less than a quarter of the paper's error."""
    scene = scene_of(("step", ()), "perspective")
    seen = scene.with_noise(2.0)
    assert error_of(scene, seen) < 0.25 * error_of(scene, seen, preset="paper")


def test_confidence_tells_where_depth_is_a_guess():
    """Among balls before a floor, what is sure is exact, and nearly all of the error is where confidence is low."""
    scene = scene_of(("spheres", ()), "perspective", (256, 320))
    result = integrate(scene.normals, scene.mask, scene.camera, "opencv")
    error = np.abs(aligned(result.depth, scene.depth) / scene.depth - 1)
    sure = result.confidence > 0.8
    assert 0.4 < sure[scene.mask].mean() < 0.95
    assert error[sure].mean() < 1e-3
    assert error[scene.mask & ~sure].sum() > 0.95 * np.nansum(error)


def pixels_of(scene):
    return PixelGraph.from_map(NormalMap.from_array(scene.normals, scene.mask, scene.camera, "opencv"))


def test_the_angle_follows_the_structure():
    """Smooth surfaces: 2°, also with 8-bit normals; noisy or partly rough ones: up to 3.5°; deeply folded ones: 4°."""
    scene = scene_of(("bumps", ()), "perspective")
    for seen in (scene, scene.quantised(), scene.with_noise(0.5)):
        assert suitable_angle(pixels_of(seen)) == 2.0
    assert 2.0 < suitable_angle(pixels_of(scene.with_noise(1.0))) < 3.0
    assert suitable_angle(pixels_of(scene.with_noise(4.0))) == 3.5
    for noise, angle in ((4.0, 3.5), (9.0, 4.0)):
        rough = scene.with_noise(noise).normals
        rough[:, :60] = scene.normals[:, :60]
        assert suitable_angle(pixels_of(replace(scene, normals=rough))) == angle


def test_the_angle_does_not_depend_on_how_a_map_is_held():
    """Bends along rows and along columns count alike, so that a transposed or mirrored map has the same angle."""
    scene = scenes.make("torus", shape=(48, 64), camera="orthographic").with_noise(1.0)
    angles = [
        suitable_angle(PixelGraph.from_map(NormalMap.from_array(normals, mask, scene.camera, "opencv")))
        for normals, mask in (
            (scene.normals, scene.mask),
            (scene.normals.swapaxes(0, 1)[..., [1, 0, 2]], scene.mask.T),
            (scene.normals[:, ::-1] * [-1, 1, 1], scene.mask[:, ::-1]),
        )
    ]
    assert 2.0 < angles[0] < 3.5
    np.testing.assert_allclose(angles, angles[0], rtol=1e-12)


def test_edges_that_stand_out_are_not_steady():
    """Along the border of two turns of the ramp the normals differ little, but far more than elsewhere."""
    pixels = pixels_of(scene_of(("ramp", ()), "perspective"))
    steady = steady_edges(pixels, 3.5)
    truth = scene_of(("ramp", ()), "perspective").depth.ravel()[pixels.map.position]
    jump = np.abs(np.log(truth[pixels.tail] / truth[pixels.head])) > 0.02
    assert jump.any()
    assert not steady[jump].any()
    assert steady[~jump].mean() > 0.95
    flat = pixels_of(scene_of(("plane", ()), "perspective").quantised())
    assert steady_edges(flat, 2.0).all()
