"""Priors and anchors: what is known of depth beside the normals."""

import numpy as np
import pytest
from scipy import ndimage, sparse, stats

from quotientgraph import Pinhole, QuotientGraph, integrate, scenes
from quotientgraph.bench.coarse_depths import MAKES, coarse_depth
from quotientgraph.beyond.prior.bend import gram
from quotientgraph.beyond.prior.cells import medians
from quotientgraph.beyond.prior.regions import merged
from quotientgraph.beyond.prior.ties import Ties
from quotientgraph.io import read_normals
from quotientgraph.metrics import aligned, made, relative_error


@pytest.fixture(scope="module")
def islands():
    return scenes.make("islands", shape=(96, 120))


@pytest.fixture(scope="module")
def spheres():
    return scenes.make("spheres", shape=(96, 120))


def solved(scene, **settings):
    return integrate(scene.normals, scene.mask, scene.camera, "opencv", **settings)


def anchors_of(scene, pieces):
    """The depth of one pixel of each piece."""
    places = [np.argwhere(pieces == piece)[np.count_nonzero(pieces == piece) // 2] for piece in range(pieces.max() + 1)]
    return [(u, v, scene.depth[v, u]) for v, u in places]


@pytest.mark.parametrize("camera", ["perspective", "orthographic"])
def test_anchors_fix_the_depth_of_separate_pieces(camera):
    """One known pixel a piece puts all pieces to their absolute depth, without any alignment."""
    scene = scenes.make("islands", shape=(96, 120), camera=camera)
    plain = solved(scene)
    assert plain.n_pieces > 1
    result = solved(scene, anchors=anchors_of(scene, plain.pieces))
    error = np.abs(result.depth - scene.depth)[scene.mask & np.isfinite(result.depth)]
    assert np.median(error) < 0.01 * np.nanmedian(np.abs(scene.depth))


def test_an_anchor_sets_the_scale(spheres):
    """With one anchor the depth at that pixel is the anchor's."""
    result = solved(spheres, anchors=[(60, 48, 7.0)])
    assert result.depth[48, 60] == pytest.approx(7.0, rel=1e-3)


@pytest.mark.parametrize("preset", ["best", "paper"])
def test_anchors_fix_the_depth_of_what_has_no_borders(preset):
    """Each of two separate planes is one component: no border is there to solve for, and the anchors hold all the same."""
    shape = (24, 40)
    normals = np.tile([0.0, 0.0, -1.0], (*shape, 1))
    normals[:, 18:22] = np.nan
    result = integrate(
        normals, None, Pinhole.from_fov(40, shape), "opencv", preset=preset, anchors=[(5, 9, 2.5), (30, 9, 4.0)]
    )
    assert result.absolute
    assert not [text for text in result.warnings if text.startswith("anchors")]
    np.testing.assert_allclose(result.depth[:, :18], 2.5, rtol=1e-6)
    np.testing.assert_allclose(result.depth[:, 22:], 4.0, rtol=1e-6)


@pytest.fixture(scope="module")
def pair():
    """Two flat pieces with nothing between them: normals, mask and camera."""
    mask = np.ones((20, 40), dtype=bool)
    mask[:, 18:22] = False
    return np.tile([0.0, 0.0, -1.0], (20, 40, 1)), mask, Pinhole.from_fov(50, mask.shape)


@pytest.mark.parametrize(
    "settings", [{}, {"joining": "none"}, {"preset": "paper"}, {"method": "pixels"}, {"angle": None}]
)
def test_one_anchor_gives_all_pieces_its_unit(pair, settings):
    """A piece without an anchor is moved as the others are, and does not stay at a scale of its own."""
    result = integrate(*pair, "opencv", anchors=[(5, 5, 2500.0)], **settings)
    np.testing.assert_allclose(result.depth[pair[1]], 2500, rtol=1e-6)


@pytest.mark.parametrize("known", [2500.0, (2000.0, 3000.0)], ids=["one", "two"])
def test_what_a_prior_does_not_know_has_its_unit(pair, known):
    """A piece without prior stands among those that have one."""
    normals, mask, camera = pair
    mask = mask.copy()
    mask[9:11] = False
    prior = np.full(mask.shape, np.nan)
    prior[:9, :18], prior[11:, :18] = known if isinstance(known, tuple) else (known, known)
    result = integrate(normals, mask, camera, "opencv", prior=prior)
    assert result.n_pieces == 4
    np.testing.assert_allclose(result.depth[:9, :18], prior[:9, :18], rtol=1e-3)
    assert (
        np.nanmin(prior) * 0.999 < np.nanmin(result.depth[:, 22:]) <= np.nanmax(result.depth) < 1.001 * np.nanmax(prior)
    )


def test_several_anchors_on_a_piece_move_it_by_their_mean(pair):
    """Anchors that differ are met on the whole, and so is their scale elsewhere."""
    result = integrate(*pair, "opencv", anchors=[(5, 5, 2000.0), (9, 9, 3000.0)], joining="none")
    np.testing.assert_allclose(result.depth[pair[1]], np.sqrt(2000 * 3000), rtol=1e-6)


@pytest.mark.parametrize("between", [0.4, 0.5, 0.6])
def test_a_vague_cell_does_not_join_what_differs(between):
    """A cell across an edge may belong to either side, and goes to one of them: the sides differ by far."""
    middle, variance = np.array([0.0, between, 1.0]), np.array([1e-6, 4.0, 1e-6])
    region = merged(np.array([0, 1]), np.array([1, 2]), middle, variance, 0.01, 3.0)
    assert region[0] != region[2]
    assert region[1] in (region[0], region[2])


def test_many_alike_cells_are_merged_at_once():
    """A star of equal cells is one region, and cells without a prior join what is around them."""
    star = merged(np.zeros(49, dtype=int), np.arange(1, 50), np.zeros(50), np.full(50, 1e-3), 0.01, 3.0)
    assert not star.any()
    middle, variance = np.array([1.0, 0.0, 0.0, 1.0]), np.array([1e-6, np.inf, np.inf, 1e-6])
    assert not merged(np.array([0, 1, 2]), np.array([1, 2, 3]), middle, variance, 0.01, 3.0).any()


def test_a_prior_of_wrong_scale_decides_full_discontinuities(spheres):
    """A noisy prior in other units is better than none, and the result is far better than the prior."""
    noise = 1 + 0.01 * np.random.default_rng(0).standard_normal(spheres.depth.shape)
    prior = 3.7 * spheres.depth * noise
    result = solved(spheres, prior=prior)
    assert relative_error(result.depth, spheres.depth) < min(
        0.003, relative_error(solved(spheres).depth, spheres.depth)
    )
    assert np.nanmedian(result.depth / spheres.depth) == pytest.approx(3.7, rel=0.01)


@pytest.mark.parametrize("offset", [-0.3, 0.3, 1.0])
def test_a_prior_may_have_holes_and_an_offset(spheres, offset):
    """NaN means unknown; an offset of a predicted depth is found from the surfaces, and is gone from the result."""
    noise = 1 + 0.01 * np.random.default_rng(0).standard_normal(spheres.depth.shape)
    prior = 3.7 * (spheres.depth * noise + offset * np.nanmedian(spheres.depth))
    prior[::2] = np.nan
    result = solved(spheres, prior=prior)
    assert relative_error(result.depth, spheres.depth) < 0.008
    assert np.nanmedian(result.depth / spheres.depth) == pytest.approx(3.7, rel=0.02)


def test_an_orthographic_prior_may_have_a_factor():
    scene = scenes.make("spheres", shape=(96, 120), camera="orthographic")
    result = solved(scene, prior=1.5 * scene.depth + 3)
    assert made(result.depth, scene.depth, True) < 0.002 * np.nanstd(scene.depth)


def test_a_prior_without_relief_keeps_its_offset():
    """A plane that faces the camera tells nothing of an offset, so none is taken out."""
    shape = (24, 30)
    normals = np.tile([0.0, 0.0, -1.0], (*shape, 1))
    noise = 0.01 * np.random.default_rng(0).standard_normal(shape)
    result = integrate(normals, None, Pinhole.from_fov(40, shape), "opencv", prior=5 + noise)
    np.testing.assert_allclose(result.depth, 5, rtol=2e-3)


def noisy(depth, noise=0.01, outliers=0.02):
    """A depth map of another scale, with noise, some of its pixels wrong by any factor up to 2."""
    rng = np.random.default_rng(1)
    wrong = np.where(rng.random(depth.shape) < outliers, rng.uniform(0.5, 2, depth.shape), 1)
    return 2 * depth * (1 + noise * rng.standard_normal(depth.shape)) * wrong


@pytest.mark.parametrize("name", ["room", "boxes"])
def test_a_prior_parts_what_has_one_normal(name):
    """Table top and floor are one component to the normals; a prior with noise and outliers parts them."""
    scene = scenes.make(name, shape=(120, 150))
    prior = noisy(scene.depth)
    result = solved(scene, prior=prior)
    assert relative_error(result.depth, scene.depth) < 0.25 * relative_error(prior, scene.depth)
    assert relative_error(solved(scene, joining="none").depth, scene.depth) > 0.02


def test_noise_parts_nothing():
    """Noise, outliers and a wrong scale are no jumps: a smooth surface stays as it is, in as many components."""
    scene = scenes.make("bumps", shape=(96, 120))
    plain = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv")
    for noise in (0.0, 0.01, 0.05):
        split = plain.optimize(prior=noisy(scene.depth, noise)).levels[0]
        assert split.n_components <= plain.n_components + 2
    holes = np.where(np.indices(scene.shape).sum(axis=0) % 2, np.nan, scene.depth)
    assert plain.optimize(prior=holes).levels[0].n_components == plain.n_components


def test_a_prior_goes_with_merging(spheres):
    """Ground edges are made anew for every level."""
    result = solved(spheres, prior=spheres.depth, merge_every=3, max_iterations=12)
    assert len(result.levels) > 1
    assert relative_error(result.depth, spheres.depth) < 0.01


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"prior": np.ones((3, 3))}, "prior: its shape"),
        ({"prior": np.full((96, 120), -1.0)}, "prior: it has no usable depth"),
        ({"prior": np.ones((96, 120)), "prior_weight": 0}, "prior_weight"),
        ({"prior": np.ones((96, 120)), "prior_kind": "height"}, "prior_kind"),
        ({"prior": np.ones((96, 120)), "prior_confidence": np.full((96, 120), 2.0)}, "prior_confidence: values"),
        ({"prior_confidence": np.ones((96, 120))}, "prior_confidence: there is no prior"),
        ({"anchors": [(500, 3, 1.0)]}, "anchors: .* outside"),
        ({"anchors": [(0, 0, 1.0)]}, "anchors: the pixel .* is not valid"),
        ({"anchors": [(1, 2)]}, "anchors: expected"),
    ],
)
def test_bad_input_is_named(islands, settings, message):
    """Errors name the argument and the remedy."""
    with pytest.raises(ValueError, match=message):
        solved(islands, **settings)


