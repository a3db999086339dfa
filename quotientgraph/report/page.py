"""`write_report`: one HTML file that holds everything and loads nothing from the network."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Mapping
from html import escape
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..io.atomic import atomic
from .charts import bar_chart, clock, line_chart
from .color import brief
from .facts import fact_rows, headline, verdict
from .gallery import figure_html
from .surface import SCRIPTS, views_html, views_note, views_of

if TYPE_CHECKING:
    from ..result import Reconstruction, Step

MAX_ROWS = 200


def write_report(
    result: Reconstruction,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    image: np.ndarray | None = None,
    about: Mapping[str, str] | None = None,
    truth: np.ndarray | None = None,
    prior: np.ndarray | None = None,
) -> Path:
    """Write the report of a reconstruction as one self-contained HTML file.

    Parameters
    ----------
    result : Reconstruction
    path : path
        The file; it appears complete or not at all.
    title : str, optional
        Heading of the page, by default the name of the file.
    image : (H, W, 3) or (H, W) array, uint8, uint16 or float in [0, 1]
        A photograph of the scene, shown next to the normals and on the 3-D surface.
    about : mapping of names to texts, optional
        Further rows at the top of the table of facts, such as the file of the input and how its frame was found.
    truth : (H, W) array, optional
        The true depth, NaN where it is not known. The error of the result is shown then.
    prior : (H, W) array, optional
        The depth prior that was given to the method, to be compared with the result.

    Returns
    -------
    pathlib.Path
        The path given.

    Examples
    --------
    >>> import tempfile
    >>> from quotientgraph import integrate
    >>> result = integrate(np.tile([0.0, 0.0, 1.0], (8, 9, 1)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(result, Path(folder, "flat.html")).stat().st_size > 10_000
    True
    """
    path = Path(path)
    name = path.stem if title is None else title
    text = report_html(result, title=name, image=image, about=about, truth=truth, prior=prior)
    with atomic(path) as part:
        part.write_text(text, encoding="utf-8")
    return path


def report_html(
    result: Reconstruction,
    *,
    title: str,
    image: np.ndarray | None = None,
    about: Mapping[str, str] | None = None,
    truth: np.ndarray | None = None,
    prior: np.ndarray | None = None,
) -> str:
    """Return the text of the report; parameters as in `write_report`.

    A file name that is not valid UTF-8 reaches Python with lone surrogates in it, which no file can hold. Each of them
    becomes a question mark.
    """
    views = views_of(result, image, truth, prior)
    crop, shown, coded = views.crop, views.pictures, views.coded
    style = _asset("page.css")
    scripts = [_asset(name) for name in (*SCRIPTS, "page.js")]

    def group(section: str) -> str:
        members = [figure_html(p, coded[p.name]) for p in shown if p.section == section]
        # Four or more would leave a lonely one in the last row; colour bars need width to be read.
        layout = "" if len(members) < 4 else " many" if section == "components" else " pairs"
        return f'<div class="pictures{layout}">{"".join(members)}</div>'

    parts = [
        "<!doctype html>\n",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(style, scripts)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f'<title>{escape(title)} · quotientgraph</title><link rel="icon" href="data:,">',
        f"<style>{style}</style></head><body><main>",
        _header(result, title),
        _section("surface", "Surface", views_html(views) + f'<p class="note">{escape(views_note(views.mesh))}</p>'),
        _section("input", "Input", group("input"), _input_note(result, crop)),
        _section("components", "Components", group("components"), _LEVELS_NOTE),
        _section("depth", "Depth and discontinuities", group("depth")),
        _convergence(result),
        _section("facts", "Facts", _facts(result, about or {})),
        "</main><footer>Made by quotientgraph. This file is complete: it loads nothing.</footer>",
        '<dialog id="large" aria-label="Picture"><img alt=""><p></p></dialog>',
        *(f"<script>{s}</script>" for s in scripts),
        "</body></html>\n",
    ]
    return "".join(parts).encode("utf-8", "replace").decode("utf-8")


def inline_html(result: Reconstruction, *, image: np.ndarray | None = None, size: int = 900_000) -> str:
    """Return a page with the two views alone, in about `size` characters, for the frame of a notebook."""
    views = views_of(result, image, only=INLINE, size=size, max_points=40_000)
    style = _asset("page.css")
    scripts = [_asset(name) for name in SCRIPTS]
    hidden = "".join(
        f'<img id="picture-{p.name}" src="{views.coded[p.name][0]}" alt="" hidden>' for p in views.pictures
    )
    numbers = "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in headline(result))
    parts = [
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(style, scripts)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark"><title>quotientgraph</title>',
        f'<style>{style}</style></head><body class="inline"><main><dl class="numbers">{numbers}</dl>',
        f'<section id="surface">{views_html(views)}</section></main>{hidden}',
        *(f"<script>{s}</script>" for s in scripts),
        "</body></html>\n",
    ]
    return "".join(parts)


INLINE = ("image", "normals", "result-normals", "depth", "shading", "residual", "confidence", "level-0", "angle")
_JUMP = 3.0  # from this factor on, a rise of the energy is explained
_ENERGY_NOTE = (
    "The energy of an iteration is measured with the weights of that iteration. It therefore jumps where other weights "
    "take over and where the optimisation begins again from another start; it is comparable only in between."
)
_LEVELS_NOTE = "Pixels of one colour move together. A merged component keeps the colour of its largest part."


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _policy(style: str, scripts: list[str]) -> str:
    """Return a content security policy: only this file's own style and scripts may run, and nothing may be fetched."""

    def digest(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    allowed = " ".join(digest(s) for s in scripts)
    return f"default-src 'none'; img-src data:; style-src {digest(style)}; script-src {allowed}"


def _section(name: str, title: str, body: str, note: str = "") -> str:
    lead = f'<p class="note">{escape(note)}</p>' if note else ""
    return f'<section id="{name}"><h2>{escape(title)}</h2>{lead}{body}</section>'


def _header(result: Reconstruction, title: str) -> str:
    numbers = "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in headline(result))
    good = result.converged or not result.history
    warnings = [str(w) for w in getattr(result, "warnings", None) or []]
    listed = "".join(f"<li>{escape(w)}</li>" for w in warnings)
    count = f"{len(warnings)} warning{'s' if len(warnings) != 1 else ''}:" if warnings else "No warnings."
    told = f'<ul class="warnings">{listed}</ul>' if warnings else ""
    return (
        f'<header><p class="kind">Normal integration report</p><h1>{escape(title)}</h1>'
        f'<dl class="numbers">{numbers}</dl></header>'
        f'<section id="warnings" class="{"calm" if good and not warnings else "loud"}" aria-label="Warnings">'
        f"<p><b>{escape(verdict(result))}</b> {count}</p>{told}</section>"
    )


def _input_note(result: Reconstruction, crop: tuple[slice, slice]) -> str:
    if np.isfinite(result.depth).all():
        return "The mask is the whole image: every pixel is valid and was integrated."
    if crop == tuple(slice(0, n) for n in result.depth.shape):
        return ""
    rows, columns = (f"{side.start} to {side.stop - 1}" for side in crop)
    return f"Pictures show columns {columns} and rows {rows}."


def _convergence(result: Reconstruction) -> str:
    steps = list(result.history)
    x = [s.iteration for s in steps]
    if any(b <= a for a, b in pairwise(x)):  # counted anew at each level
        x = list(range(1, len(steps) + 1))
    marks = [
        (x[i], f"Level {b.level}: {brief(b.n_components)} components")
        for i, (a, b) in enumerate(pairwise(steps), start=1)
        if b.level != a.level
    ]
    energy = line_chart("energy", x, [s.energy for s in steps], x_label="iteration", y_label="energy", marks=marks)
    count = line_chart(
        "count",
        x,
        [s.n_components for s in steps],
        x_label="iteration",
        y_label="components",
        marks=marks,
        counts=True,
    )
    notes = ["Dashed lines are merges; each starts a new level."] if marks else []
    if any(b.energy > _JUMP * a.energy > 0 for a, b in pairwise(steps) if a.energy and b.energy):
        notes.append(_ENERGY_NOTE)
    seconds = {str(k): float(v) for k, v in result.seconds.items()}
    return _section(
        "convergence",
        "Convergence and time",
        f'<div class="charts"><figure id="energy"><h3>Energy</h3>{energy}</figure>'
        f'<figure id="count"><h3>Components</h3>{count}</figure>'
        f'<figure id="time"><h3>Time per stage</h3>{bar_chart("time", seconds)}</figure></div>'
        f"{_history(steps)}",
        " ".join(notes),
    )


def _history(steps: list[Step]) -> str:
    if not steps:
        return ""
    every = -(-len(steps) // MAX_ROWS)
    rows = "".join(
        f"<tr><td>{brief(s.iteration)}<td>{brief(s.level)}<td>{brief(s.n_components)}<td>{_energy(s.energy)}"
        f"<td>{brief(s.solver_iterations or 0)}<td>{clock(s.seconds)}"
        for s in steps[::every]
    )
    names = "".join(
        f'<th scope="col">{n}' for n in ("Iteration", "Level", "Components", "Energy", "Solver iterations", "Time")
    )
    which = "Every iteration" if every == 1 else f"One in {every} iterations"
    table = f'<div class="scroll"><table><thead><tr>{names}<tbody>{rows}</table></div>'
    return f"<details><summary>{which}</summary>{table}</details>"


def _energy(energy: float | None) -> str:
    return "–" if energy is None else brief(energy)


def _facts(result: Reconstruction, about: Mapping[str, str]) -> str:
    known = [*about.items(), *fact_rows(result)]
    rows = "".join(f'<tr><th scope="row">{escape(k)}<td>{escape(v)}' for k, v in known)
    return f'<table class="facts"><tbody>{rows}</table>'
