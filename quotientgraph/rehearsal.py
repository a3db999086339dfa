"""What a first integration needs compiled, used on small inputs, so that a second process can compile it meanwhile.

`laplacians.core.companion` runs `main` in a process of its own. The process that integrates compiles the kernels of the
first stages itself, so here the later stages come first; what both need is compiled by whoever comes first.
"""

from __future__ import annotations

import numpy as np

import laplacians

from .integration import integrate

_SHAPE = 90, 110  # large enough for kernels instead of array expressions, and for a level of multigrid


def main() -> None:
    """Use the kernels of an integration with default settings: factorisation, scales, merging, filling."""
    random = np.random.default_rng(0)
    node = np.arange(_SHAPE[0] * _SHAPE[1]).reshape(_SHAPE)
    tail = np.concatenate([node[:, :-1].ravel(), node[:-1].ravel()])
    head = np.concatenate([node[:, 1:].ravel(), node[1:].ravel()])
    weight = random.random(len(tail))
    laplacians.get("direct").solve(laplacians.LaplacianSystem.from_edges(node.size, tail, head, weight, weight))
    rough, smooth = (
        np.concatenate([s * random.normal(size=(*_SHAPE, 2)), np.ones((*_SHAPE, 1))], 2) for s in (0.3, 0.01)
    )
    integrate(rough, angle=0.01, check=False, max_iterations=3)
    integrate(smooth, angle=90.0, check=False)
    integrate(rough, angle=0.01, check=False, max_iterations=3, merge_every=1)


if __name__ == "__main__":
    main()
