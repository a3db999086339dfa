"""Parts that could sit elsewhere, on the command line: listed, written to files, and taken."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..result import Alternative, Reconstruction

_COLUMNS = ("number", "text", "pixels", "offset", "factor", "worse", "probability", "contact")


def chosen(result: Reconstruction, numbers: Sequence[int]) -> Reconstruction:
    """The result after taking alternatives by their numbers, each from the list that is then left."""
    from ..io import InputError

    for number in numbers:
        if number > len(result.alternatives):
            left = f"there are {len(result.alternatives)} of them" if result.alternatives else "there is none"
            raise InputError(f"--take {number}: {left}; --alternatives lists them")
        result = result.take(result.alternatives[number - 1])
    return result


def described(alternative: Alternative) -> dict[str, Any]:
    """An alternative in types that JSON has."""
    (u, v), (x, y) = alternative.contact
    return {
        "text": alternative.text,
        "pixels": int(alternative.mask.sum()),
        "offset": round(alternative.offset, 6),
        "factor": None if alternative.factor is None else round(alternative.factor, 6),
        "worse": round(alternative.worse, 3),
        "probability": round(alternative.probability, 3),
        "contact": f"{u},{v},{x},{y}",
    }


def told(record: Mapping[str, Any]) -> list[str]:
    """Lines for people about what was taken and what could be."""
    lines = [f"  taken: {text}" for text in record.get("taken", ())]
    if "alternatives" not in record:
        return lines
    listed = [
        f"  {k:>2}  {100 * one['probability']:.0f} %  {one['text']}" for k, one in enumerate(record["alternatives"], 1)
    ]
    head = "  could sit elsewhere, and how probably that is better:" if listed else "  nothing could sit elsewhere"
    return [*lines, head, *listed]


def write_alternatives(folder: Path, result: Reconstruction, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write a table of the alternatives of a result, and an image of their numbers; where they overlap, of the first."""
    import numpy as np

    from .. import io

    with (folder / "alternatives.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, _COLUMNS)
        table.writeheader()
        table.writerows({"number": k, **row} for k, row in enumerate(rows, 1))
    label = np.full(result.depth.shape, -1, dtype=np.int32)
    for k, one in reversed(list(enumerate(result.alternatives))):
        label[one.mask] = k
    io.write_labels(folder / "alternatives.png", label)
