"""`Work`: the folder with what tiles have computed so far, each file written whole or not at all, with its checksum."""

from __future__ import annotations

import contextlib
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..io.atomic import atomic
from .tiling import Box, Tiling

JOURNAL = "journal.jsonl"
# The names that runs give to files in the folder, also to those that a kill left unfinished.
_OURS = re.compile(r"journal\.jsonl|[^/]+/\.?(all|\d+)(\.[0-9a-f]{12}\.part)?\.np[yz]")
# What a task returns: the files that it wrote, relative to the folder, and their checksums.
Written = dict[str, int]


class Lookup(NamedTuple):
    """Values by tile and by number inside the tile: those of tile k begin at ``start[k]``."""

    start: np.ndarray
    values: np.ndarray

    def of(self, k: int) -> np.ndarray:
        """The values of tile `k`."""
        return self.values[self.start[k] : self.start[k + 1]]


class PerTile(NamedTuple):
    """The same from one file for each tile."""

    work: Work
    name: str

    def of(self, k: int) -> np.ndarray:
        """The values of tile `k`, mapped into memory."""
        return self.work.read(self.name, k)


@dataclass(frozen=True)
class Work:
    """Arrays of tiles as files: images of a tile's pixels, and tables.

    Attributes
    ----------
    folder : Path
        On a cluster it has to be one that all workers see.
    tiling : Tiling
    """

    folder: Path
    tiling: Tiling

    def path(self, name: str, k: int | None = None, suffix: str = ".npy") -> Path:
        """The file of an array or a table, of tile `k` or of the whole map."""
        return self.folder / name / f"{'all' if k is None else k}{suffix}"

    def write(self, name: str, k: int | None, array: np.ndarray) -> Written:
        """Write one array as .npy."""
        path = self.path(name, k)
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic(path) as part, part.open("wb") as file:
            np.save(file, array)
        return self._written(path)

    def write_numbers(self, name: str, k: int, image: np.ndarray) -> Written:
        """Write an image of numbers from −1 on as .npy, with two bytes a pixel if they fit."""
        small = image.max(initial=-1) <= np.iinfo(np.int16).max
        return self.write(name, k, image.astype(np.int16 if small else np.int32))

    def write_table(self, name: str, k: int | None, **columns: Any) -> Written:
        """Write named arrays as .npz."""
        path = self.path(name, k, ".npz")
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic(path) as part, part.open("wb") as file:
            np.savez(file, **columns)
        return self._written(path)

    def read(self, name: str, k: int | None = None) -> np.ndarray:
        """An array, mapped into memory rather than read."""
        return np.load(self.path(name, k), mmap_mode="r")

    def table(self, name: str, k: int | None = None, *columns: str) -> dict[str, np.ndarray]:
        """The columns that `write_table` was given, or some of them."""
        with np.load(self.path(name, k, ".npz")) as found:
            return {key: found[key] for key in columns or found.files}

    def column(self, name: str, column: str) -> list[np.ndarray]:
        """One column of the tables of all tiles, in their order."""
        return [self.table(name, k, column)[column] for k in range(self.tiling.n_tiles)]

    def joined(self, name: str, column: str) -> np.ndarray:
        """The same as one array."""
        return np.concatenate([np.atleast_1d(values) for values in self.column(name, column)])

    def tables(self, name: str, *columns: str) -> list[dict[str, np.ndarray]]:
        """The tables of all tiles, in their order, or some columns of them; each file is opened once."""
        return [self.table(name, k, *columns) for k in range(self.tiling.n_tiles)]

    def lookup(self, name: str) -> Lookup | PerTile:
        """Values by tile and by number inside the tile, from one file or from one for each tile, as they were written."""
        if self.path(f"{name}.start").exists():
            return Lookup(self.read(f"{name}.start"), self.read(name))
        return PerTile(self, name)

    def write_lookup(self, name: str, lookup: Lookup) -> None:
        """Write a `Lookup` for all tiles to read; it goes before what files of single tiles say."""
        self.write(name, None, np.asarray(lookup.values))
        self.write(f"{name}.start", None, np.asarray(lookup.start))

    @contextlib.contextmanager
    def mapped(self, name: str, shape: tuple[int, ...], dtype: Any) -> Iterator[np.ndarray]:
        """An array of the whole map, zero at first, that is filled in on disk; `read` finds it when the block has ended."""
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic(path) as part:
            array = np.lib.format.open_memmap(part, mode="w+", dtype=dtype, shape=shape)
            if hasattr(
                os, "posix_fallocate"
            ):  # a full disk is an error here, and would be the end of the process later
                with part.open("r+b") as file:
                    os.posix_fallocate(file.fileno(), 0, part.stat().st_size)
            yield array
            array.flush()

    def window(self, name: str, box: Box, through: Lookup | PerTile | None = None) -> np.ndarray:
        """An image of the pixels of a box, put together from the tiles that it touches.

        With `through`, the images hold numbers that count from 0 in each tile, −1 where there is none; they are replaced by
        the values that the lookup has for them, and −1 stays −1.
        """
        out: np.ndarray | None = None
        for k, turn in self.tiling.pieces(box):
            values = turn.seen(self.read(name, k)[turn.source.within(self.tiling.core(k))])
            if through is not None:
                table = through.of(k)
                values = np.append(table, np.array([-1], dtype=table.dtype))[values]
            if out is None:
                out = np.empty(box.shape, dtype=np.int32 if values.dtype == np.int16 else values.dtype)
            out[turn.part.within(box)] = values
        assert out is not None
        return out

    def at(self, name: str, position: np.ndarray, through: Lookup | PerTile | None = None) -> np.ndarray:
        """(n,) values of an image at flat positions in the whole map; `through` is as in `window`."""
        owner = self.tiling.tile_of(position)
        row, column = np.divmod(position, self.tiling.shape[1])
        out: np.ndarray | None = None
        for k in np.unique(owner):
            chosen, core = owner == k, self.tiling.core(k)
            values = self.read(name, k)[row[chosen] - core.top, column[chosen] - core.left]
            if through is not None:
                values = through.of(k)[values]
            if out is None:
                out = np.empty(len(position), dtype=np.int32 if values.dtype == np.int16 else values.dtype)
            out[chosen] = values
        return np.zeros(0) if out is None else out

    def drop(self, name: str, tiles: Iterable[int]) -> None:
        """Remove an array of some tiles."""
        for k in tiles:
            self.path(name, k).unlink(missing_ok=True)

    def clear(self) -> None:
        """Remove the folder with what runs write into it. Other files stay, and so do the folders that they are in."""
        for folder, _, files in os.walk(self.folder, topdown=False):
            for name in sorted(files, key=JOURNAL.__eq__):  # the journal last: it tells that the rest is of a run
                if _OURS.fullmatch(Path(folder, name).relative_to(self.folder).as_posix()):
                    Path(folder, name).unlink()
            with contextlib.suppress(OSError):
                Path(folder).rmdir()

    def intact(self, files: Written) -> bool:
        """Whether files are there with the checksums that they were written with."""
        return all(
            (self.folder / name).is_file() and checksum(self.folder / name) == value for name, value in files.items()
        )

    def _written(self, path: Path) -> Written:
        return {path.relative_to(self.folder).as_posix(): checksum(path)}


def checksum(path: Path) -> int:
    """The CRC-32 of a file."""
    value = 0
    with path.open("rb") as file:
        while block := file.read(2**22):
            value = zlib.crc32(block, value)
    return value
