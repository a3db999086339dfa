"""What a run leaves: depth and components as Zarr arrays, components and borders as tables of Parquet."""

from __future__ import annotations

import errno
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..io.atomic import OutputError, atomic
from .borders import Borders
from .numbering import Components
from .ownership import MARK, remove_array
from .rounds import potential
from .sources import INSTALL, zarr
from .tiling import Box, Tiling
from .window import Job
from .work import Written

_CHUNK = 512  # pixels along the side of what a reader decodes at a time


@dataclass(frozen=True)
class Outputs:
    """Where the results go: those beside the depth begin with its name, unless that is depth.zarr.

    Attributes
    ----------
    depth : Path
    dtype : str
        Of the depth.
    ramp : (float, float)
        Slope to the right and downwards that is added to the depth.
    """

    depth: Path
    dtype: str
    ramp: tuple[float, float] = (0.0, 0.0)

    def beside(self, name: str) -> Path:
        """The path of another result."""
        stem = self.depth.name.removesuffix(".zarr")
        return self.depth.with_name(name if stem == "depth" else f"{stem}.{name}")

    @property
    def components(self) -> Path:
        return self.beside("components.zarr")

    @property
    def nodes(self) -> Path:
        return self.beside("nodes.parquet")

    @property
    def edges(self) -> Path:
        return self.beside("edges.parquet")

    @property
    def report(self) -> Path:
        return self.beside("report.json")

    @property
    def all(self) -> tuple[Path, ...]:
        return self.depth, self.components, self.nodes, self.edges, self.report

    def create(self, tiling: Tiling, attributes: dict[str, Any], resume: bool) -> None:
        """Make the two Zarr arrays; a shard is a tile, so that each task writes whole shards.

        The report of an earlier run is removed: where there is one, all results are there.
        """
        self.report.unlink(missing_ok=True)
        for path, dtype, fill in ((self.depth, self.dtype, np.nan), (self.components, "int32", -1)):
            if not (resume and _fits(path, tiling, dtype)):
                _create(path, tiling, dtype, fill, attributes)


def _fits(path: Path, tiling: Tiling, dtype: str) -> bool:
    """Whether the array of an interrupted run is there."""
    try:
        found = zarr().open_array(str(path), mode="r")
    except (OSError, KeyError, ValueError):
        return False
    return found.shape == tiling.shape and found.dtype == dtype and found.shards == (tiling.tile, tiling.tile)


def _create(path: Path, tiling: Tiling, dtype: str, fill: float, attributes: dict[str, Any]) -> None:
    chunk = next(size for size in (_CHUNK, 256, 128, 64, 32, 16, 8) if tiling.tile % size == 0)
    try:
        remove_array(path)
        zarr().create_array(
            store=str(path),
            shape=tiling.shape,
            shards=(tiling.tile, tiling.tile),
            chunks=(chunk, chunk),
            dtype=dtype,
            fill_value=fill,
            dimension_names=("y", "x"),
            attributes={**attributes, MARK: __version__},
        )
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error})") from error


def write(job: Job, k: int, number: int, outputs: Outputs) -> Written:
    """Write the depth and the components of a tile, each one whole shard."""
    work, core = job.work, job.tiling.core(k)
    label = job.components(core)
    shift = np.append(work.read("shift"), np.nan)
    depth = job.camera.depth(potential(work, core, number)[0] + shift[label])
    if any(outputs.ramp):  # a plane that is 0 in the middle of the map
        right, down = outputs.ramp
        v, u = (np.arange(begin, end) - (n - 1) / 2 for begin, end, n in zip(core[:2], core[2:], job.tiling.shape))
        depth = depth + job.camera.depth(down * v[:, None] + right * u)
    depth = depth.astype(outputs.dtype)
    written = {}
    for path, values in ((outputs.depth, depth), (outputs.components, label.astype(np.int32))):
        try:
            zarr().open_array(str(path), mode="r+")[core.within(Box(0, 0, *job.tiling.shape))] = values
        except OSError as error:
            remedy = "free some space and resume" if error.errno == errno.ENOSPC else "make it writable and resume"
            raise OutputError(f"{path}: cannot be written ({error.strerror or error}); {remedy}") from error
        written[f"{path}#{k}"] = zlib.crc32(values.tobytes())
    return written


def region_intact(tiling: Tiling, name: str, value: int) -> bool:
    """Whether a tile of a Zarr array, named ``path#tile``, holds the values that had this checksum when it was written."""
    path, k = name.rsplit("#", 1)
    try:
        values = zarr().open_array(path, mode="r")[tiling.core(int(k)).within(Box(0, 0, *tiling.shape))]
    except (OSError, KeyError, ValueError, RuntimeError):
        return False
    return zlib.crc32(values.tobytes()) == value


def write_tables(
    outputs: Outputs,
    components: Components,
    borders: Borders,
    shift: np.ndarray,
    piece: np.ndarray,
    residual: np.ndarray,
    confidence: np.ndarray | None,
) -> None:
    """Write nodes.parquet (one row for each component) and edges.parquet (one for each pair of adjacent components).

    The columns have the names and meanings of `QuotientGraph.node_table` and `edge_table`; `piece` is the connected piece of
    a component, and `shift` is what was added to its filled potential.
    """
    top, left, bottom, right = components.box
    nodes = {"size": components.size, "top": top, "left": left, "bottom": bottom, "right": right}
    nodes |= {"piece": piece, "shift": shift}
    if confidence is not None:
        nodes["confidence"] = confidence
    pattern = borders.pattern
    edges = {"tail": pattern.tail, "head": pattern.head, "n_edges": borders.n_edges, "residual": residual}
    _parquet(outputs.nodes, nodes)
    _parquet(outputs.edges, edges)


def _parquet(path: Path, columns: dict[str, np.ndarray]) -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ImportError(f"PyArrow is not installed; install it with: {INSTALL}") from None
    table = pyarrow.table(columns).replace_schema_metadata({MARK: __version__})
    with atomic(path) as part:
        parquet.write_table(table, part)


def as_dask(path: Path) -> Any:
    """A Dask array over a Zarr array."""
    try:
        import dask.array
    except ImportError:
        raise ImportError(f"Dask is not installed; install it with: {INSTALL}") from None
    return dask.array.from_zarr(str(path))
