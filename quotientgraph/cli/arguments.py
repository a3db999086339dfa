"""Options that several commands share, and the types of their values. No slow package is imported here."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from dataclasses import Field
from pathlib import Path
from typing import Any

# Repeated here, because the tables themselves are slow to load. A test compares them.
FRAMES = ("auto", "opengl", "opencv", "dsine", "directx")
METHODS = ("components", "pixels", "logdepth", "logdepth-d", "bini", "poisson", "fft")
SOLVERS = ("auto", "direct", "scipy", "numba", "pyamg", "multigrid", "cupy")
CAMERA = ("camera", "fov", "orthographic", "rays", "fisheye", "panorama")
ABOUT_PRIOR = ("prior_weight", "prior_kind")  # settings


def add_input_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how an input is read: mask, frame and camera."""
    group = parser.add_argument_group("input")
    group.add_argument(
        "--mask",
        type=not_empty,
        metavar="FILE",
        help="image that is bright at the pixels to use, or none (default: mask.png beside the map, or its alpha channel)",
    )
    group.add_argument(
        "--beside",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="use K.txt and mask.png that stand beside the normal map (default); --no-beside ignores them",
    )
    frame = group.add_argument(
        "--frame",
        default="auto",
        metavar="FRAME",
        help="axes of the normals: opengl (BiNI, DiLiGenT, Marigold), opencv (MoGe, Omnidata), dsine (DSINE, "
        "StableNormal), directx (y down, z to the viewer), the directions of x, y, z such as right,up,viewer, or auto: "
        "decided by evidence, and an error where there is too little of it (default: auto)",
    )
    suggest(frame, FRAMES)
    group = parser.add_argument_group(
        "camera",
        "at most one of these; by default the camera that comes with the input (K.txt), otherwise orthographic",
    )
    only = group.add_mutually_exclusive_group()
    only.add_argument(
        "--camera", type=not_empty, metavar="FILE", help="intrinsics: K or fx fy cx cy, as .txt, .json, .yaml, .npy"
    )
    only.add_argument("--fov", type=number(0, 180), metavar="DEG", help="pinhole with this horizontal field of view")
    only.add_argument(
        "--orthographic",
        nargs="?",
        const=1.0,
        type=number(0),
        metavar="SIZE",
        help="parallel rays; SIZE of a pixel is the unit of depth (default: 1)",
    )
    only.add_argument("--rays", metavar="FILE", help="any central camera: (H, W, 3) ray of each pixel, .npy, .exr …")
    only.add_argument(
        "--fisheye", type=number(0, 360), metavar="DEG", help="equidistant fisheye, field of view of the shorter side"
    )
    only.add_argument(
        "--panorama", action="store_true", default=None, help="equirectangular: 360° by 180°; depth is the distance"
    )


