"""Compiled kernels on disk: a cache that damage, full disks, read-only folders and concurrent processes cannot break.

Numba's own cache trusts its files: a truncated one fails every later run, one with a flipped bit may crash the process, and
two processes that compile at the same time can mix up their entries. Here every entry is a file of its own, named by a hash
of everything it depends on and written in one step, and it begins with the checksum of the rest. An entry that does not
match is deleted and compiled again. A process that finds another one at work on an entry waits for it
(`laplacians.core.claims`).

This module imports Numba, so it is imported when the first kernel is called.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import pickle
import stat
import sys
import time
from pathlib import Path
from typing import Any

import numba
from numba.core import config
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from . import companion
from .claims import Claim
from .compiling import announce, note
from .folders import SUFFIX, TEMPORARY, digest, kernel_folders

_STALE = 3600.0  # seconds after which an unfinished file cannot be in the making any more


class KernelCache(NullCache):
    """The cache of one kernel, with the interface that Numba's dispatchers expect.

    Parameters
    ----------
    name : str
        Names the kernel in file names and messages.
    file : str
        The source file of the kernel. If it does not exist, nothing is cached.
    stamp : str
        Changes whenever the source of the kernel, or of a kernel that it calls, does.
    options : str
        The options that the kernel is compiled with.
    """

    def __init__(self, name: str, file: str, stamp: str, options: str) -> None:
        self.name, self.options = name, options
        self.prefix = f"{name}.py{sys.version_info[0]}{sys.version_info[1]}-"
        self.stamped = f"{self.prefix}{digest(stamp)[:12]}-"
        self.folders = kernel_folders(file, config.CACHE_DIR) if os.path.exists(file) else []
        self.claims: list[Claim] = []

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled code for a signature, or None if it has to be compiled."""
        target_context.refresh()
        name = self._file_name(sig, target_context.codegen())
        found = self._read(name, target_context)
        if found is None:
            self._claim(name)
            # Another process may have finished it since; the claim is kept until `release`.
            found = self._read(name, target_context)
        if found is None:
            announce(self.name, None)
            companion.start()
        return found

    def release(self) -> None:
        """Let other processes know that this one does not compile this kernel any more."""
        while self.claims:
            self.claims.pop().release()

    def _claim(self, name: str) -> None:
        """Tell other processes that this one compiles an entry; if one of them does so already, wait until it is done."""
        for folder in self.folders:
            try:
                _make(folder)
                self.claims.append(Claim(folder / f"{name}.claim"))
            except OSError:
                continue
            self.claims[-1].take()
            return

    def _read(self, name: str, target_context: Any) -> Any:
        """The compiled code of an entry, or None if there is none."""
        for folder in self.folders:
            path = folder / name
            try:
                _refuse_strangers(folder)
                content = path.read_bytes()
            except OSError:
                continue
            try:
                if hashlib.sha256(content[32:]).digest() != content[:32]:
                    raise ValueError("its checksum is wrong")
                return CompileResult._rebuild(target_context, *pickle.loads(content[32:]))
            except Exception as error:  # whatever it is, compiling again is the remedy
                note("damaged", f"the cached kernel {path} was damaged ({error}) and is compiled again")
                _remove(path)
        return None

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Keep compiled code in the first folder that takes it."""
        if not self.folders or cres.lifted or cres.library.has_dynamic_globals:  # the latter hold addresses
            return
        payload = dumps(cres._reduce())
        content, problem = hashlib.sha256(payload).digest() + payload, None
        for folder in self.folders:
            try:
                self._write(folder, self._file_name(sig, cres.codegen), content)
            except OSError as error:
                problem = problem or f"{folder}: {error.strerror or error}"
                continue
            if problem:
                note("moved", f"compiled kernels cannot be kept in {problem}; they are kept in {folder} instead")
            return
        note(
            "unwritable",
            f"compiled kernels cannot be kept in {problem}; every process compiles them again. "
            "Set NUMBA_CACHE_DIR to a folder that can be written and has room",
        )

    def _file_name(self, sig: Any, codegen: Any) -> str:
        key = repr((numba.__version__, str(sig), codegen.magic_tuple(), self.options, _configuration()))
        return f"{self.stamped}{digest(key)[:16]}{SUFFIX}"

    def _write(self, folder: Path, name: str, content: bytes) -> None:
        """Write a file in one step, and remove what earlier versions and killed processes have left."""
        _make(folder)
        for other in folder.glob(f"{self.prefix}*"):
            finished = other.name.endswith(SUFFIX)
            if (finished and not other.name.startswith(self.stamped)) or (not finished and _age(other) > _STALE):
                _remove(other)
        # Processes of several machines or containers may have the same number.
        unfinished = folder / f"{name}.{os.getpid()}-{os.urandom(4).hex()}.unfinished"
        try:
            unfinished.write_bytes(content)
            os.replace(unfinished, folder / name)
        except OSError:
            _remove(unfinished)
            raise


def _configuration() -> tuple[Any, ...]:
    """What the environment tells Numba about compilation."""
    names = (
        "BOUNDSCHECK",
        "OPT",
        "LOOP_VECTORIZE",
        "SLP_VECTORIZE",
        "DISABLE_JIT",
        "DEBUGINFO_DEFAULT",
        "FULL_TRACEBACKS",
    )
    return tuple(str(getattr(config, name, None)) for name in names)


def _make(folder: Path) -> None:
    if folder.parent.name.startswith(TEMPORARY):
        folder.parent.mkdir(mode=0o700, exist_ok=True)
    _refuse_strangers(folder)
    folder.mkdir(parents=True, exist_ok=True)


def _refuse_strangers(folder: Path) -> None:
    """Raise an OSError for a folder among temporary files, where anybody may write, that is not this user's alone.

    What is loaded from the cache is executed.
    """
    if folder.parent.name.startswith(TEMPORARY) and hasattr(os, "getuid"):
        found = folder.parent.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
            raise PermissionError(errno.EPERM, "others can write there")


def _age(path: Path) -> float:
    """Seconds since a file was written; 0 if another process has removed or finished it meanwhile."""
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return 0.0


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
