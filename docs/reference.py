"""The text of the reference, docs/api.md: every public name of the packages, by the path that users import it from.

Sphinx writes the page anew in each build (see conf.py), so that no name can be forgotten. A name is public if the
module that offers it lists it in ``__all__`` or, in a module without that list, if it is a function or a class that the
module defines and it does not begin with an underscore.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from types import ModuleType

from quotientgraph.settings import BEST, FIELDS, PAPER

# Heading, module, and what the section holds. The rest of the modules follow below these, layer by layer.
FRONT = [
    ("Integration", "quotientgraph", "What `from quotientgraph import …` offers."),
    ("Metrics", "quotientgraph.metrics", "Comparing depth with depth."),
    ("Scenes", "quotientgraph.scenes", "Surfaces with exact normals and depth."),
    ("Files", "quotientgraph.io", "Reading and writing, used as `from quotientgraph import io`."),
    ("Analysis of decompositions", "quotientgraph.analysis", "Studying how a surface falls into components."),
    ("Pictures and reports", "quotientgraph.report", "What `--report` and `result.show()` are made of."),
    ("Other methods", "quotientgraph.baselines", "The methods that `integrate(method=…)` can be asked for."),
    ("Maps in tiles", "quotientgraph.scale", "For maps larger than memory; see [maps in tiles](scale.md)."),
    ("Benchmark", "quotientgraph.bench", "What `quotientgraph bench` is made of."),
    ("Solvers", "laplacians", "Used as `from quotientgraph import solvers`; the installed package is `laplacians`."),
]
# Programs offer commands, not functions.
HIDDEN = {"quotientgraph.campaign", "quotientgraph.cli", "quotientgraph.__main__"}


def modules() -> list[str]:
    """Every module of the two packages but those of the command line and private ones."""
    found = ["laplacians", "quotientgraph"]
    for package in ("laplacians", "quotientgraph"):
        path = importlib.import_module(package).__path__
        found += [entry.name for entry in pkgutil.walk_packages(path, f"{package}.", onerror=lambda name: None)]
    shown = [name for name in found if not any(name == top or name.startswith(f"{top}.") for top in HIDDEN)]
    return [name for name in shown if not any(part.startswith("_") for part in name.split("."))]


def public_names(module: ModuleType) -> list[str]:
    """The names that a module offers, in alphabetical order."""
    if hasattr(module, "__all__"):
        return sorted(module.__all__)
    own = [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(value) or inspect.isroutine(inspect.unwrap(value)))
        and value.__module__ == module.__name__
    ]
    return sorted(own)


def directive(path: str, value: object) -> str:
    """The directive that documents one name; none for a module, which has a section of its own."""
    kind = "class" if inspect.isclass(value) else "function" if callable(value) else "data"
    if inspect.isclass(value) and issubclass(value, BaseException):
        kind = "exception"
    return f".. auto{kind}:: {path}"


def reference() -> str:
    """The text of the page."""
    page = ["# Reference", ""]
    seen: set[int] = set()  # objects that have their entry already, under the path that users know
    for heading, name, words in FRONT:
        entries = _entries(importlib.import_module(name), seen)
        page += [f"## {heading}", "", f"`{name}`: {words}", "", *_block(entries)]
    page += ["## Settings", "", *_settings_table(), ""]
    page += ["## Layers", "", "The modules behind these names, for those who build on them. They may change.", ""]
    for name in sorted(set(modules()) - {front for _, front, _ in FRONT}):
        entries = _entries(importlib.import_module(name), seen)
        if entries:
            page += [f"### `{name}`", "", *_block(entries)]
    return "\n".join(page)


def _settings_table() -> list[str]:
    """Every setting with its help text and what it is in the two presets, from `quotientgraph.settings`."""
    rows = ["| setting | best | paper | |", "|---|---|---|---|"]
    for name, field in FIELDS.items():
        words = field.metadata["help"]
        if choices := field.metadata.get("choices"):
            words += ": " + ", ".join(f"`{choice}`" for choice in choices)
        rows.append(f"| `{name}` | `{getattr(BEST, name)}` | `{getattr(PAPER, name)}` | {words} |")
    return [
        "Keywords of `integrate` and `QuotientGraph.optimize`, and options of `quotientgraph integrate`.",
        "",
        *rows,
    ]


def _entries(module: ModuleType, seen: set[int]) -> list[str]:
    values = {name: getattr(module, name) for name in public_names(module)}
    new = {name: v for name, v in values.items() if not isinstance(v, ModuleType) and id(v) not in seen}
    seen.update(id(v) for v in new.values())
    return [directive(f"{module.__name__}.{name}", value) for name, value in new.items()]


def _block(entries: list[str]) -> list[str]:
    return ["```{eval-rst}", *"\n\n".join(entries).splitlines(), "```", ""]
