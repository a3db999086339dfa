"""The coarse grid in blocks: groups of tiles whose nodes fit into memory, each solved by a task of its own.

The coarse grid corrects what is wrong over long distances, and its size grows with the map. So it is treated as the pixels
are, one level up. A block solves for its nodes in a window that has the tiles around it too, with the correction zero where
the window ends, and keeps the values of its own nodes. What is wrong over still longer distances is corrected before that,
by functions that are bilinear between the nodes of a *wide* grid, about one a tile, which the driver solves for. A map of
one block needs no wide grid.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from .coarse import Grid, summed
from .coarse_system import CoarseSystem, gathered
from .window import Job
from .work import Work, Written

NODES = 2**18  # of a block; in a window with the tiles around it, 0.7 kB each
_NAMES = "residual_key", "residual"


def block_level(job: Job) -> int:
    """The level of the tree of groups whose groups are the blocks."""
    tree, per_tile = job.tree, (job.tiling.tile / job.spacing) ** 2
    # A node would reach beyond the tiles around a block; that of a pole reaches all columns of a panorama.
    if 2 * job.spacing > job.tiling.tile or job.grid.poles:
        return tree.height
    level = 1
    while level < tree.height and per_tile * tree.side ** (2 * level + 2) <= NODES:
        level += 1
    return level


def n_blocks(job: Job) -> int:
    return job.tree.n_groups(block_level(job))


def assemble(job: Job, g: int) -> Written:
    """Write the equations of a block, the table ``block``, from the tables ``start`` of the tiles in its window.

    `keys` are the nodes of the window. `complete` are those whose equations the tiles of the window have to the end, and
    `own` those that belong to the block. Off the diagonal, the matrix has −`weight` at (`tail`, `head`).
    """
    work, seen = job.work, _window(job, g)
    row, column, value = summed(*(_joined(work, seen, name) for name in ("row", "column", "value")))
    keys = np.unique(np.append(row, column))
    tail, head = np.searchsorted(keys, row).astype(np.int32), np.searchsorted(keys, column).astype(np.int32)
    on = tail == head
    diagonal = np.bincount(tail[on], value[on], len(keys))
    inside = np.zeros((job.tiling.rows, job.tiling.columns), dtype=bool)
    inside.ravel()[seen] = True
    rows, columns = _tiles_around(job, keys)
    complete = np.logical_and.reduce([inside[i, j] for i in rows for j in columns], axis=0)
    own = complete & (block_of(job, keys) == g)
    tail, head, weight = tail[~on], head[~on], -value[~on]
    p = _wide(job, keys)
    mine = own[tail]  # an edge of the matrix counts in the block of its first node
    a, b, w = tail[mine], head[mine], weight[mine]
    d = p[1][a] - p[1][b]
    product = sparse.triu(d.T @ sparse.diags_array(w) @ d).tocoo()
    upper = {"wide_row": p[0][product.row], "wide_column": p[0][product.col], "wide_value": product.data}
    return work.write_table(
        "block",
        g,
        keys=keys,
        complete=complete,
        own=own,
        tail=tail,
        head=head,
        weight=weight,
        diagonal=diagonal,
        **upper,
    )


def advance(job: Job, g: int, number: int) -> Written:
    """Write the table ``residual.<number>``: what the equations of a block lack before a round, also on the wide grid."""
    work, seen, block = job.work, _window(job, g), job.work.table("block", g, "keys", "own")
    if number == 1:
        residual, pulled = _sums(work, block["keys"], seen, "start", "pull.0"), np.zeros(len(block["keys"]))
    else:
        before = work.table(f"residual.{number - 1}", g, "residual", "pulled")
        alpha, beta = work.read(f"steps.{number - 1}")
        moved = _sums(work, block["keys"], seen, f"correct.{number - 1}", f"pull.{number - 1}")
        pulled = moved + beta * before["pulled"]
        residual = before["residual"] - alpha * pulled
    key, p = _wide(job, block["keys"])
    lifted = p.T @ np.where(block["own"], residual, 0.0)
    return work.write_table(f"residual.{number}", g, residual=residual, pulled=pulled, residual_key=key, wide=lifted)


def solve(job: Job, g: int, number: int) -> Written:
    """Write the table ``coarse.<number>``: the coarse correction of a round at the nodes of a block."""
    work, block = job.work, job.work.table("block", g)
    keys, tail, head, weight = (block[name] for name in ("keys", "tail", "head", "weight"))
    residual, correction = work.table(f"residual.{number}", g, "residual")["residual"], np.zeros(len(keys))
    if n_blocks(job) > 1:
        wide, (key, p) = work.table(f"wide.{number}"), _wide(job, keys)
        at = np.minimum(np.searchsorted(wide["keys"], key), len(wide["keys"]) - 1)
        correction = p @ np.where(wide["keys"][at] == key, wide["values"][at], 0.0)
        flow = weight * (correction[tail] - correction[head])
        residual = residual - np.bincount(tail, flow, len(keys)) + np.bincount(head, flow, len(keys))
    complete = block["complete"]
    system = CoarseSystem.from_edges(keys, complete, tail, head, weight, block["diagonal"], job.grid.size)
    correction[complete] += system.solve(residual[complete])
    own = block["own"]
    return work.write_table(f"coarse.{number}", g, keys=keys[own], values=correction[own])


def wide_system(work: Work, n: int, per_component: int) -> CoarseSystem:
    """The equations of the wide grid, added up from all `n` blocks."""
    tables = [work.table("block", g, "wide_row", "wide_column", "wide_value") for g in range(n)]
    row, column, value = (
        np.concatenate([t[name] for t in tables]) for name in ("wide_row", "wide_column", "wide_value")
    )
    return CoarseSystem.from_entries(row, column, value, per_component)


def lift(work: Work, system: CoarseSystem, n: int, number: int) -> None:
    """Solve the wide grid for a round, and write the table ``wide.<number>``."""
    tables = [work.table(f"residual.{number}", g, "residual_key", "wide") for g in range(n)]
    key, value = (np.concatenate([table[name] for table in tables]) for name in ("residual_key", "wide"))
    work.write_table(f"wide.{number}", None, keys=system.keys, values=system.solve(system.gathered(key, value)))


def values_at(job: Job, wanted: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Sorted keys and values of the coarse correction of a round, from all blocks that have any of the wanted keys."""
    tables = [job.work.table(f"coarse.{number}", g) for g in np.unique(block_of(job, wanted))]
    keys, values = (
        np.concatenate([np.zeros(0, wanted.dtype), *(t[name] for t in tables)]) for name in ("keys", "values")
    )
    order = np.argsort(keys)
    return keys[order], values[order]


