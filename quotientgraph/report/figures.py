"""Matplotlib figures of a result, for papers and slides; needs `pip install "quotientgraph[plots]"`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import pictures as pic
from .color import Scale, color_ramp, label_colors

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..result import Reconstruction


def figures(result: Reconstruction) -> dict[str, Figure]:
    """Draw a result with matplotlib.

    Parameters
    ----------
    result : Reconstruction

    Returns
    -------
    dict of str to matplotlib.figure.Figure
        "maps" shows normals, components, depth and residuals; "convergence" shows energy, components and time. They belong
        to no window and to no pyplot state.

    Examples
    --------
    >>> import numpy as np
    >>> from quotientgraph import integrate
    >>> sorted(figures(integrate(np.tile([0.0, 0.0, 1.0], (8, 9, 1)))))
    ['convergence', 'maps']
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError('figures need matplotlib: pip install "quotientgraph[plots]"') from error
    return {
        "maps": draw_maps(Figure(figsize=(11, 7)), result),
        "convergence": draw_convergence(Figure(figsize=(10, 3.4)), result),
    }


def draw_maps(figure: Figure, result: Reconstruction) -> Figure:
    """Draw the four maps into a figure and return it."""
    figure.set_layout_engine("constrained")
    axes = figure.subplots(2, 2).ravel()
    rows, columns = crop = pic.crop_of(result)
    # Pixel centres at integers, as everywhere in the package.
    extent = (columns.start - 0.5, columns.stop - 0.5, rows.stop - 0.5, rows.start - 0.5)
    first = (list(result.levels) or [result.graph])[0]
    count = first.n_components
    axes[0].imshow(pic.normal_picture(pic.normal_image(result))[crop], extent=extent)
    axes[0].set_title("Normals")
    axes[1].imshow(pic.label_picture(first.label_image())[crop], extent=extent, interpolation="nearest")
    axes[1].set_title(f"{count:,} component{'s' if count != 1 else ''}")
    _mapped(figure, axes[2], result.depth[crop], pic.depth_scale(result.depth), "depth", extent)
    axes[2].set_title("Depth")
    residual = getattr(result, "discontinuity", None)
    if residual is None:
        axes[3].imshow(pic.shaded_picture(result)[crop], extent=extent)
        axes[3].set_title("Shading")
    else:
        scale = pic.residual_scale(np.abs(residual))
        _mapped(figure, axes[3], np.abs(residual[crop]), scale, "residual", extent)
        axes[3].set_title("Largest residual of each pixel")
    for axis in axes:
        axis.set_axis_off()
    return figure


def _mapped(figure: Figure, axis: Any, values: np.ndarray, scale: Scale, name: str, extent: tuple) -> None:
    from matplotlib.colors import ListedColormap, LogNorm, Normalize

    norm = (LogNorm if scale.log else Normalize)(scale.low, scale.high, clip=True)
    colors = ListedColormap(color_ramp(name) / 255.0).with_extremes(bad="none")
    if scale.log:
        values = np.maximum(values, scale.low)  # NaN stays
    shown = axis.imshow(np.ma.masked_invalid(values), norm=norm, cmap=colors, extent=extent)
    figure.colorbar(shown, ax=axis, shrink=0.8)


def draw_convergence(figure: Figure, result: Reconstruction) -> Figure:
    """Draw energy, number of components and time of each stage into a figure and return it."""
    figure.set_layout_engine("constrained")
    energy, count, time = figure.subplots(1, 3)
    steps = list(result.history)
    color = label_colors(np.array([0]))[0] / 255.0
    x = np.arange(1, len(steps) + 1)
    y = np.array([np.nan if s.energy is None else s.energy for s in steps], dtype=float)
    energy.plot(x, y, color=color)
    if np.any(y > 0):
        energy.set_yscale("log")
    count.plot(x, [s.n_components for s in steps], color=color)
    for axis, title in ((energy, "Energy"), (count, "Components")):
        axis.set(title=title, xlabel="iteration")
        axis.grid(alpha=0.3)
    time.barh(list(result.seconds), list(result.seconds.values()), color=color)
    time.invert_yaxis()
    time.set(title="Time per stage", xlabel="seconds")
    return figure
