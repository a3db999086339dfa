"""What the user named → a list of inputs, each with a name of its own."""

from __future__ import annotations

import glob
import os
from pathlib import Path

# File names that say nothing; the folder's name is the better one.
_PLAIN = {"normal_map", "normals", "normal_gt", "normal", "normalmap", "n"}


def expand(words: list[str]) -> tuple[list[Path], bool]:
    """Paths of the inputs, and whether it was a single one by its name.

    A word is a file, a folder that holds one normal map, a folder of such folders or of files, or a pattern. What does
    not exist stays in the list, so that it is reported like any other input that fails.
    """
    paths: list[Path] = []
    single = len(words) == 1
    for word in words:
        path = Path(word)
        if path.is_dir() and not _is_one(path):
            found = _inside(path)
            single = False
        elif not path.exists() and glob.has_magic(word):
            found = [Path(match) for match in sorted(glob.glob(word, recursive=True))]
            single = False
        else:
            found = [path]
        paths += found or [path]
    return list(dict.fromkeys(paths)), single


def _is_one(folder: Path) -> bool:
    """Whether the folder has the layout of one input."""
    from ..io import InputError
    from ..io.normal_files import _look_into

    try:
        _look_into(folder)
    except InputError:
        return False
    return True


def _inside(folder: Path) -> list[Path]:
    """Inputs in a folder that is not one itself: folders with a normal map, or else files that can be read."""
    from ..io import readable

    try:
        entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    except OSError:
        return []
    folders = [entry for entry in entries if entry.is_dir() and _is_one(entry)]
    return folders or [entry for entry in entries if entry.is_file() and entry.suffix.lower() in readable()]


def names(paths: list[Path]) -> list[str]:
    """A name for each path: that of the file or folder; longer where two would be the same.

    >>> names([Path("a/bear.png"), Path("cat/normal_map.png"), Path("b/bear.png"), Path("b/bear.exr")])
    ['a_bear', 'cat', 'b_bear_png', 'b_bear_exr']
    """
    whole = [Path(os.path.abspath(path)) for path in paths]

    def brief(path: Path) -> str:
        stem = path.name if path.is_dir() else path.stem
        return path.parent.name or stem if stem.lower() in _PLAIN else stem

    forms = (brief, lambda p: f"{p.parent.name}_{brief(p)}", lambda p: f"{p.parent.name}_{p.stem}_{p.suffix[1:]}")
    out = [""] * len(paths)
    left = list(range(len(paths)))
    for form in forms:
        made = {i: form(whole[i]) for i in left}
        taken = [*(name for name in out if name), *made.values()]
        for i in left:
            out[i] = made[i] if taken.count(made[i]) == 1 else ""
        left = [i for i in left if not out[i]]
    for i in left:
        out[i] = "_".join(whole[i].parts[1:]).replace(".", "_")
    return out
