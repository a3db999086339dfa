"""Physical sizes of textures, such as "2m" or "80cm x 40cm"."""

from __future__ import annotations

import re
from dataclasses import dataclass

UNITS = {"um": 1e-6, "mm": 1e-3, "cm": 1e-2, "m": 1.0, "km": 1e3, "in": 0.0254, "ft": 0.3048}
_LENGTH = re.compile(r"\s*([0-9]*\.?[0-9]+(?:e[-+]?\d+)?)\s*([a-z]*)\s*", re.I)


@dataclass(frozen=True)
class Size:
    """How large the surface that an image shows is.

    Attributes
    ----------
    width, height : float
        In the unit.
    unit : str
        "m", "cm", …, or "px" where nothing is known: then a pixel is 1.
    """

    width: float
    height: float
    unit: str

    @classmethod
    def from_text(cls, text: str | float | tuple[float, float] | None, shape: tuple[int, int]) -> Size:
        """From what a user says: "2m", "80cm x 40cm", a number of metres, two of them, or None.

        One length is the width; pixels are then square.

        Examples
        --------
        >>> Size.from_text("2m", (512, 1024))
        Size(width=2.0, height=1.0, unit='m')
        >>> Size.from_text("80cm x 0.4m", (10, 10))
        Size(width=80.0, height=40.0, unit='cm')
        """
        height, width = shape
        if text is None:
            return cls(float(width), float(height), "px")
        if isinstance(text, tuple | list):
            text = " x ".join(f"{float(length)!r}" for length in text)
        words = re.split(r"[x×*]", str(text))
        if len(words) > 2:
            raise ValueError(f'size={text!r}: expected one or two lengths, such as "2m" or "80cm x 40cm"')
        lengths = []
        unit = ""
        for word in words:
            found = _LENGTH.fullmatch(word)
            if not found or float(found[1]) <= 0 or (found[2] and found[2].lower() not in UNITS):
                raise ValueError(
                    f'size={text!r}: {word.strip()!r} is no length; use a number and one of {", ".join(UNITS)}, as in "2m"'
                )
            lengths.append((float(found[1]), found[2].lower()))
            unit = unit or found[2].lower()
        unit = unit or "m"
        across, *down = (round(value * UNITS[own or unit] / UNITS[unit], 12) for value, own in lengths)
        size = cls(across, down[0] if down else across * height / width, unit)
        if not (min(size.width, size.height) > 0 and max(size.width, size.height) < float("inf")):
            raise ValueError(f"size={text!r}: too small or too large to compute with; use 1e-12 {unit} to 1e300 {unit}")
        return size

    def pixel(self, shape: tuple[int, int]) -> tuple[float, float]:
        """Width and height of a pixel."""
        return self.width / shape[1], self.height / shape[0]

    def pixels_per_metre(self, shape: tuple[int, int]) -> tuple[float, float] | None:
        """Pixels per metre across and down; None where the size is not known."""
        if self.unit == "px":
            return None
        across, down = self.pixel(shape)
        return 1 / (across * UNITS[self.unit]), 1 / (down * UNITS[self.unit])

    def text(self, length: float) -> str:
        """A length in words, in the unit that suits it.

        >>> Size(2.0, 2.0, "m").text(0.084)
        '8.4 cm'
        """
        if self.unit == "px":
            return f"{length:.4g} px"
        if self.unit in ("in", "ft"):
            return f"{length:.4g} {self.unit}"
        metres = abs(length) * UNITS[self.unit]
        unit = next((unit for unit in ("km", "m", "cm", "mm") if metres >= UNITS[unit]), "um")
        return f"{length * UNITS[self.unit] / UNITS[unit]:.4g} {unit}"
