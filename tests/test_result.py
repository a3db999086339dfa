"""`Reconstruction`: depth, points, pieces, residuals."""

import numpy as np
import pytest

from quotientgraph import Orthographic, integrate


def test_shapes_and_blanks(any_toy):
    """Images are (H, W[, 3]) float64, NaN exactly outside the valid pixels; labels are −1 there."""
    result = integrate(**any_toy.arguments)
    shape, outside = any_toy.mask.shape, ~any_toy.mask
    for image in (result.depth, result.points[..., 0], result.points[..., 2], result.normals[..., 1]):
        assert image.shape == shape
        assert image.dtype == np.float64
        np.testing.assert_array_equal(np.isnan(image), outside)
    np.testing.assert_array_equal(result.pieces < 0, outside)
    np.testing.assert_array_equal(np.isnan(result.discontinuity), outside)
    assert len(result.residual) == len(result.broken) == result.graph.pixels.n_edges


def test_depth_is_normalised_over_each_piece(toy):
    """Central cameras: geometric mean 1 over each piece. Orthographic: mean 0, in the unit of the pixel size."""
    result = integrate(**toy("disconnected").arguments)
    for piece in range(result.n_pieces):
        assert np.log(result.depth[result.pieces == piece]).mean() == pytest.approx(0, abs=1e-12)
    assert integrate(**toy("step").arguments).depth.mean() == pytest.approx(0, abs=1e-12)


def test_pixel_size_is_the_unit_of_depth(toy):
    """Depth through an orthographic camera scales with its pixel size; points do in all directions."""
    scene = toy("step")
    fine, coarse = (integrate(**{**scene.arguments, "camera": Orthographic(s)}) for s in (1.0, 2.5))
    np.testing.assert_allclose(coarse.depth, 2.5 * fine.depth, atol=1e-12)
    np.testing.assert_allclose(coarse.points, 2.5 * fine.points, atol=1e-12)


def test_islands_are_pieces(toy):
    """Each island is solved, labelled and reported: their relative depth is not determined by the normals."""
    scene = toy("disconnected")
    result = integrate(**scene.arguments)
    assert result.n_pieces == 3
    assert result.converged
    assert any("3 separate pieces" in text and "not determined" in text for text in result.warnings)
    for piece in range(3):
        ratio = (result.depth / scene.depth)[result.pieces == piece]
        assert np.ptp(ratio) / ratio.mean() < 1e-9


def test_nothing_to_warn_of(toy):
    """A clean plane has no warnings and one piece."""
    result = integrate(**toy("plane").arguments)
    assert result.warnings == []
    assert (result.n_pieces, result.converged, result.device) == (1, True, "cpu")
    assert set(result.seconds) == {"graph", "components", "filling", "scales"}


def test_points_lie_on_the_plane(toy):
    """The points of a plane satisfy its equation n·X = const."""
    scene = toy("plane")
    result = integrate(**scene.arguments)
    heights = result.points @ scene.normals[0, 0]
    assert np.ptp(heights) < 1e-9 * np.abs(heights).mean()


def test_residuals_are_lengths_in_pixels(toy):
    """On a plane there is no discontinuity; at a step the residual is its height in pixels, and the surface is cut."""
    plane = integrate(**toy("plane").arguments)
    assert np.abs(plane.residual).max() < 1e-9
    assert not plane.broken.any()
    step = integrate(**toy("step").arguments)
    assert step.discontinuity[-1, 14] > 3.77
    assert step.discontinuity[10, 3] < 1e-9
    assert step.broken.any()
    cut = np.flatnonzero(step.broken)
    assert set(cut) <= set(step.graph.cut.tolist())


def test_residual_of_a_central_camera_scales_with_the_focal_length(toy):
    """φ_tail − φ_head − jump times f."""
    result = integrate(**toy("sphere").arguments)
    graph = result.graph
    plain = graph.residual(result.potential, np.arange(graph.pixels.n_edges))
    np.testing.assert_allclose(result.residual, plain * graph.pixels.map.camera.fx, atol=1e-15)


def test_results_are_immutable(toy):
    """A reconstruction is a record: its fields cannot be rebound."""
    result = integrate(**toy("plane").arguments)
    with pytest.raises(AttributeError):
        result.converged = False
