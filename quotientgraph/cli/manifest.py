"""``manifest.json``: what a run wrote into its folder, from which input and with which options."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import zipfile
from collections.abc import Iterable, Mapping
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


def facts_of(inputs: Iterable[Path]) -> dict[str, Any]:
    """Size and time of change of the files that a run reads, by their paths; None where there is no file."""
    found: dict[str, Any] = {}
    for path in inputs:
        try:
            facts = path.stat()
            found[_text(path)] = {"bytes": facts.st_size, "modified": facts.st_mtime_ns}
        except OSError:
            found[_text(path)] = None
    return found


def _text(path: Path | str) -> str:
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def write_manifest(
    folder: Path,
    source: str,
    args: argparse.Namespace,
    inputs: Mapping[str, Any] | None = None,
    left_out: Iterable[str] = (),
) -> None:
    """Describe the files of a folder in its manifest.

    `inputs` are `facts_of` the files that were read; `left_out` are files that are usual but could not be made of them.
    """
    from .. import __version__

    files = {path.name: _facts(path) for path in sorted(folder.iterdir()) if path.name != MANIFEST}
    document = {
        "quotientgraph": __version__,
        "input": _text(source),
        "inputs": inputs or {},
        "options": options_of(args),
        "files": files,
        "left_out": list(left_out),
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
    if (
        "quotientgraph" not in document
        or not isinstance(files, dict)
        or not all(isinstance(facts, dict) for facts in files.values())
    ):
        return {}
    return document


def is_complete(
    folder: Path, files: Iterable[str], args: argparse.Namespace, inputs: Mapping[str, Any] | None = None
) -> bool:
    """Whether an earlier run wrote all of these files, from the same inputs and with the same options.

    The files must still have their sizes. `inputs` are `facts_of` what would be read now. Manifests that do not tell what
    was read, as earlier versions wrote them, count as incomplete.
    """
    document = read_manifest(folder)
    listed, left_out = document.get("files", {}), document.get("left_out")
    optional = left_out if isinstance(left_out, list) and getattr(args, "mesh", None) is None else []
    wanted = [name for name in files if name not in optional]
    if not wanted or document.get("inputs") != (inputs or {}):
        return False
    if document.get("options") != json.loads(json.dumps(options_of(args), default=str)):
        return False
    for name in wanted:
        name = "labels.tiff" if name == "labels.png" and name not in listed else name
        try:
            if name not in listed or (folder / name).stat().st_size != listed[name].get("bytes"):
                return False
        except OSError:
            return False
    return True


def is_ours(file: Path) -> bool:
    """Whether an earlier run wrote this file, as the manifest beside it says, and nobody has changed it since."""
    listed = read_manifest(file.parent).get("files", {})
    if file.name == MANIFEST:
        return bool(listed)
    try:
        return file.name in listed and _facts(file) == listed[file.name]
    except OSError:
        return False


def is_dumped_system(file: Path) -> bool:
    """Whether an earlier run dumped this file: by its name, and by the arrays that it holds."""
    import numpy as np

    if not re.fullmatch(r"\d{4,}\.npz", file.name):
        return False
    try:
        with np.load(file, allow_pickle=False) as arrays:
            return {"n", "tail", "head"} <= set(arrays)
    except (OSError, ValueError, EOFError, TypeError, AttributeError, zipfile.BadZipFile):
        return False
