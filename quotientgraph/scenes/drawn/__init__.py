"""Random man-made scenes, drawn from seeds.

`things`, `small_things` and `furniture` are what stands in a scene; `indoors`, `stairwells`, `streets`,
`heaps`, `figures` and `curved_walls` set up a `Site` of each kind; `view` draws a camera to look at it.
"""

from .draw import KINDS, random
from .splits import SPLITS, cases

__all__ = ["KINDS", "SPLITS", "cases", "random"]
