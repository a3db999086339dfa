"""``python -m quotientgraph.campaign``: attack the program in many ways, and count what it survives.

Each attack runs in processes of its own, so that a crash is a figure in the table and not the end of it. The campaign takes
some minutes; ``--scale 0.01`` is a short one. What it checks is listed, as promises, in ``docs/promises.md``.

The list of attacks is `ATTACKS`.
"""

from __future__ import annotations

from . import damaged_files, interruptions, kernel_caches, odd_maps, repetition
from .trial import Attack, Outcome

ATTACKS: dict[str, Attack] = {
    attack.name: attack
    for module in (damaged_files, odd_maps, interruptions, kernel_caches, repetition)
    for attack in module.ATTACKS
}

__all__ = ["ATTACKS", "Attack", "Outcome"]
