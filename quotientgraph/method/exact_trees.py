"""Components that a spanning tree integrates exactly, such as planes without noise: nothing is left to solve for.

The jumps around every loop of such a component add up to zero, so the sums along the tree fit all other edges as well, to
rounding. Multigrid would change nothing there, but would spend as much time on it as on any other component.
"""

from __future__ import annotations

import numpy as np

from laplacians.core.jit import WHOLE, kernel, portion

# An edge fits if it is off by no more than this part of the largest sum, to which rounding is relative. The planes of exact
# scenes with 0.3 to 5 million pixels were off by up to 5e-14 of it, and everything else by more than 1e-8.
_ROUNDING = 1e-12
# About so many edges are looked at first. If no more than this part of them is in trees in which all of them fit, one edge
# of each tree not counted, there is little to be gained: small components are solved quickly anyway.
_SAMPLE, _WORTHWHILE = 2**11, 0.125
_N_BLOCKS = 64  # in which threads take turns


def leave_out_exact(
    tail: np.ndarray,
    head: np.ndarray,
    weight: np.ndarray,
    jump: np.ndarray,
    x: np.ndarray,
    root: np.ndarray,
    rhs: np.ndarray,
) -> int:
    """Take the components that their trees solve out of the problem, if a good part of the edges is in such.

    Parameters
    ----------
    tail, head : (n_edges,) int32
        Ends of the edges.
    weight : (n_edges,) float32, ≥ 0
        Edges of weight zero join nothing. The weights of components that are left out become zero.
    jump : (n_edges,) float64
    x : (n,) float64
        Sums of the jumps along the trees.
    root : (n,) int32
        First node of the tree of each node. Nodes of components that are left out become trees of their own.
    rhs : (n,) float64
        What x leaves of the equations. It becomes zero for components that are left out.

    Returns
    -------
    int
        Number of nodes that are left out, nodes without edges included; 0 if that would not pay.

    Examples
    --------
    >>> tail, head = np.array([0, 0, 1], dtype=np.int32), np.array([1, 2, 2], dtype=np.int32)
    >>> weight, root, jump = np.ones(3, dtype=np.float32), np.zeros(3, dtype=np.int32), np.array([1.0, 3.0, 2.0])
    >>> leave_out_exact(tail, head, weight, jump, np.array([1.0, 0.0, -2.0]), root, np.zeros(3)), weight.tolist()
    (3, [0.0, 0.0, 0.0])
    """
    some = slice(None, None, max(1, len(tail) // _SAMPLE))
    inside = weight[some] > 0
    a, b, steps = tail[some][inside], head[some][inside], jump[some][inside]
    limit = _ROUNDING * float(np.abs(x[a]).max(initial=0.0))
    exact = np.ones(len(x), dtype=np.bool_)
    exact[root[a[np.abs(steps - (x[a] - x[b])) > limit]]] = False
    fitting = root[a][exact[root[a]]]
    if len(fitting) - len(np.unique(fitting)) <= _WORTHWHILE * len(a):
        return 0
    _doubt(tail, head, weight, jump, x, root, exact, limit)
    count = np.zeros(_N_BLOCKS, dtype=np.int64)
    _leave_out(tail, weight, root, rhs, exact, count)
    return int(count.sum())


@kernel(parallel_from=2**19)
def _doubt(tail, head, weight, jump, x, root, exact, limit, share=WHOLE):
    """Set `exact` to False for the roots of trees of which an edge is off by more than `limit`."""
    for e in portion(len(tail), share):
        a, b = np.uint32(tail[e]), np.uint32(head[e])
        if weight[e] > 0 and abs(jump[e] - (x[a] - x[b])) > limit:
            exact[np.uint32(root[a])] = False


@kernel(parallel_from=2**19)
def _leave_out(tail, weight, root, rhs, exact, count, share=WHOLE):
    """Write weight, root and rhs as `leave_out_exact` says, and the number of nodes of each block into `count`.

    A node that has become its own root is exact as before: `exact` is False for roots only.
    """
    for b in portion(len(count), share):
        for e in range(b * len(tail) // len(count), (b + 1) * len(tail) // len(count)):
            if exact[np.uint32(root[np.uint32(tail[e])])]:
                weight[e] = 0
        for i in range(b * len(root) // len(count), (b + 1) * len(root) // len(count)):
            if exact[np.uint32(root[i])]:
                root[i] = i
                rhs[i] = 0.0
                count[b] += 1
