"""The two linked views of the report, the surface in 3-D and as a map: modes, readings, sliders, places to look at."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from .color import brief, color_ramp
from .comparison import compared
from .gallery import Picture, encode, gallery, png_uri
from .pictures import crop_of
from .readings import pack_readings, readings_of
from .regions import Region, alternatives, doubtful_regions
from .viewer_mesh import GridMesh, grid_mesh, pack

if TYPE_CHECKING:
    from ..result import Reconstruction

PAGE = 1_960_000  # characters of a page, unless the map is larger than a few megapixels
_TEXT = 110_000  # for everything that is neither a picture nor a map
_LEAST = 300_000  # for pictures, whatever the rest takes
SCRIPTS = ("maps.js", "viewer.js")

# Name of a mode, number of its shader in viewer.js, picture that the map shows, whether pixels stay sharp.
_MODES = [
    ("Shaded", 0, "shading"),
    ("Normals", 1, "normals"),
    ("Depth", 2, "depth"),
    ("Discontinuity", 3, "residual"),
    ("Confidence", 3, "confidence"),
    ("Components", 3, "level-0"),
    ("Error", 3, "error"),
    ("Angle", 3, "angle"),
    ("Image", 3, "image"),
]
# Pictures on either side of the slider.
_PAIRS = [
    ("Normals: input, result", "normals", "result-normals"),
    ("Depth: prior, result", "prior", "depth"),
]


@dataclass(frozen=True, eq=False)
class Views:
    """Everything that the two views show, ready to be written.

    Attributes
    ----------
    crop : (rows, columns)
        The part of the image that is shown.
    pictures : list of Picture
    coded : dict
        Data URI, width and height of each picture by name.
    mesh : GridMesh
    packed : (attributes, text)
        The mesh for viewer.js.
    readings : (description, text)
        The maps for maps.js.
    regions : list of Region
    """

    crop: tuple[slice, slice]
    pictures: list[Picture]
    coded: dict[str, tuple[str, int, int]]
    mesh: GridMesh
    packed: tuple[dict[str, str], str]
    readings: tuple[dict[str, Any], str]
    regions: list[Region] = field(default_factory=list)


def views_of(
    result: Reconstruction,
    image: np.ndarray | None = None,
    truth: np.ndarray | None = None,
    prior: np.ndarray | None = None,
    *,
    only: Sequence[str] | None = None,
    size: int = PAGE,
    max_points: int = 110_000,
) -> Views:
    """Prepare what the views show, in about `size` characters; `only` names the pictures to take."""
    crop = crop_of(result)
    beside = compared(result, truth, prior)
    regions = [*alternatives(result), *doubtful_regions(result)]
    mesh = grid_mesh(result, crop, max_points)
    packed = pack(mesh)
    readings = pack_readings(result, crop, readings_of(result, beside.angle, beside.error, beside.prior), regions)
    pictures = [p for p in gallery(result, crop, image, beside) if only is None or p.name in only]
    left = size - _TEXT - len(packed[1]) - len(readings[1])
    return Views(crop, pictures, encode(pictures, max(_LEAST, left)), mesh, packed, readings, regions)


def views_html(views: Views) -> str:
    """Return the two views with their controls as HTML; viewer.js and maps.js bring them to life."""
    have = {picture.name for picture in views.pictures}
    attributes, data = views.packed
    dataset = " ".join(f'data-{k}="{v}"' for k, v in attributes.items())
    modes = [mode for mode in _MODES if mode[2] in have]
    choices = "".join(
        f'<label><input type="radio" name="mode" value="{number}" data-texture="picture-{picture}"'
        f"{' checked' if not k else ''}><span>{name}</span></label>"
        for k, (name, number, picture) in enumerate(modes)
    )
    still = views.coded["shading"][0]
    about, maps = views.readings
    return (
        f'<div class="choices"><fieldset><legend>Colour by</legend>{choices}</fieldset></div>'
        f'<div class="views"><div id="stage" class="flat"><canvas id="view" tabindex="0" role="img" {dataset} '
        'aria-label="Interactive 3-D view of the surface. Arrow keys turn, plus and minus zoom, 0 resets."'
        f'></canvas><i id="pin" hidden></i><div class="still"><img src="{still}" alt="The surface, shaded">'
        '<p id="view-message">This view needs JavaScript; the surface is shown as a still picture.</p></div>'
        '<div class="controls"><button id="view-reset" type="button">Reset</button>'
        '<button id="view-whole" type="button" hidden>Full screen</button></div></div>'
        '<div id="flat-stage"><canvas id="map" tabindex="0" role="img" aria-describedby="reading" '
        'aria-label="The same as a map. Arrow keys move the place that is read."></canvas>'
        '<canvas id="marks" aria-hidden="true"></canvas></div></div>'
        '<p id="reading" role="status">Point at either view, or tap it, to read the values there.</p>'
        f'<div class="tools">{_level_tool(about)}{_wipe_tool(have)}</div>{_region_list(views.regions)}'
        f'<img id="ramp-image" src="{png_uri(color_ramp("depth")[None])}" alt="" hidden>'
        f'<script type="text/plain" id="mesh">{data}</script>'
        f'<script type="application/json" id="maps-about">{_json(about)}</script>'
        f'<script type="text/plain" id="maps">{maps}</script>'
    )


def views_note(mesh: GridMesh) -> str:
    """Return how to handle the views, and what the 3-D one is made of."""
    every = "every pixel" if mesh.step == 1 else f"every {mesh.step} pixels in each direction"
    said = (
        "Drag to turn, shift-drag or two fingers to move, pinch or click and scroll to zoom, double-click to reset. "
        f"{brief(mesh.n_triangles)} triangles, one point for {every}, cut where the surface breaks."
    )
    if mesh.n_far:
        said += f" {brief(mesh.n_far)} points far outside the scene are not drawn."
    return said


def _level_tool(about: dict[str, Any]) -> str:
    last = len(about["levels"]) - 1
    level, count = about["levels"][0]
    return (
        f'<label id="level-tool"{" hidden" if not last else ""}>Level of merging '
        f'<input id="level" type="range" min="0" max="{last}" value="0" step="1">'
        f'<output id="level-name">Q{level}: {brief(count)} components</output></label>'
    )


def _wipe_tool(have: set[str]) -> str:
    options = "".join(
        f'<option value="picture-{one} picture-{other}">{escape(name)}</option>'
        for name, one, other in _PAIRS
        if {one, other} <= have
    )
    return (
        '<label id="wipe-tool">Before and after <select id="wipe-pair"><option value="">off</option>'
        f'{options}</select><input id="wipe" type="range" min="0" max="100" value="50" aria-label="Border between the '
        'two pictures" disabled></label>'
    )


def _region_list(regions: list[Region]) -> str:
    if not regions:
        return '<div id="regions"><h3>Where to look</h3><p class="note">No region of low confidence.</p></div>'
    items = "".join(
        f'<li><button type="button" data-region="{k}" aria-pressed="false">{escape(region.text)}</button></li>'
        for k, region in enumerate(regions, start=1)
    )
    return (
        '<div id="regions"><h3>Where to look</h3><p class="note">Regions whose depth is uncertain, the largest first. A '
        f"click shows one in both views, a second click shows all again.</p><ol>{items}</ol></div>"
    )


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
