"""Tables in documents: a command that measures a table also writes it into the page that shows it.

A page marks the place by two comments, ``<!-- bench:NAME -->`` and ``<!-- end of bench:NAME -->``. What stands between them
is replaced.
"""

from __future__ import annotations

from pathlib import Path

from .table_text import grid, summary
from .tables import Entry, Table


def markdown(table: Table, entries: list[Entry]) -> str:
    """Return a table as Markdown: its blocks, how many figures are near the paper's, and its note."""
    near = summary(entries)
    parts = [grid(entries, markdown=True), f"```\n{near}\n```" if near else "", table.note]
    return "\n\n".join(part for part in parts if part)


def replaced(page: str, name: str, text: str) -> str:
    """Return a page with `text` between the markers of `name`.

    >>> print(replaced("<!-- bench:a -->\\nold\\n<!-- end of bench:a -->", "a", "new"))
    <!-- bench:a -->
    <BLANKLINE>
    new
    <BLANKLINE>
    <!-- end of bench:a -->
    """
    begin, end = f"<!-- bench:{name} -->", f"<!-- end of bench:{name} -->"
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"the page has no place for this table; put {begin} and {end} on lines of their own")
    return f"{before}{begin}\n\n{text}\n\n{end}{after}"


def has_place(path: Path, name: str) -> bool:
    """Tell whether a page has the markers of a table."""
    page = path.read_text(encoding="utf-8")
    return f"<!-- bench:{name} -->" in page and f"<!-- end of bench:{name} -->" in page


def write_into(path: Path, name: str, table: Table, entries: list[Entry]) -> None:
    """Replace the table `name` in the page at `path`."""
    page = path.read_text(encoding="utf-8")
    path.write_text(replaced(page, name, markdown(table, entries)), encoding="utf-8")
