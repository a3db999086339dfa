"""What stands where a run wants to write: only results of earlier runs are replaced, and only if the user asks for it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from ..io.atomic import OutputError
from .work import JOURNAL

MARK = "quotientgraph.scale"  # each result has this key, in the metadata of its format
_BEGINNING = b'{"quotientgraph": "'  # of a journal
_RENAME = "choose another name for the Zarr store (out, -o)"


def check_places(
    results: Iterable[Path], folder: Path, kept: Mapping[Path, str], resume: bool, overwrite: bool
) -> None:
    """Raise an `OutputError` about the first place at which something stands that a run would replace and may not.

    Parameters
    ----------
    results : iterable of Path
        Where the results go.
    folder : Path
        Where the intermediate files go. Something that is there has to be the folder of an earlier run.
    kept : mapping
        Files and folders that the run neither replaces nor writes into the place of, and what to call each of them.
    resume, overwrite : bool
        What the user asks for. Results of an earlier run are replaced with `overwrite`, and with `resume` if `folder` holds
        the run that goes on.
    """
    allowed = overwrite or (resume and (folder / JOURNAL).exists())
    for path in (*results, folder):
        for one, name in kept.items():
            if path in (one, *one.parents):
                raise OutputError(f"{path}: is or holds {name}, and would be replaced; {_RENAME}{_inside(path)}")
        if path == folder or not os.path.lexists(path):
            continue
        _check_ours(path)
        if not allowed:
            raise OutputError(f"{path}: exists; pass overwrite=True (--overwrite), or choose another name")
    if os.path.lexists(folder) and not holds_a_run(folder):
        raise OutputError(
            f"{folder}: exists without the journal of a run, and intermediate files would go there; move it away, or "
            f"{_RENAME}"
        )


def remove_array(path: Path) -> None:
    """Remove the Zarr array of an earlier run, if there is one; files that do not belong to it stay in its folder."""
    if not os.path.lexists(path):
        return
    _check_ours(path)
    if (path / "c").exists():
        shutil.rmtree(path / "c")
    (path / "zarr.json").unlink(missing_ok=True)  # the last, because it has the mark


def _check_ours(path: Path) -> None:
    if not is_ours(path):
        raise OutputError(
            f"{path}: exists and does not say that tiles wrote it, so it is not replaced; move it away, or "
            f"{_RENAME}{_inside(path)}"
        )


def is_ours(path: Path) -> bool:
    """Whether a result has our mark. An empty folder of an array counts: a run may have been killed before it wrote it."""
    try:
        if path.is_dir():
            names = [name for name in os.listdir(path) if not name.endswith(".partial")]
            if not names:
                return path.suffix not in (".parquet", ".json")  # which are files
            return MARK in json.loads((path / "zarr.json").read_bytes())["attributes"]
        if path.suffix == ".parquet":
            from pyarrow import parquet

            return MARK.encode() in (parquet.read_schema(path).metadata or {})
        return path.suffix == ".json" and MARK in dict(json.loads(path.read_bytes()))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def holds_a_run(folder: Path) -> bool:
    """Whether a folder has the journal of a run, or nothing."""
    try:
        with (folder / JOURNAL).open("rb") as file:
            return _BEGINNING.startswith(file.read(len(_BEGINNING)))
    except OSError:
        return folder.is_dir() and not os.listdir(folder)


def _inside(path: Path) -> str:
    """An example of a name for those who gave a folder of theirs."""
    return f", such as {path / 'depth.zarr'}" if path.is_dir() and path.suffix not in (".zarr", ".work") else ""
