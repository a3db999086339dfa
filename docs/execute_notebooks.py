"""Run the notebooks of the documentation and write them as pages, with what they print and show.

A notebook is a script in docs/notebooks, divided by lines that begin with ``# %%``; ``# %% [markdown]`` begins a text. It
runs as plain Python as well, which tests/test_examples.py does. Sphinx calls `write_pages` before each build (see conf.py):
the notebooks are executed by nbclient, and become a page and a file to download.
"""

from __future__ import annotations

import base64
import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
FOLDER = HERE / "notebooks"


def cells_of(path: Path) -> list[tuple[str, str]]:
    """Kind ("markdown" or "code") and text of each cell of a script."""
    parts = re.split(r"^# %%(.*)\n", path.read_text(encoding="utf-8"), flags=re.M)
    found = []
    for head, body in zip(parts[1::2], parts[2::2]):
        if "[markdown]" in head:
            found.append(("markdown", re.sub(r"^# ?", "", body, flags=re.M).strip()))
        else:
            found.append(("code", body.strip()))
    return found


def executed(path: Path) -> Any:
    """The notebook of a script with the outputs of its cells."""
    import nbformat
    from nbclient import NotebookClient

    make = {"markdown": nbformat.v4.new_markdown_cell, "code": nbformat.v4.new_code_cell}
    notebook = nbformat.v4.new_notebook(cells=[make[kind](text) for kind, text in cells_of(path)])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    # The packages of this clone, whether they are installed or not.
    paths = [str(HERE.parent), str(HERE.parent / "solvers"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    client = NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(FOLDER)}})
    client.execute(env=environment)
    return notebook


def page_of(notebook: Any, name: str, images: Path) -> str:
    """An executed notebook as Markdown; its pictures go to the folder `images`."""
    title, *cells = notebook.cells
    head, _, lead = title.source.partition("\n")
    out = [head, "", f"{{download}}`Download this notebook <{name}.ipynb>`", lead]
    for number, cell in enumerate(cells):
        if cell.cell_type == "markdown":
            out += ["", cell.source]
            continue
        out += ["", "```python", cell.source, "```", ""]
        for k, output in enumerate(cell.outputs):
            out += _shown(output, images / f"{name}-{number}-{k}.png")
    return "\n".join(out) + "\n"


def _shown(output: Any, picture: Path) -> list[str]:
    if output.output_type == "stream":
        return ["```text", output.text.rstrip(), "```", ""] if output.name == "stdout" else []
    data = output.get("data", {})
    if "text/html" in data:
        return ["```{raw} html", data["text/html"], "```", ""]
    if "image/png" in data:
        picture.parent.mkdir(exist_ok=True)
        picture.write_bytes(base64.b64decode(data["image/png"]))
        return [f"![]({picture.parent.name}/{picture.name})", ""]
    return ["```text", data.get("text/plain", ""), "```", ""]


def write_pages() -> None:
    """Execute the notebooks whose pages are older than they are, two at a time, and write the pages."""
    import nbformat

    scripts = [path for path in sorted(FOLDER.glob("[a-z]*.py")) if _is_newer(path, path.with_suffix(".md"))]
    with ThreadPoolExecutor(max_workers=2) as pool:
        for path, notebook in zip(scripts, pool.map(executed, scripts), strict=True):
            nbformat.write(notebook, path.with_suffix(".ipynb"))
            page = page_of(notebook, path.stem, FOLDER / "images")
            path.with_suffix(".md").write_text(page, encoding="utf-8")


def _is_newer(path: Path, page: Path) -> bool:
    return not page.exists() or page.stat().st_mtime <= path.stat().st_mtime


if __name__ == "__main__":
    for page in FOLDER.glob("*.md"):
        page.unlink()
    write_pages()
    sys.stdout.write("".join(f"{page.name}\n" for page in sorted(FOLDER.glob("*.md"))))