def test_an_anchor_needs_a_positive_depth(spheres):
    """A central camera sees nothing behind it."""
    with pytest.raises(ValueError, match="anchors: the depth"):
        solved(spheres, anchors=[(60, 48, -1.0)])


def coarse(depth, seed=0, size=0.05, noise=0.02, blur=4.0):
    """A depth map as networks make it: blurred, with a smooth error, noise, and a scale of its own."""
    rng, known = np.random.default_rng(seed), np.isfinite(depth)
    share = ndimage.gaussian_filter(known.astype(float), blur)
    soft = ndimage.gaussian_filter(np.where(known, depth, 0.0), blur) / np.maximum(share, 1e-9)
    row, column = (index / max(depth.shape) for index in np.indices(depth.shape))
    bend = size * np.sin(2 * np.pi * (0.9 * column + 0.5 * row) + rng.uniform(0, 6))
    return np.where(known, 2.7 * soft * (1 + bend) * (1 + noise * rng.standard_normal(depth.shape)), np.nan)


@pytest.mark.parametrize("name", ["room", "boxes", "spheres", "stairs"])
def test_a_realistic_prior_leaves_little_of_its_own_error(name):
    """Noise, blurred edges and the smooth error of the prior are not inherited, and normals alone are not better."""
    scene = scenes.make(name, shape=(240, 300))
    prior = coarse(scene.depth)
    error = relative_error(solved(scene, prior=prior).depth, scene.depth)
    assert error < 0.5 * relative_error(prior, scene.depth)
    assert error < max(1.05 * relative_error(solved(scene).depth, scene.depth), 0.012)


