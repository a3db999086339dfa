"""Tables as text: for a terminal, as Markdown, and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from .tables import NEAR, Entry

_GREEN, _RED, _DIM, _BOLD, _OFF = "\x1b[32m", "\x1b[31m", "\x1b[2m", "\x1b[1m", "\x1b[0m"


def grid(entries: Iterable[Entry], colour: bool = False, markdown: bool = False) -> str:
    """Return entries as blocks of text, one for each quantity.

    Parameters
    ----------
    entries : iterable of Entry
    colour : bool
        Whether to use the colours of a terminal; the difference from the paper's figure is then shown too.
    markdown : bool
        Whether to write Markdown tables.

    Returns
    -------
    str
        A cell holds our figure, its spread if it has one, and the paper's figure in brackets.

    Examples
    --------
    >>> print(grid([Entry("seconds", "fft", "bear", 0.25)]))
    seconds   bear
    ───────  ─────
    fft      0.250
    """
    blocks: dict[str, list[Entry]] = {}
    for entry in entries:
        blocks.setdefault(entry.quantity, []).append(entry)
    parts = []
    for quantity, block in blocks.items():
        rows = list(dict.fromkeys(entry.row for entry in block))
        columns = list(dict.fromkeys(entry.column for entry in block))
        at = {(entry.row, entry.column): entry for entry in block}
        body = [[row, *(_cell(at.get((row, column)), colour, markdown) for column in columns)] for row in rows]
        parts.append(text_table([quantity, *columns], body, markdown, colour))
    return "\n\n".join(parts)


def summary(entries: Iterable[Entry]) -> str:
    """Return how many cells are near the paper's, for each kind of comparison, and the list of those that are not."""
    asked = [entry for entry in entries if entry.within is not None]
    lines = []
    for kind in dict.fromkeys(entry.near for entry in asked):
        group = [entry for entry in asked if entry.near == kind]
        absolute, relative = NEAR[kind or ""]
        near = sum(bool(entry.within) for entry in group)
        bound = " or ".join(part for part in (f"{absolute:g}" * (absolute > 0), f"{100 * relative:g} %") if part)
        lines.append(f"{kind}: {near} of {len(group)} cells ({near / len(group):.0%}) within {bound} of the paper")
    for entry in asked:
        if not entry.within:
            ours = "failed: " + entry.failed if entry.ours is None else short_number(entry.ours)
            where = f"{entry.quantity}: {entry.row}, {entry.column}"
            lines.append(f"  miss: {where}: {ours} against {short_number(entry.paper)}")
    return "\n".join(lines)


def to_csv(entries: Iterable[Entry]) -> str:
    """Return entries as CSV, one line for each."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["quantity", "row", "column", "ours", "paper", "difference", "within", "failed", "spread"])
    for e in entries:
        difference = "" if e.ours is None or e.paper is None else e.ours - e.paper
        writer.writerow([e.quantity, e.row, e.column, e.ours, e.paper, difference, e.within, e.failed, e.spread])
    return out.getvalue()


def short_number(value: float | bool | str | None) -> str:
    """Return a number with about three digits, however small it is.

    >>> [short_number(x) for x in (0.25, 0.00123, 12.345, 1234.5, 3, True, None)]
    ['0.250', '0.00123', '12.3', '1234.5', '3', 'yes', '–']
    """
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) or (value == int(value) and abs(value) >= 10):
        return f"{int(value)}"
    if 0 < abs(value) < 0.01:
        return f"{value:.3g}"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


def text_table(head: list[str], body: list[list[str]], markdown: bool = False, colour: bool = False) -> str:
    """Return a table with columns of equal width, the first aligned to the left and the others to the right."""
    width = [max(_length(row[i]) for row in [head, *body]) for i in range(len(head))]
    lines = []
    for k, row in enumerate([head, *body]):
        cells = [(_pad(c, width[i], i > 0)) for i, c in enumerate(row)]
        line = "| " + " | ".join(cells) + " |" if markdown else "  ".join(cells)
        lines.append(f"{_BOLD}{line}{_OFF}" if colour and not k else line.rstrip())
        if not k:
            rule = ["-" * (w - 1) + (":" if i else "-") for i, w in enumerate(width)]
            lines.append("| " + " | ".join(rule) + " |" if markdown else "  ".join("─" * w for w in width))
    return "\n".join(lines)


def _cell(entry: Entry | None, colour: bool, markdown: bool) -> str:
    if entry is None:
        return ""
    if entry.ours is None:
        return f"{_RED}failed{_OFF}" if colour and entry.failed else "failed" if entry.failed else "–"
    text = short_number(entry.ours)
    if entry.spread is not None:
        text = f"{_two_digits(entry.ours)} ± {_two_digits(entry.spread)}"
    if entry.failed:
        text += f" ({entry.failed})"
    if entry.paper is None:
        return text
    paper = f"{entry.paper:g}"
    if entry.within is None:
        return f"{text} ({paper})" if not colour else f"{text} {_DIM}({paper}){_OFF}"
    change = entry.ours - entry.paper
    difference = f"{change:+.0f}" if float(entry.paper).is_integer() and abs(entry.paper) > 9 else f"{change:+.3f}"
    if colour:
        return f"{text} {_DIM}({paper}){_OFF} {_GREEN if entry.within else _RED}{difference}{_OFF}"
    mark = "" if entry.within else ("**" if markdown else "!")
    return f"{mark}{text}{mark if markdown else ''} ({paper})"


def _two_digits(value: float) -> str:
    return f"{value:.1f}" if abs(value) >= 9.95 else f"{value:.2f}"


def _length(text: str) -> int:
    for code in (_GREEN, _RED, _DIM, _BOLD, _OFF):
        text = text.replace(code, "")
    return len(text)


def _pad(text: str, width: int, right: bool) -> str:
    space = " " * (width - _length(text))
    return space + text if right else text + space