def wide_grid(job: Job) -> Grid:
    """The wide grid: a grid over the nodes of the coarse grid, with about one node for each tile."""
    return Grid(job.grid.nodes, max(1, job.tiling.tile // job.spacing), job.grid.wrap)


def _wide(job: Job, keys: np.ndarray) -> tuple[np.ndarray, sparse.csr_array]:
    """The wide functions at nodes of the coarse grid: their keys, sorted, and P (n_nodes, n_keys)."""
    wide, (rank, row, column) = wide_grid(job), _places(job.grid, keys)
    (i, p), (j, q) = wide.cells(0, row), wide.cells(1, column)
    shares = np.concatenate([(1 - p) * (1 - q), (1 - p) * q, p * (1 - q), p * q])
    every = np.concatenate([wide.keys(rank, i + down, j + right) for down in (0, 1) for right in (0, 1)])
    used = np.flatnonzero(shares)
    names, at = np.unique(every[used], return_inverse=True)
    return names, sparse.csr_array((shares[used], (used % len(keys), at)), shape=(len(keys), len(names)))


def block_of(job: Job, keys: np.ndarray) -> np.ndarray:
    """The block that each node belongs to."""
    row, column = (
        np.minimum(at * job.spacing, size - 1) // job.tiling.tile
        for at, size in zip(_places(job.grid, keys)[1:], job.tiling.shape)
    )
    return job.tree.group_of(block_level(job), row * job.tiling.columns + column)


def _tiles_around(job: Job, keys: np.ndarray) -> list[list[np.ndarray]]:
    """Rows and columns of the tiles that the functions of nodes reach, which is no further than two nodes beside them."""
    tiling, spacing, out = job.tiling, job.spacing, []
    wraps = tiling.wrap.y, tiling.wrap.x
    for axis, at in enumerate(_places(job.grid, keys)[1:]):
        size, n = tiling.shape[axis], job.grid.nodes[axis]
        if wraps[axis]:
            # To the nodes beside it. The last cell is wider than others, and the tile at the border may be narrower.
            beside = [(at + step) % n * spacing for step in (-1, 0, 1)]
            places = [*beside, np.where((at == 0) | (at == n - 1), size - 1, at * spacing)]
        else:
            places = [((at + step) * spacing).clip(0, size - 1) for step in range(-2, 3)]
        out.append([place // tiling.tile for place in places])
    return out


def _places(grid: Grid, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Component, row and column of nodes."""
    rank, node = np.divmod(keys, grid.size)
    return rank, *np.divmod(node, grid.nodes[1])


def _window(job: Job, g: int) -> list[int]:
    """The tiles of a block and those around it."""
    tiles = np.arange(job.tiling.n_tiles)
    mine = tiles[job.tree.group_of(block_level(job), tiles) == g]
    return sorted({j for k in mine.tolist() for j in job.tiling.seen_by(k)})


def _joined(work: Work, tiles: list[int], name: str) -> np.ndarray:
    return np.concatenate([work.table("start", k, name)[name] for k in tiles])


def _sums(work: Work, keys: np.ndarray, tiles: list[int], *stages: str) -> np.ndarray:
    """(n,) the sums of Pᵀ at sorted keys, from the tables of tiles of some stages, added up."""
    total = np.zeros(len(keys))
    for stage in stages:
        tables = [work.table(stage, k, *_NAMES) for k in tiles]
        key, value = (np.concatenate([table[name] for table in tables]) for name in _NAMES)
        total = total + gathered(keys, key, value)
    return total
