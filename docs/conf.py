"""Configuration of Sphinx: python -m sphinx -W docs docs/_build"""

import inspect
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "solvers"), str(HERE)]

from execute_notebooks import write_pages
from make_gallery import write_gallery
from reference import reference

import quotientgraph

(HERE / "api.md").write_text(reference(), encoding="utf-8")
write_pages()
write_gallery()

project = "quotientgraph"
release = quotientgraph.__version__
author = "The quotientgraph developers"
copyright = "The quotientgraph developers, MIT licence"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "quotientgraph"
html_static_path = ["style"]
html_css_files = ["pages.css"]

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_default_options = {"members": True, "member-order": "bysource", "show-inheritance": False}
autodoc_typehints = "none"  # types stand in the signatures' docstrings, with shapes
suppress_warnings = ["ref.python"]  # several classes have an attribute of the same short name, as `n`
autodoc_mock_imports = ["cupy", "cupyx"]
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True


def _mend_docstring(app, what, name, obj, options, lines):
    """Keep |x| for an absolute value, which is markup otherwise, and do not repeat the docstring of a constant's type."""
    if what == "data" and inspect.getdoc(obj) == inspect.getdoc(type(obj)):
        lines.clear()
    lines[:] = [line if ">>>" in line else re.sub(r"(?<!\\)\|(?=\S)([^|`]+?)\|", r"\\|\1\\|", line) for line in lines]


def _list_other_pages(app, docname, source):
    """In the index, replace the line * by the pages that no other list names, so that each is listed once."""
    if docname == "index":
        named = set(re.findall(r"^([\w/]+)$", source[0], re.M)) | {"index"}
        rest = sorted(page.stem for page in HERE.glob("*.md") if page.stem not in named)
        source[0] = re.sub(r"^\*$", "\n".join(rest), source[0], flags=re.M)


def setup(app):
    app.connect("autodoc-process-docstring", _mend_docstring)
    app.connect("source-read", _list_other_pages)
