"""Pixel-level peers of the component method, on the same pixel graph.

Each minimises Σ W (φ_a − φ_b − jump)² over the edges of G0, with two equations for each edge and the potential of every
pixel as an unknown. They differ in their jumps, their weights W and how often these are renewed:

- `logdepth`: planar jumps; uniform weights at first, then bilateral ones times the outlier weight (Milano 2025, "ND");
- `logdepth_d`: the same with a discontinuity term that moves a jump towards the present difference ("D");
- `bini`: one-sided jumps, bilateral weights from the start, four neighbours (Cao 2022);
- `poisson`: planar jumps, uniform weights, one solve;
- `fft`: the projection of Frankot and Chellappa, which needs no graph at all.
"""

from .irls import bini, logdepth, logdepth_d, reweighted
from .schemes import BINI, LOGDEPTH, LOGDEPTH_D, Scheme
from .smooth import fft, poisson

__all__ = ["BINI", "LOGDEPTH", "LOGDEPTH_D", "Scheme", "bini", "fft", "logdepth", "logdepth_d", "poisson", "reweighted"]
