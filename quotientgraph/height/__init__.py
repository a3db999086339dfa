"""Height maps from tangent-space normal maps, as textures need them: tiling, scaled, with their range in the file."""

from .heights import HeightMap, height_map
from .relief import ambient_occlusion, curvature
from .sizes import Size
from .tangent import GREENS, TILES, TangentMap

__all__ = ["GREENS", "TILES", "HeightMap", "Size", "TangentMap", "ambient_occlusion", "curvature", "height_map"]