def test_what_normals_know_stays():
    """On a surface that normals reconstruct by themselves, a prior of 5 % smooth error and noise does no harm."""
    scene = scenes.make("bumps", shape=(150, 200))
    alone = relative_error(solved(scene).depth, scene.depth)
    assert relative_error(solved(scene, prior=coarse(scene.depth)).depth, scene.depth) < max(1.05 * alone, 5e-4)


@pytest.mark.parametrize(
    ("kind", "made_of"),
    [
        ("auto", lambda z: 3 / z),
        ("disparity", lambda z: 3 / z),
        ("affine-disparity", lambda z: 3 / z + 0.2),
        ("affine", lambda z: 3 * z + 2),
        ("auto", lambda z: 3 * z + 2),
    ],
)
def test_kinds_of_priors(spheres, kind, made_of):
    """Disparity and an unknown offset are understood, told or not."""
    noise = 1 + 0.01 * np.random.default_rng(0).standard_normal(spheres.shape)
    result = solved(spheres, prior=made_of(spheres.depth * noise), prior_kind=kind)
    assert relative_error(result.depth, spheres.depth) < 0.004


@pytest.mark.parametrize("offset", [3.0, -12.0])
@pytest.mark.parametrize("unknown", ["zeros", "a filler", "an outlier", "distrusted"])
def test_what_says_nothing_moves_nothing(spheres, unknown, offset):
    """Of a prior with an unknown offset, negative values or not, what stands for unknown depth is as good as NaN."""
    rng = np.random.default_rng(0)
    good = 2 * spheres.depth * (1 + 0.01 * rng.standard_normal(spheres.shape)) + offset
    assert (np.mean(good[spheres.mask] < 0) > 0.2) == (offset < 0)
    holes = rng.random(spheres.shape) < 0.3
    if unknown == "an outlier":
        holes = np.arange(good.size).reshape(good.shape) == 60 * 96
    bad = np.where(holes, {"zeros": 0.0, "a filler": -1.0 if offset > 0 else -30.0}.get(unknown, -9999.0), good)
    if unknown == "distrusted":
        bad = np.where(holes, rng.uniform(-9999, 9999, good.shape), good)
    sure = np.where(holes, 0.0, 1.0) if unknown == "distrusted" else None
    result = solved(spheres, prior=bad, prior_kind="affine", prior_confidence=sure)
    expected = solved(spheres, prior=np.where(holes, np.nan, good), prior_kind="affine")
    np.testing.assert_allclose(
        result.depth / np.nanmedian(result.depth), expected.depth / np.nanmedian(expected.depth), rtol=2e-3
    )
    assert relative_error(result.depth, spheres.depth) < 0.004
    warned = ["one negative number" in text for text in result.warnings if "negative" in text]
    assert warned == ([True] if unknown == "a filler" else [])


