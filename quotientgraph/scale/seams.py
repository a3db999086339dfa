"""The edges inside components that run between tiles: what they add to the equations of the whole map.

Each tile sums up its own share of them, in tasks that read a few pixels of its neighbours. So the driver gets sums, and
holds no list of the pixels along seams.
"""

from __future__ import annotations

import numpy as np

import laplacians
from laplacians import Direct, LaplacianSystem
from laplacians.core.arrays import centred

from .numbering import Components
from .window import Job
from .work import Work, Written


def choose_coarse(job: Job, components: Components) -> None:
    """Choose the components that get coarse functions, and write ``coarse.rank``.

    A component that fits into the overlap of windows needs none: each tile that has a part of it sees all of it.
    """
    reach = np.minimum(components.reach, components.size)  # around a pole a small one may seem long
    wide = components.crossing & (reach > job.tiling.overlap - 2)
    rank = np.append(np.where(wide, np.cumsum(wide) - 1, -1), -1)
    job.work.write("coarse.rank", None, rank.astype(np.int64))


def join(job: Job, k: int) -> Written:
    """Write the table ``joints``: what edges from a tile to others say about the offsets of the parts that they join.

    For each pair of parts it has the sum of the weights and the mean misfit, which say the same as the edges one by one.
    """
    work, edges = job.work, _edges(job, k)
    tail, head, weight = edges["tail"], edges["head"], edges["weight"]
    misfit = edges["jump"] - (work.at("x.0", tail) - work.at("x.0", head))
    pairs = np.stack([work.at("part", tail), work.tiling.tile_of(head), work.at("part", head)]).astype(np.int64)
    (mine, tile, other), inverse = np.unique(pairs, axis=1, return_inverse=True)
    total = np.bincount(inverse.ravel(), weight, len(mine))
    mean = np.bincount(inverse.ravel(), weight * misfit, len(mine)) / total
    return work.write_table("joints", k, mine=mine, tile=tile, other=other, weight=total, misfit=mean)


def align(work: Work) -> None:
    """Shift the parts of tiles so that they fit at the seams; write the lookup ``offsets``."""
    parts, used, system = joined_parts(work)
    _write(work, "offsets", parts, used, laplacians.get("auto").solve(system).x)


def joined_parts(work: Work) -> tuple[np.ndarray, np.ndarray, LaplacianSystem]:
    """The first part of each tile, the parts that go on in other tiles, and the system of offsets with which these fit.

    All others stay where they are, and are most of them if components are small.
    """
    parts = np.append(0, np.cumsum(work.joined("start", "n_parts")))
    tables = work.tables("joints")
    mine = np.concatenate([table["mine"] + base for table, base in zip(tables, parts)])
    other = np.concatenate([table["other"] + parts[table["tile"]] for table in tables])
    weight, misfit = (np.concatenate([table[name] for table in tables]) for name in ("weight", "misfit"))
    used, ends = np.unique(np.append(mine, other), return_inverse=True)
    return parts, used, LaplacianSystem.from_edges(len(used), ends[: len(mine)], ends[len(mine) :], weight, misfit)


def _write(work: Work, name: str, parts: np.ndarray, used: np.ndarray, values: np.ndarray) -> None:
    """Write a lookup of parts that is zero for those that are not used."""
    with work.mapped(name, (int(parts[-1]),), np.float64) as offset:
        offset[used] = values
    work.write(f"{name}.start", None, parts)


def lift(work: Work, number: int) -> None:
    """Find by how much to move the parts of tiles as wholes in a round; write the lookup ``lift.<number>``."""
    parts, used, system = joined_parts(work)
    piece, total = system.pattern.pieces, work.joined(f"local.{number}", "total")[used]
    # Constants cost nothing, so that rounding alone would decide on them.
    offset = centred(Direct().factor(system).solve(centred(total, piece)), piece)
    _write(work, f"lift.{number}", parts, used, offset)


def pull(job: Job, k: int, number: int) -> Written:
    """Write the table ``pull.<number>``: what edges from a tile to others add to the sums of a round.

    These are the totals of `quotientgraph.scale.rounds`, and Pᵀ L s for the step s of the round. Number 0 is the start:
    then it is Pᵀ of what the edges leave of the equations.
    """
    work, edges = job.work, _edges(job, k)
    tail, head, weight = edges["tail"], edges["head"], edges["weight"]

    def difference(name: str) -> np.ndarray:
        return work.at(name, tail).astype(np.float64) - work.at(name, head)

    totals = np.zeros(5)
    if number == 0:
        offsets = work.lookup("offsets")
        between = work.at("part", tail, offsets) - work.at("part", head, offsets)
        flow = weight * (edges["jump"] - difference("x.0") - between)
    else:
        ds = difference(f"s.{number}")
        dp = difference(f"p.{number - 1}") if number > 1 else np.zeros_like(ds)
        totals[:3] = [np.sum(weight * a * b) for a, b in ((ds, ds), (ds, dp), (dp, dp))]
        flow = weight * ds
    rank = work.read("coarse.rank")[work.at("labels", tail, work.lookup("components")).astype(np.int64)]
    wide = rank >= 0
    parts = [_restricted(job, rank[wide], end[wide], sign * flow[wide]) for end, sign in ((tail, 1), (head, -1))]
    keys, inverse = np.unique(np.concatenate([key for key, _ in parts]), return_inverse=True)
    values = np.bincount(inverse, np.concatenate([value for _, value in parts]), len(keys)).astype(np.float64)
    return work.write_table(f"pull.{number}", k, totals=totals, residual_key=keys, residual=values)


def _edges(job: Job, k: int) -> dict[str, np.ndarray]:
    return job.work.table("start", k, "tail", "head", "weight", "jump")


def _restricted(job: Job, rank: np.ndarray, position: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Keys and values of Pᵀ of values at flat positions, four for each; see `quotientgraph.scale.coarse`."""
    grid, (row, column) = job.grid, np.divmod(position, job.tiling.shape[1])
    (row, p), (column, q) = grid.cells(0, row), grid.cells(1, column)
    keys = [grid.keys(rank, row + down, column + right) for down in (0, 1) for right in (0, 1)]
    shares = [(1 - p) * (1 - q), (1 - p) * q, p * (1 - q), p * q]
    return np.concatenate(keys), np.concatenate([share * value for share in shares])
