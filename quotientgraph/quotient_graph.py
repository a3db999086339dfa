"""`QuotientGraph`: the graph with what users do to it, which is to make it from normals, integrate it and export it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, Self

from numpy.typing import ArrayLike

from laplacians import working_clock
from laplacians.core import companion, edges
from laplacians.core.sharing import Later

from . import io, report
from .analysis.exports import ExportedQuotient
from .beyond.anchors import Anchors
from .beyond.contradictions import compared
from .beyond.division import divided_pixels, formed_anew, resolved_angle
from .beyond.doubts import judged
from .beyond.net_slope import levelled, slope_warnings
from .beyond.plugging import hooks_for, prepared
from .beyond.prior import Prior
from .beyond.settling import Contact, understood
from .geometry.camera import Camera, as_camera
from .geometry.jumps import Continuity, planar
from .geometry.normals import NormalMap
from .graph.lines import Lines, without_lines
from .graph.pixels import PixelGraph
from .graph.quotient import jumps_of
from .method.filling import GRID_FROM
from .method.optimize import optimize
from .method.outcome import Progress
from .result import Reconstruction
from .settings import Settings, check_angle

# On maps of this many pixels a first run needs most kernels, and a second process that compiles some of them pays.
_LARGE = 40_000
# What integration takes at its peak, at least; see docs/speed.md.
_BYTES_PER_PIXEL = 150


class QuotientGraph(ExportedQuotient):
    """A normal map divided into continuous components, ready to be integrated.

    Made by `from_normals`; `optimize` integrates it. The attributes are those of the graph:

    Attributes
    ----------
    pixels : PixelGraph
        G0: the valid pixels and their neighbour pairs.
    labels : (n_pixels,) int32
        Component of each valid pixel; `label_image()` is the same as an image.
    cut : (n_cut,) int32
        Numbers of the edges of G0 that join different components.
    n_components, level, angle
        Number of components, how often they were merged, and the angle in degrees that they were formed with.

    Examples
    --------
    >>> import numpy as np
    >>> graph = QuotientGraph.from_normals(np.tile([0.0, 0.0, 1.0], (4, 5, 1)))
    >>> graph.n_components, graph.pixels.n_pixels, graph.pixels.n_edges
    (1, 20, 55)
    >>> graph.optimize().converged
    True
    """

    @classmethod
    def from_normals(
        cls,
        normals: ArrayLike | str | PathLike[str],
        mask: ArrayLike | str | PathLike[str] | None = None,
        camera: Camera | ArrayLike | None = None,
        frame: str = "opengl",
        angle: float | str | None = "auto",
        connectivity: int = 8,
        continuity: Continuity = planar,
        preset: str = "best",
        check: bool = True,
        labels: ArrayLike | str | PathLike[str] | None = None,
        image: ArrayLike | str | PathLike[str] | None = None,
        forbidden: Lines | None = None,
        wrap: str = "auto",
        slope: str = "remove",
    ) -> Self:
        """Q0 of a normal map: pixels are joined while neighbouring normals differ by less than `angle`.

        Parameters
        ----------
        normals : (H, W, 3) float array, image, tensor or path
            Rescaled to unit length; a non-finite or zero normal makes its pixel invalid. Images of whole numbers are
            decoded, and files read with the mask and camera beside them, as `quotientgraph.io.as_normals` does.
        mask : (H, W) bool array, image or path, optional
        camera : Pinhole, Orthographic, RayMap or 3×3 intrinsic matrix, optional
            None is ``Orthographic()``.
        frame : str
            "opengl" (x right, y up, z to the viewer), "opencv" (x right, y down, z forward), "dsine" (x left, y up,
            z to the viewer) or "directx" (x right, y down, z to the viewer); or the directions of x, y and z, such as
            "up,right,viewer".
        angle : float, "auto" or None
            θ_c in degrees. "auto" is the preset's choice: for "best" 2°, more under noise or for fine structure; for
            "paper" 3.5°. None makes every pixel a component of its own.
        connectivity : 4 or 8
        continuity : callable
            Model of continuity, `quotientgraph.geometry.jumps.planar` or `bini`.
        preset : "best" or "paper"
            Which preset "auto" stands for; `optimize` then uses the same one unless told otherwise.
        check : bool
            Whether the frame and the camera are compared with what the normals show. A clear contradiction becomes a
            warning of the result that names what would fit better.
        labels : (H, W) integers, (n, H, W) bool or path, optional
            A segmentation of one's own instead of the angle: a label image, or masks of which the smaller lie on top.
            Connected pixels of one label are a component. Pixels with a negative label, or in no mask, are divided by the
            angle. 0 is a label; if it means the background, pass ``mask=labels > 0`` as well.
        image : (H, W) or (H, W, 3) array, image or path, optional
            A photograph. Where its colour changes, components end as well; see `quotientgraph.graph.colours`.
        forbidden : (H, W) bool or sequence of (n, 2) arrays, optional
            Lines of discontinuity, drawn or as polylines of points (column, row); see `quotientgraph.graph.lines`.
        wrap : "auto", "none", "x", "y" or "both"
            Around which borders the surface goes on, as that of a texture that tiles. "auto" is x for a panorama.
        slope : "remove", "keep" or "steps"
            What becomes of a net slope around a wrapped image: removed and reported, kept in the depth, or left for the
            surface to undo by steps.

        Returns
        -------
        QuotientGraph
        """
        check_angle(angle)
        began = working_clock()
        settings = Settings.from_preset(preset)
        found = io.read_normals(normals, frame=frame) if isinstance(normals, str) else io.as_normals(normals, frame)
        height, width = found.normals.shape[:2]
        lacking = io.shortage(_BYTES_PER_PIXEL * height * width)
        if lacking:
            raise MemoryError(f"normals: to integrate a map of {height}×{width} {lacking}")
        own, about_mask = io.understand_mask(mask, (height, width))
        mask = found.mask if own is None else own
        if height * width >= _LARGE and angle is not None:
            large = height * width >= GRID_FROM["usual" if settings.joining == "none" else "precise"]
            companion.use("quotientgraph.rehearsal", edges.__file__, "large" if large else "main")
        given, corrected = io.understand_camera(camera, (height, width))
        view = as_camera(found.camera if given is None else given)
        labels = None if labels is None else io.as_labels(labels, (height, width))
        image, about_image = (None, []) if image is None else io.as_picture(image, (height, width))
        # Nothing below depends on what the check says, so a second thread makes it.
        checked = Later(io.check_conventions, found.normals, mask, view, frame) if check else None
        seen = NormalMap.from_array(found.normals, mask, view, frame, wrap)
        pixels = PixelGraph.from_map(seen, connectivity)
        pixels = levelled(pixels, slope)
        if forbidden is not None:
            pixels, _ = without_lines(pixels, io.as_lines(forbidden, (height, width)))
        jump = jumps_of(pixels, continuity)
        doubts = [] if checked is None else [*found.about_lengths(mask), *checked.result()]
        about_slope = slope_warnings(pixels.map.slope, pixels.map.keeps_slope)
        formed = working_clock()
        chosen = resolved_angle(settings.angle if angle == "auto" else angle, pixels)
        by_angle = angle == "auto" and labels is None and image is None
        components = divided_pixels(pixels, chosen, labels, image, whole_tiles=by_angle and preset == "best")
        return replace(
            cls.from_components(pixels, jump, components),
            angle=chosen,
            preset=preset,
            formed_by_preset=by_angle,
            seconds={"graph": formed - began, "components": working_clock() - formed},
            warnings=(*found.warnings, *about_mask, *about_image, *corrected, *doubts, *about_slope),
        )

    def optimize(
        self,
        *,
        solver: Any = "auto",
        reweighting: str = "soft",
        lower: float = 1e-5,
        upper: float = 1e-3,
        thresholds: str | None = None,
        max_iterations: int = 150,
        energy_tol: float = 1e-3,
        merge_every: int | None = None,
        device: str = "auto",
        progress: bool | Progress | None = None,
        fill_solver: Any = "auto",
        filling: str | None = None,
        creases: str | None = None,
        joining: str | None = None,
        sharpening: str | None = None,
        straightening: str | None = None,
        axes: str | None = None,
        preset: str | None = None,
        prior: ArrayLike | str | PathLike[str] | None = None,
        prior_weight: float = 1.0,
        prior_kind: str = "auto",
        prior_confidence: ArrayLike | str | PathLike[str] | None = None,
        anchors: Sequence[tuple[float, float, float]] | ArrayLike | None = None,
        contacts: Sequence[Contact] | None = None,
    ) -> Reconstruction:
        """Integrate the components and find their relative scales.

        Parameters
        ----------
        solver : str or object with ``solve(system)``
            Backend for the scale systems: a name from ``solvers.available()`` or "auto".
        reweighting : "soft", "hard" or "none"
            Outlier reweighting with thresholds `lower` and `upper`.
        thresholds : "natural" or "absolute", optional
            Whether these are lengths in pixels, scaled with the focal length, or log-depths.
        max_iterations : int
        energy_tol : float
            Relative change of the energy below which the scales have converged.
        merge_every : int, optional
            Merge components every so many iterations (the paper counts from 0) and whenever the energy has converged.
        device : "cpu", "cuda" or "auto"
        progress : bool or callable
            True for a progress bar, or a function that is given every `Step`.
        fill_solver : str or object
            Backend for the filling systems, which are larger and better conditioned.
        filling : "contracted" or "induced", optional
            Whether components are filled without the depth jumps hidden in them, or over all their edges.
        creases : "anywhere" or "midway", optional
            Where two components meet between two pixels: anywhere, with the edges of a border deciding together, or
            midway. It is midway when components are merged, and with anchors where none are joined.
        joining : "certain" or "none", optional
            Whether, in scenes that have flat faces, components are placed against each other by the borders that are most
            certainly contacts, before the descent. Not used when components are merged.
        sharpening : "edges" or "none", optional
            Whether, before components that the automatic angle formed are joined, blurred edges of the normals are made
            sharp. If so, a warning says it, and the graph of the result has the new normals.
        straightening : "smooth" or "none", optional
            Whether, before components are joined, a smooth error that bends flat faces is taken out of the normals, as
            networks make it. If it is, a warning says so, and the graph of the result has the new normals.
        axes : "shared" or "none", optional
            Whether parts of a turned body that hide one another are placed by their common axis, with a warning. A prior
            starts from there. Not used with merged components, nor with anchors where nothing is joined.
        preset : "best" or "paper", optional
            Stands for what is not given: "best" is contracted, anywhere, certain, edges, smooth, shared and natural; "paper"
            is the published method: induced, midway, none (four times) and absolute. By default that of the graph. If it is
            another one and the graph's formed the components, they are formed anew.
        prior : (H, W) array, image or path, optional
            Coarse depth, NaN where unknown, of any scale and offset, dense or sparse, with noise, outliers, blurred edges
            and a smooth error of some per cent. It decides what normals leave open: depth across discontinuities and between
            pieces. Components are split where it jumps and normals do not tell. The result has its scale.
        prior_weight : float
            Trust in the prior: its errors are taken to be smaller by the square root of it.
        prior_kind : str
            What the prior is: "depth" or "disparity" (inverse depth) of unknown scale, "affine" or "affine-disparity" if
            it has an unknown offset as well. "auto" finds out, by where it falls and by what offset is significant.
        prior_confidence : (H, W) array, image or path, optional
            How sure the prior is of each pixel, 0 … 1; a pixel counts by that part.
        anchors : sequence of (u, v, depth) or (n, 3) array, optional
            Known depths at pixels: column, row, depth. They fix the scale, and separate surfaces against each other.
        contacts : sequence of ((u, v), (u, v)), optional
            Neighbouring pixels where two surfaces touch; see `Reconstruction.settle`.

        Returns
        -------
        Reconstruction
        """
        settings = Settings.from_preset(
            preset or self.preset or "best",
            solver=solver,
            reweighting=reweighting,
            lower=lower,
            upper=upper,
            thresholds=thresholds,
            max_iterations=max_iterations,
            energy_tol=energy_tol,
            merge_every=merge_every,
            device=device,
            fill_solver=fill_solver,
            filling=filling,
            creases=creases,
            joining=joining,
            sharpening=sharpening,
            straightening=straightening,
            axes=axes,
            prior_weight=prior_weight,
            prior_kind=prior_kind,
        )
        graph = self
        if self.formed_by_preset and preset not in (None, self.preset):
            graph = replace(formed_anew(self, self.pixels, settings.angle), preset=preset)
        graph, faces = prepared(graph, settings)
        shape, contacts = self.pixels.map.shape, understood(contacts)
        stated = None if anchors is None else io.as_anchors(anchors)
        known = Anchors.from_depths(graph, stated)
        coarse, about = (None, []) if prior is None else io.understand_depth(prior, shape)
        sure = None if prior_confidence is None else io.as_confidence(prior_confidence, shape)
        place = Prior.from_depth(graph, coarse, settings.prior_kind, sure, prior_weight, known)
        hooks = hooks_for(graph, settings, faces, known if place is None else None, place)
        later = stated if known is not None and hooks.known is None and place is None else None
        found = compared(optimize(graph, settings, hooks, progress), None if later else known)
        found = replace(found, warnings=[*found.warnings, *about])
        plain = (preset or self.preset) == "paper"  # the published method says nothing about confidence
        result = Reconstruction.from_outcome(found if plain else judged(found))
        return result.settle(contacts, later) if contacts or later else result

    def _repr_html_(self) -> str:
        return report.graph_fragment(self)
