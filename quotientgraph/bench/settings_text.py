"""Settings as texts: ``angle=2,3.5`` on the command line becomes a name and its values."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any


def settings_grid(texts: Iterable[str]) -> dict[str, list[Any]]:
    """Return the values to try of each setting.

    Parameters
    ----------
    texts : texts
        Each ``NAME=VALUE`` or ``NAME=VALUE,VALUE``.

    Examples
    --------
    >>> settings_grid(["angle=2,3.5", "preset=paper"])
    {'angle': [2, 3.5], 'preset': ['paper']}
    """
    out = {}
    for text in texts:
        name, values = _parted(text, "NAME=VALUE or NAME=VALUE,VALUE")
        out[name] = [_value(value) for value in values.split(",")]
    return out


def setting(text: str) -> tuple[str, Any]:
    """Return the name and the value of ``NAME=VALUE``.

    >>> setting("merge-every=5")
    ('merge_every', 5)
    """
    name, value = _parted(text, "NAME=VALUE")
    return name, _value(value)


def _parted(text: str, expected: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not value:
        raise ValueError(f"--set {text}: expected {expected}")
    return name.strip().replace("-", "_"), value.strip()


def _value(text: str) -> Any:
    try:
        return json.loads({"None": "null", "True": "true", "False": "false"}.get(text, text))
    except json.JSONDecodeError:
        return text
