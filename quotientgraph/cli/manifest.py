"""``manifest.json``: what a run wrote into its folder, from which input and with which options."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

MANIFEST = "manifest.json"

# Options that say which files are written, where, and how the work is organised. The others change the results.
_NOT_OF_THE_RESULT = {
    "inputs", "output", "format", "mesh", "points", "labels", "graphml", "tables", "decomposition", "picture", "report",
    "alternatives",    "dump_systems", "jobs",
    "skip_existing", "config", "json", "quiet", "run", "prepare", "command", "list", "save_input", "size", "scene",
}  # fmt: skip


def options_of(args: argparse.Namespace) -> dict[str, Any]:
    """The options that change the results, without those that were not given."""
    return {
        name: value
        for name, value in sorted(vars(args).items())
        if name not in _NOT_OF_THE_RESULT and value is not None and not callable(value)
    }


def write_manifest(folder: Path, source: str, args: argparse.Namespace) -> None:
    """Describe the files of a folder in its manifest."""
    from .. import __version__

    files = {path.name: _facts(path) for path in sorted(folder.iterdir()) if path.name != MANIFEST}
    document = {
        "quotientgraph": __version__,
        "input": os.fsencode(source).decode("utf-8", "backslashreplace"),
        "options": options_of(args),
        "files": files,
    }
    (folder / MANIFEST).write_text(json.dumps(document, indent=1, default=str) + "\n", encoding="utf-8")


def _facts(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"bytes": path.stat().st_size, "sha256": digest}


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder; empty if there is none that can be understood."""
    try:
        document = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    files = document.get("files") if isinstance(document, dict) else None
    if not isinstance(files, dict) or not all(isinstance(facts, dict) for facts in files.values()):
        return {}
    return document


def is_complete(folder: Path, files: list[str], args: argparse.Namespace) -> bool:
    """Whether an earlier run with the same options wrote all of these files, and they still have their sizes."""
    document = read_manifest(folder)
    listed = document.get("files", {})
    if not files or document.get("options") != json.loads(json.dumps(options_of(args), default=str)):
        return False
    for name in files:
        name = "labels.tiff" if name == "labels.png" and name not in listed else name
        try:
            if name not in listed or (folder / name).stat().st_size != listed[name].get("bytes"):
                return False
        except OSError:
            return False
    return True


def earlier_files(folder: Path) -> Callable[[Path], bool]:
    """A test for files that an earlier run wrote into this folder and nobody has changed since."""
    listed = read_manifest(folder).get("files", {})

    def is_ours(file: Path) -> bool:
        if file.name == MANIFEST:
            return bool(listed)
        try:
            return file.name in listed and _facts(file) == listed[file.name]
        except OSError:
            return False

    return is_ours
