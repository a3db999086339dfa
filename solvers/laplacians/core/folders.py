"""Where compiled kernels are kept. Numba is not needed to look there."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from pathlib import Path

SUFFIX = ".kernel"
TEMPORARY = "quotientgraph-kernels-"


def any_kernel(file: str, chosen: str) -> bool:
    """Whether a compiled kernel of the folder of a source file is kept somewhere; see `kernel_folders`."""
    return any(next(folder.glob(f"*{SUFFIX}"), None) is not None for folder in kernel_folders(file, chosen))


def digest(text: str) -> str:
    """A name for a text that no other text has."""
    return hashlib.sha256(text.encode()).hexdigest()


def kernel_folders(file: str, chosen: str) -> list[Path]:
    """Where to look for compiled kernels and to keep them: what the user says, else beside the source, else at home.

    The last resort is a folder of the user in the directory for temporary files.

    Parameters
    ----------
    file : str
        The source file of a kernel.
    chosen : str
        The folder that the user chose by NUMBA_CACHE_DIR, or an empty text.
    """
    source = Path(file).resolve().parent
    own = f"{source.name}_{digest(str(source))[:16]}"
    temporary = Path(tempfile.gettempdir()) / f"{TEMPORARY}{_user()}" / own
    if chosen:
        return [Path(chosen) / own, temporary]
    home = Path(os.path.expanduser(_home()))
    return [
        source / "__pycache__",
        *([home / "quotientgraph" / "kernels" / own] if home.is_absolute() else []),
        temporary,
    ]


def _home() -> str:
    """The folder in which programs of this user keep what can be made again; "~" may have no meaning."""
    if sys.platform == "win32":
        return os.environ.get("LOCALAPPDATA") or os.path.join("~", "AppData", "Local")
    if sys.platform == "darwin":
        return os.path.join("~", "Library", "Caches")
    return os.environ.get("XDG_CACHE_HOME") or os.path.join("~", ".cache")


def _user() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