def test_blur_is_not_read_as_an_offset():
    """Blur flattens what stands in shelves, as an offset would. With one borders are torn, so this is read as depth."""
    scene = scenes.random("shelves", 1)
    prior = coarse_depth(scene, "poor")
    alone, told, both = (
        relative_error(depth, scene.depth) for depth in (solved(scene).depth, prior, solved(scene, prior=prior).depth)
    )
    assert both < 1.3 * min(alone, told)


@pytest.mark.parametrize(("share", "part"), [(0.003, 0.95), (0.02, 0.6)])
def test_a_sparse_prior_with_outliers(share, part):
    """Points, a tenth of them wrong by any factor up to 2, bring the surfaces of a room nearer to their places."""
    scene = scenes.make("room", shape=(240, 300))
    rng = np.random.default_rng(0)
    wrong = np.where(rng.random(scene.shape) < 0.1, rng.uniform(0.5, 2, scene.shape), 1)
    points = scene.depth * (1 + 0.01 * rng.standard_normal(scene.shape)) * wrong
    prior = np.where(rng.random(scene.shape) < share, points, np.nan)
    alone = relative_error(solved(scene).depth, scene.depth)
    assert relative_error(solved(scene, prior=prior).depth, scene.depth) < part * alone


def test_a_pixel_of_no_confidence_says_nothing(spheres):
    """Where the confidence is 0 the prior may say anything."""
    rng = np.random.default_rng(0)
    sure = (rng.random(spheres.shape) < 0.7).astype(float)
    good = spheres.depth * (1 + 0.01 * rng.standard_normal(spheres.shape))
    bad = np.where(sure > 0, good, 5 * spheres.depth)
    one = solved(spheres, prior=bad, prior_confidence=sure)
    other = solved(spheres, prior=np.where(sure > 0, good, np.nan))
    np.testing.assert_allclose(one.depth, other.depth)