def add_method_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how to integrate: the fields of `Settings`. What is not given is left to the library."""
    from ..settings import FIELDS, PRESETS

    group = parser.add_argument_group("method")
    method = group.add_argument(
        "--method", metavar="NAME", help="components, or a peer: pixels logdepth logdepth-d bini poisson fft"
    )
    suggest(method, METHODS)
    preset = group.add_argument("--preset", metavar="NAME", help="best (default), or paper: the published method")
    suggest(preset, PRESETS)
    group.add_argument("--connectivity", type=int, choices=(4, 8), help="neighbours of a pixel (8)")
    group.add_argument(
        "--wrap",
        choices=("auto", "none", "x", "y", "both"),
        help="around which borders the surface goes on, as that of a texture that tiles (auto: x for a panorama)",
    )
    group.add_argument(
        "--slope",
        choices=("remove", "keep", "steps"),
        help="what becomes of a net slope around a wrapped image: removed, kept, or undone by steps (remove)",
    )
    for name, field in FIELDS.items():
        if name not in ABOUT_PRIOR:
            _add_setting(group, name, field)
    group = parser.add_argument_group("components", "what else decides where components end, beside the angle")
    group.add_argument(
        "--segments", metavar="FILE", help="label image that is used instead of the angle; 0 in PNG: by angle"
    )
    group.add_argument("--split-image", metavar="FILE", help="photograph: components end where its colour changes, too")
    group.add_argument(
        "--lines", metavar="FILE", help="image of drawn lines, bright on black, which no surface crosses"
    )
    group = parser.add_argument_group("absolute depth")
    group.add_argument(
        "--depth-prior", metavar="FILE", help="coarse depth of any scale, which decides what normals leave open"
    )
    for name in ABOUT_PRIOR:
        _add_setting(group, name, FIELDS[name])
    group.add_argument("--prior-confidence", metavar="FILE", help="image of how sure it is of each pixel, 0 to 1")
    group.add_argument(
        "--anchor",
        type=anchor,
        action="append",
        metavar="U,V,DEPTH",
        help="a pixel (column, row) whose depth is known; may be repeated",
    )
    group = parser.add_argument_group("what normals leave open", "parts that could sit elsewhere; see --alternatives")
    group.add_argument(
        "--contact",
        type=contact,
        action="append",
        metavar="U,V,U,V",
        help="two neighbouring pixels (column, row) on two sides of a border where the surfaces touch; may be repeated",
    )
    group.add_argument(
        "--take",
        type=whole(1),
        action="append",
        metavar="N",
        help="move the part that --alternatives lists as number N; if repeated, N of those that are then left",
    )


def _add_setting(group: argparse._ArgumentGroup, name: str, field: Field[Any]) -> None:
    """An option for a field of `Settings`, with its help, its choices and its default."""
    default = (
        "never"
        if field.default is None
        else f"{field.default:g}"
        if isinstance(field.default, float)
        else field.default
    )
    text = f"{field.metadata['help']} ({default})".replace("%", "%%")
    option = f"--{name.replace('_', '-')}"
    if "choices" in field.metadata:
        group.add_argument(option, choices=field.metadata["choices"], help=text)
    elif name == "angle":
        group.add_argument(option, type=angle, metavar="DEG", help=text)
    elif name in ("solver", "fill_solver"):
        suggest(group.add_argument(option, metavar="NAME", help=text), SOLVERS)
    elif isinstance(field.default, float):
        group.add_argument(option, type=number(0), metavar="X", help=text)
    else:
        group.add_argument(option, type=whole(1), metavar="N", help=text)


def suggest(action: argparse.Action, words: Iterable[str]) -> None:
    """Words that the completion of a shell offers for an option that also takes others."""
    action.suggestions = tuple(words)  # type: ignore[attr-defined]


def not_empty(text: str) -> str:
    """A type for argparse: a path that is not empty, as that from a shell variable that is not set would be."""
    if not text:
        raise argparse.ArgumentTypeError("it is empty; is a shell variable not set? Write ./ for the current folder")
    return text


def as_path(text: str) -> Path:
    """The same as a `Path`."""
    return Path(not_empty(text))


def number(above: float, below: float = float("inf")) -> Callable[[str], float]:
    """Make a type for argparse: a number strictly between two bounds."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
        if not above < value < below and not (value == below == 360):
            bounds = f"above {above:g}" if below == float("inf") else f"between {above:g} and {below:g}"
            raise argparse.ArgumentTypeError(f"{text} must be {bounds}")
        return value

    return parse


def whole(least: int) -> Callable[[str], int]:
    """Make a type for argparse: a whole number of at least `least`."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if value < least:
            raise argparse.ArgumentTypeError(f"{text} must be at least {least}")
        return value

    return parse


def angle(text: str) -> float | str:
    """A type for argparse: degrees, "auto", or "none" for one component at each pixel."""
    return text.lower() if text.lower() in ("auto", "none") else number(0, 180)(text)


def anchor(text: str) -> tuple[int, int, float]:
    """A type for argparse: column, row and depth of a pixel."""
    try:
        u, v, depth = text.split(",")
        found = int(u), int(v), float(depth)
        if found[0] < 0 or found[1] < 0 or not abs(found[2]) < float("inf"):
            raise ValueError
        return found
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not U,V,DEPTH such as 120,80,2.5") from None


def contact(text: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """A type for argparse: column and row of two pixels."""
    try:
        u, v, x, y = (int(word) for word in text.split(","))
        if min(u, v, x, y) < 0:
            raise ValueError
        return (u, v), (x, y)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not U,V,U,V such as 120,80,121,80") from None


def faces(text: str) -> tuple[int, ...]:
    """A type for argparse: numbers of faces such as 200k or 1.5M, the largest first."""
    found = []
    for word in text.split(","):
        digits, unit = (word[:-1], word[-1].lower()) if word[-1:].lower() in ("k", "m") else (word, "")
        try:
            count = float(digits) * {"": 1, "k": 1e3, "m": 1e6}[unit]
        except ValueError:
            count = -1.0
        if not 1 <= count < 2**31:
            raise argparse.ArgumentTypeError(f"{word!r} is not a number of faces such as 200000, 200k or 1.5M")
        found.append(round(count))
    return tuple(sorted(set(found), reverse=True))


def pixels(text: str) -> float:
    """A type for argparse: a length in pixels, with or without its unit, such as 0.5px."""
    try:
        value = float(text.lower().removesuffix("px"))
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a length in pixels such as 0.5px")
    return value


def listed(*known: str) -> Callable[[str], tuple[str, ...]]:
    """Make a type for argparse: some of the known words, separated by commas; "none" is the empty choice."""

    def parse(text: str) -> tuple[str, ...]:
        words = tuple(dict.fromkeys(word.strip().lstrip(".").lower() for word in text.split(",")))
        if words == ("none",):
            return ()
        for word in words:
            if word not in known:
                raise argparse.ArgumentTypeError(f"{word!r} is not known; use {', '.join(known)} or none")
        return words

    return parse
