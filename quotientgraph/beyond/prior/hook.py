"""Depth priors: a coarse depth map, as networks, stereo, LiDAR or structure from motion give it, joined with normals.

Normals decide everything they know, which is the shape of connected surfaces and their contacts. The prior decides what they
leave open: which side of a tear a surface lies on, how far behind, and where separate pieces are. Its smooth error is
estimated rather than inherited (`quotientgraph.beyond.prior.bend`), its blurred edges are not believed, and components that
hold several parallel faces are split where it jumps (`quotientgraph.beyond.prior.faces`). The places of all surfaces are
then found together (`quotientgraph.beyond.prior.placement`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike

from ...graph.quotient import Quotient
from ...graph.selection import connected_components
from ...method.optimize import Placement, Shared
from ...method.weights import TEAR
from ..anchors import Anchors
from ..contradictions import about_prior
from ..joining import Judgement
from .blur import typical
from .bodies import Bodies, surfaces
from .cells import Cells
from .certainty import certainty
from .constants import CHOSEN, Constants
from .faces import faces
from .joining import run
from .kinds import KINDS, Reading, in_front
from .placement import Placing
from .told import Told, too_small

# Chosen on three real views: a living room, a bathroom and a car.
_LEAST_NOISE = 2e-3  # relative; less is not believed of any prior
_FACE_ERROR = 0.01  # relative difference of two parallel faces that errors of the prior may make
_FACE_SURE = 3.0  # deviations by which two faces must differ
_RAMP_REACH = 6.0  # pixels that a slope of the offset is followed, to bound the error of a blurred cell
_FACE_PIXELS, _FACE_POINTS = 48, 5  # of a face, for a prior that is known everywhere and for a sparse one
_LEAST_PART = 0.1  # of the errors that neighbouring pixels share, if there is no smooth error
_READINGS = 4  # rounds in which the offset of a prior is found
# A prior is read as plain depth if so many times as much of all borders meets then. For 24 disparities of DiLiGenT objects
# and scenes of *tune* it is 0.9 times at most, with true offsets and large smooth errors besides 1.3, and once 1.55; errors
# that look like an offset reach 1.8 in shelves and 8 on a statue.
_TORN = 1.7


@dataclass(frozen=True, eq=False)
class Prior:
    """A depth prior, as the last hook of `quotientgraph.method.optimize`.

    Attributes
    ----------
    values : (n_pixels,) float64
        What the prior says at each valid pixel, as the user gave it; NaN where it says nothing.
    trust : (n_pixels,) float64
        Confidence of each pixel of the prior, 0 … 1.
    kind : str
        One of `quotientgraph.beyond.prior.kinds.KINDS`.
    weight : float
        Trust in the prior as a whole: its errors are taken to be smaller by the square root of it.
    anchors : Anchors or None
    negative : float
        Share of the trusted values that are negative, and say nothing therefore.
    """

    values: np.ndarray
    trust: np.ndarray
    kind: str = "auto"
    weight: float = 1.0
    anchors: Anchors | None = None
    negative: float = 0.0

    @classmethod
    def from_depth(
        cls,
        graph: Quotient,
        prior: ArrayLike | None,
        kind: str = "auto",
        confidence: ArrayLike | None = None,
        weight: float = 1.0,
        anchors: Anchors | None = None,
    ) -> Prior | None:
        """Check and convert what a user passes; None if there is no prior."""
        if prior is None:
            about = {"kind": kind != "auto", "weight": weight != 1, "confidence": confidence is not None}
            for name in (name for name, given in about.items() if given):
                raise ValueError(f"prior_{name}: there is no prior that it belongs to; pass prior as well")
            return None
        normal_map = graph.pixels.map
        if kind not in KINDS:
            raise ValueError(f"prior_kind={kind!r} is not known; use {', '.join(map(repr, KINDS))}")
        if not normal_map.camera.central and "disparity" in kind:
            raise ValueError(f"prior_kind={kind!r}: an orthographic camera has no disparity; pass depth")
        values = _image("prior", prior, normal_map.shape).ravel()[normal_map.position]
        trust = np.ones(len(values))
        if confidence is not None:
            trust = np.nan_to_num(_image("prior_confidence", confidence, normal_map.shape).ravel()[normal_map.position])
            if trust.min() < 0 or trust.max() > 1:
                raise ValueError(
                    f"prior_confidence: values must lie between 0 and 1, got {trust.min():g} to {trust.max():g}"
                )
        values = np.where(np.isfinite(values) & (trust > 0), values, np.nan)
        negative = 0.0
        if normal_map.camera.central:
            if "affine" in kind:
                values = in_front(values)
            negative = float(np.mean(values < 0)) / max(float(np.mean(np.isfinite(values))), 1e-300)
            values = np.where(values > 0, values, np.nan)
        if not np.isfinite(values).any():
            raise ValueError("prior: it has no usable depth at any valid pixel; depths are positive, NaN if unknown")
        return cls(values, trust, kind, weight, anchors, negative)

    def __call__(
        self,
        graph: Quotient,
        filled: np.ndarray,
        found: np.ndarray,
        judged: Judgement | None = None,
        shared: Shared | None = None,
    ) -> Placement:
        """Place the components of a graph.

        Parameters
        ----------
        graph : Quotient
            Q0.
        filled : (n_pixels,) float64
            Each component integrated on its own.
        found : (n_pixels,) float64
            The reconstruction from normals alone.
        judged : Judgement, optional
            What the borders say, if they were asked.
        shared : Shared, optional
            What places parts against each other of which borders do not tell the depth.
        """
        reading, placing = self._read_and_placed(graph, filled, found, judged, shared)
        overturned = False
        if self.kind == "auto" and (reading.inverse or reading.changed):
            # What looks like disparity or an offset may be an error of the prior. Then it tears most borders apart.
            meet = placing.meeting(placing.shift)
            if placing.meeting(placing.start) > _TORN * meet:
                plain = Reading(reading.camera, bent=False)
                as_depth = self.placed(graph, filled, found, plain, judged, shared)
                if as_depth.meeting(as_depth.shift) > _TORN * meet:
                    reading, placing, overturned = plain, as_depth, True
        labels, group = placing.graph.labels, placing.pixel_group
        potential = filled + placing.shift[labels]
        if self.anchors is not None:
            potential = self.anchors.moved(potential, group)
        known = np.isfinite(reading.potential(self.values))
        potential = _unknown_among(potential, graph.pixels.pieces, known, self.anchors)
        joined = placing.graph.contract(placing.cut.number[placing.joined])
        meeting = placing.meeting(placing.start), placing.meeting(placing.shift)
        doubts = about_prior(graph, filled, self.values, self.kind, self.negative, meeting, overturned)
        kept = placing.bodies.kept(shared, labels)
        return Placement(potential, [placing.graph, joined], certainty(placing), doubts, kept)

    def _read_and_placed(
        self, graph: Quotient, filled: np.ndarray, found: np.ndarray, judged: Judgement | None, shared: Shared | None
    ) -> tuple[Reading, Placing]:
        """Find out how to read the prior, and place the components by it; parameters as in `__call__`."""
        reading = self.reading(graph, *surfaces(graph, filled, found, shared), found)
        placing = self.placed(graph, filled, found, reading, judged, shared)
        # Surfaces of several components have more relief than each component, so the prior is read once more with them.
        for _ in range(_READINGS if reading.bent else 0):
            potential, group = placing.potential + placing.shift[placing.graph.labels], placing.pixel_group
            better = self.reading(graph, potential, group, found, reading)
            if (better.offset, better.factor) == (reading.offset, reading.factor):
                break
            reading = better
            placing = self.placed(graph, filled, found, reading, judged, shared)
        return reading, placing

    def placed(
        self,
        graph: Quotient,
        filled: np.ndarray,
        found: np.ndarray,
        reading: Reading,
        judged: Judgement | None,
        shared: Shared | None = None,
    ) -> Placing:
        """Split the components where the prior jumps, and place them."""
        said = reading.potential(self.values)
        unit = _unit(said, graph.pixels.map.camera.central)
        offset = said - filled
        cells = gathered = Cells.from_offsets(graph.pixels, graph.labels, offset, self.trust, _LEAST_NOISE * unit)
        relief, surface = surfaces(graph, filled, found, shared)
        if shared is not None:
            gathered = Cells.from_offsets(graph.pixels, surface, said - relief, self.trust, _LEAST_NOISE * unit)
        if too_small(gathered):  # the surfaces that normals alone find are larger than components
            whole = np.abs(graph.tear(found)) <= TEAR
            surface = connected_components(graph.pixels.n_pixels, graph.pixels.tail[whole], graph.pixels.head[whole])
            gathered = Cells.from_offsets(graph.pixels, surface, said - found, self.trust, _LEAST_NOISE * unit)
        told = Told.of(graph.pixels, surface, gathered, found, unit)
        change = told.blurring(found)
        bend, coefficients = told.smooth_error(told.without(change))
        # A prior without smooth error has little of other errors that neighbouring pixels share.
        expected = told.bend.size
        constants = _scaled(CHOSEN, self.weight * (expected / max(bend.size, _LEAST_PART * expected)) ** 2)
        straight = offset - change - bend.image(coefficients).ravel()[graph.pixels.map.position]
        ramp = cells.ramp(graph.pixels, straight, _RAMP_REACH)
        labels = faces(
            graph, cells, straight, cells.variance + ramp**2, _FACE_ERROR * unit, _FACE_SURE,
            _FACE_POINTS if cells.sparse else _FACE_PIXELS, _FACE_PIXELS,
        )  # fmt: skip
        parts = graph.divided(labels)
        first = parts.first_pixels
        cells = Cells.from_offsets(graph.pixels, labels, offset, self.trust, _LEAST_NOISE * unit)
        bodies = Bodies.of(graph, parts, shared)
        placing = Placing(parts, filled, cells, told.blur, bend, coefficients, unit, constants, bodies)
        run(placing, (found - filled)[first], graph.labels[first], judged)
        return placing

    def reading(
        self,
        graph: Quotient,
        potential: np.ndarray,
        labels: np.ndarray,
        found: np.ndarray,
        reading: Reading | None = None,
    ) -> Reading:
        """How to read the values of the prior, with its offset or factor found from the relief of surfaces.

        Parameters
        ----------
        graph : Quotient
        potential : (n_pixels,) float64
            Right within each surface, up to a constant.
        labels : (n_pixels,) integers
            Surface of each pixel.
        found : (n_pixels,) float64
            The reconstruction from normals alone, which shows how much the prior is blurred.
        reading : Reading, optional
            Where to start from.
        """
        camera, pixels = graph.pixels.map.camera, graph.pixels
        if reading is None:
            reading = Reading.from_values(camera, self.kind, self.values, potential, labels)
        before, least = reading, np.inf
        for _ in range(_READINGS + 1 if reading.bent else 0):
            said = reading.potential(self.values)
            unit = _unit(said, camera.central)
            told = Told.of(
                pixels,
                labels,
                Cells.from_offsets(pixels, labels, said - potential, self.trust, _LEAST_NOISE * unit),
                found,
                unit,
            )
            # Blur flattens the relief of a prior, as an offset would.
            cells = told.without(told.blurring(found))
            misfit = typical(cells.offset[told.one] - cells.offset[told.other])
            if camera.central and not cells.sparse:  # taking an offset out changes the noise as well
                misfit /= cells.noise
            # If what was taken out explains nothing, it came from tears inside components, or from blur.
            if misfit >= least:
                return before
            before, least = reading, misfit
            effect = cells.over(reading.effect(self.values, potential, labels))
            better = reading.revised(self.values, told, cells, effect)
            if better is None:
                break
            reading = better
        return reading


def _unit(said: np.ndarray, central: bool) -> float:
    """1 for a central camera; the range of an orthographic camera's prior, in pixels."""
    return 1.0 if central else max(1.0, float(np.ptp(np.nanpercentile(said, [5, 95]))))


def _scaled(constants: Constants, weight: float) -> Constants:
    """The constants with the errors of the prior smaller by √weight."""
    names = ("cell_error", "part_error", "side_error", "group_error")
    return replace(constants, **{name: getattr(constants, name) / sqrt(weight) for name in names})


def _unknown_among(potential: np.ndarray, pieces: np.ndarray, known: np.ndarray, anchors: Anchors | None) -> np.ndarray:
    """The potential with pieces of G0 of which neither prior nor anchors say anything at the median mean of the others."""
    said = np.flatnonzero(known) if anchors is None else np.append(np.flatnonzero(known), anchors.pixel)
    told = np.bincount(pieces[said], minlength=int(pieces.max()) + 1) > 0
    mean = np.bincount(pieces, potential) / np.bincount(pieces)
    return potential + np.where(told, 0.0, np.median(mean[pieces[told[pieces]]]) - mean)[pieces]


def _image(name: str, given: ArrayLike, shape: tuple[int, int]) -> np.ndarray:
    array = np.asarray(given, dtype=np.float64)
    if array.shape != shape:
        raise ValueError(f"{name}: its shape {array.shape} differs from the normals' {shape}")
    return array