def test_anchors_move_what_the_prior_placed(spheres):
    """The depth at an anchor is the anchor's, and what it does not touch keeps the prior's relative place."""
    noise = 1 + 0.01 * np.random.default_rng(0).standard_normal(spheres.depth.shape)
    result = solved(spheres, prior=spheres.depth * noise, anchors=[(60, 48, 7 * spheres.depth[48, 60])])
    assert result.depth[48, 60] == pytest.approx(7 * spheres.depth[48, 60])
    assert np.nanmedian(result.depth / spheres.depth) == pytest.approx(7, rel=0.01)
    assert relative_error(result.depth, spheres.depth) < 0.004


def test_confidence_with_a_prior_ranks_the_error():
    """Pixels that are off by more than 2 % have less confidence than others in most comparisons."""
    scene = scenes.make("room", shape=(240, 300))
    result = solved(scene, prior=coarse(scene.depth))
    wrong = np.abs(aligned(result.depth, scene.depth) / scene.depth - 1)[scene.mask] > 0.02
    rank = stats.rankdata(result.confidence[scene.mask])
    assert 0 < wrong.sum() < wrong.size
    below = rank[~wrong].mean() - (np.count_nonzero(~wrong) + 1) / 2
    assert below / np.count_nonzero(wrong) > 0.75
    assert np.nanmax(result.confidence) <= 1


@pytest.fixture(scope="module")
def goblet(data_dir):
    """The graph of DiLiGenT's goblet and its true depth in mm: from normals alone its error is 0.29 mm."""
    found = read_normals(data_dir / "diligent" / "goblet")
    return QuotientGraph.from_normals(found.normals, found.mask, found.camera, "opengl"), found.read_truth()


