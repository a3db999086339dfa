"""From the words of the command line to a list of inputs, each with a name of its own."""

from __future__ import annotations

import glob
import os
from pathlib import Path


def expand(words: list[str]) -> tuple[list[Path], bool]:
    """The paths of the inputs, and whether the user named exactly one.

    A word is a file, a folder that holds one normal map, a folder of such folders or of files, or a pattern. A path
    that does not exist stays in the list, so that it is reported like any other input that fails.
    """
    from ..io import is_input_folder

    paths: list[Path] = []
    single = len(words) == 1
    for word in words:
        path = Path(word)
        if path.is_dir() and not is_input_folder(path):
            found = _inside(path)
            single = False
        elif not path.exists() and glob.has_magic(word):
            found = [Path(match) for match in sorted(glob.glob(word, recursive=True))]
            single = False
        else:
            found = [path]
        paths += found or [path]
    return list(dict.fromkeys(paths)), single


def _inside(folder: Path) -> list[Path]:
    """The inputs in a folder: folders that hold a normal map, or if there are none, files that can be read.

    The masks of other files in the folder are no inputs.
    """
    from ..io import is_input_folder, readable
    from ..io.folders import without_companions

    try:
        entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    except OSError:
        return []
    folders = [entry for entry in entries if entry.is_dir() and is_input_folder(entry)]
    files = [entry for entry in entries if entry.is_file() and entry.suffix.lower() in readable()]
    return folders or without_companions(files)


def names(paths: list[Path]) -> list[str]:
    """A name for each path: that of the file or folder, made longer where two would be the same.

    >>> names([Path("...npy")])
    ['__']
    >>> names([Path("a/bear.png"), Path("cat/normal_map.png"), Path("b/bear.png"), Path("b/bear.exr")])
    ['a_bear', 'cat', 'b_bear_png', 'b_bear_exr']
    """
    from ..io.folders import NORMAL_STEMS  # names that say nothing: that of the folder is better

    whole = [Path(os.path.abspath(path)) for path in paths]

    def brief(path: Path) -> str:
        stem = path.name if path.is_dir() else path.stem
        return path.parent.name or stem if stem.lower() in NORMAL_STEMS else stem

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
    return [_safe(name) for name in out]


def _safe(name: str) -> str:
    """A name that stays in its folder: a file "...npy" has the stem "..", which would lead out of it."""
    return name if name.strip(". ") else name.replace(".", "_").strip() or "unnamed"
