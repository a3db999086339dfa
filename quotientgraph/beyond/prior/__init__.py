"""A coarse depth map joined with normals: `Prior` reads it and places the surfaces, `KINDS` are the kinds it may be of."""

from .hook import Prior
from .kinds import KINDS

__all__ = ["KINDS", "Prior"]