@pytest.mark.parametrize(
    ("factor", "offset", "limit"), [(1.0, 0, 0.5), (3.7, 0, 0.5), (0.4, 300, 0.6), (1.0, -300, 1.0)]
)
def test_goblet_with_a_prior(goblet, factor, offset, limit):
    """A dense prior with 1 % noise, of a wrong scale and with an offset in mm, joins its two surfaces."""
    graph, truth = goblet
    noise = 1 + 0.01 * np.random.default_rng(0).standard_normal(truth.shape)
    result = graph.optimize(prior=factor * (truth * noise + offset))
    assert made(result.depth, truth) < limit


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_goblet_with_a_coarse_prior(goblet, seed):
    """The smooth error of such a prior is as large as the goblet is deep: what normals know is not spoilt by it."""
    graph, truth = goblet
    scene = scenes.Scene("goblet", graph.pixels.map.normals, np.isfinite(truth), truth, graph.pixels.map.camera, "")
    result = graph.optimize(prior=coarse_depth(scene, "realistic", seed))
    assert made(result.depth, truth) < 1.05 * made(graph.optimize().depth, truth)


@pytest.mark.parametrize("places", [((314, 166), (312, 306)), ((219, 153), (314, 235)), ((451, 111), (304, 330))])
def test_goblet_with_two_anchors(goblet, places):
    """One known pixel on each of its two surfaces, the bowl and the foot, wherever on them."""
    graph, truth = goblet
    result = graph.optimize(anchors=[(u, v, truth[v, u]) for u, v in places])
    assert made(result.depth, truth) < 2
    assert np.nanmean(np.abs(result.depth - truth)) < 2  # and without any alignment


@pytest.fixture(scope="module")
def heap():
    """A scene, and the error of normals alone."""
    scene = scenes.random("heap", 0)
    return scene, relative_error(solved(scene).depth, scene.depth)


@pytest.mark.parametrize("make", MAKES)
def test_both_are_hardly_worse_than_normals_alone(heap, make):
    """Whatever a prior is made of, what normals know of a scene of flat faces stays."""
    heap, alone = heap
    result = solved(heap, prior=coarse_depth(heap, make))
    assert relative_error(result.depth, heap.depth) < 1.4 * alone


def test_ties_give_way_to_many_points_only():
    """Three components in a row: one wrong point moves nothing, five points move a component and what hangs on it."""
    ties = Ties(3, np.array([0, 1]), np.array([1, 2]), np.array([3.0, 6.0]), np.zeros(2))
    places = np.array([0] * 10 + [1])
    wanted = np.array([0.1] * 10 + [0.5])
    one = ties.moves(places, wanted, np.ones(11), np.full(11, 1e-3), 1.0)
    np.testing.assert_allclose(one, 0.1, atol=1e-3)
    places, wanted = np.array([0] * 10 + [1] * 5), np.array([0.1] * 10 + [0.5] * 5)
    five = ties.moves(places, wanted, np.ones(15), np.full(15, 1e-3), 1.0)
    np.testing.assert_allclose(five, [0.1, 0.5, 0.5], atol=1e-3)


def test_what_is_lost_follows_the_stronger_tie():
    """A component without a prior moves with the neighbour that holds it more firmly."""
    ties = Ties(3, np.array([0, 1]), np.array([1, 2]), np.array([1.0, 4.0]), np.zeros(2))
    moved = ties.following(np.array([False, True, False]), np.array([0.3, 9.0, -0.2]), 1.0)
    np.testing.assert_allclose(moved, [0.3, -0.2, -0.2], atol=1e-3)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_medians_of_groups(n):
    """Of equal weights it is the median; an empty group has none; a weight counts as so many values."""
    rng = np.random.default_rng(n)
    group, value = rng.integers(0, 3, 4 * n), rng.standard_normal(4 * n)
    weight = rng.integers(1, 4, 4 * n)
    found = medians(group, value, weight.astype(float), 4)
    for g in range(4):
        own = np.repeat(value[group == g], weight[group == g])
        assert np.isnan(found[g]) if not len(own) else found[g] == pytest.approx(np.median(own))


def test_gram_is_the_product():
    """The kernel gives rowsᵀ · diag(weight) · rows."""
    rows = sparse.random(40, 7, 0.4, "csr", random_state=1)
    weight = np.random.default_rng(1).random(40)
    np.testing.assert_allclose(gram(rows, weight), (rows.T @ sparse.diags(weight) @ rows).toarray(), atol=1e-12)
