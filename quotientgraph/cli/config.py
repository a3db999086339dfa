"""Options from a TOML file. They become words of the command line before the user's own words, which win."""

from __future__ import annotations

import argparse
import difflib
from pathlib import Path
from typing import Any

from .arguments import CAMERA
from .messages import UsageError


def prepare(parser: argparse.ArgumentParser, argv: list[str]) -> list[str]:
    """Insert the options of ``--config FILE`` into the command line, except those that the user gave as well."""
    argv = _with_pixel_size(argv)
    file = _config_of(argv)
    if file is None or "--config" not in parser._option_string_actions:
        return argv
    given = _given(parser, argv)
    if given & set(CAMERA):
        given |= set(CAMERA)
    words: list[str] = []
    for key, value in _load(file).items():
        action = _action(parser, file, key)
        if action.dest not in given:
            words += _words(action, value, file)
    try:
        parser.parse_args([*words, "--", "input"])
    except UsageError as problem:
        raise UsageError(f"{file}: {problem}") from None
    place = next(i for i, word in enumerate(argv) if not word.startswith("-")) + 1
    return _with_pixel_size([*argv[:place], *words, *argv[place:]])


def _with_pixel_size(argv: list[str]) -> list[str]:
    """In ``--orthographic maps/*.png``, keep argparse from taking the file for the optional size of a pixel."""
    out = []
    for word, following in zip(argv, [*argv[1:], "--"], strict=True):
        out.append(word)
        if word == "--orthographic":
            try:
                float(following)
            except ValueError:
                out[-1] = "--orthographic=1"
    return out


def _config_of(argv: list[str]) -> str | None:
    finder = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    finder.add_argument("--config", nargs="?")
    try:
        return finder.parse_known_args(argv)[0].config
    except argparse.ArgumentError:  # the real parser says it better
        return None


def _given(parser: argparse.ArgumentParser, argv: list[str]) -> set[str]:
    known = parser._option_string_actions
    heads = [word.split("=")[0] if word.startswith("--") else word[:2] for word in argv if word.startswith("-")]
    return {known[head].dest for head in heads if head in known}


def _load(file: str) -> dict[str, Any]:
    import tomllib

    try:
        with Path(file).open("rb") as stream:
            return tomllib.load(stream)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise UsageError(f"{file}: not a TOML file ({problem})") from None
    except OSError as problem:
        raise UsageError(f"--config {file}: {problem.strerror or problem}") from None


def _action(parser: argparse.ArgumentParser, file: str, key: str) -> argparse.Action:
    known = {
        option[2:]: action
        for option, action in parser._option_string_actions.items()
        if option.startswith("--") and not option.startswith("--no-") and option not in ("--help", "--config")
    }
    name = key.replace("_", "-")
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1)
    remedy = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(sorted(known))}"
    raise UsageError(f"{file}: unknown key {key!r}; {remedy}")


def _words(action: argparse.Action, value: Any, file: str) -> list[str]:
    option = next(name for name in action.option_strings if name.startswith("--"))
    if isinstance(value, bool):
        if action.nargs == 0 or action.const is not None:
            off = f"--no-{option[2:]}"
            return [option] if value else [off] if off in action.option_strings else []
        raise UsageError(f"{file}: {option[2:]} needs a value, not {str(value).lower()}")
    if action.nargs == 0:
        raise UsageError(f"{file}: {option[2:]} is true or false, not {value!r}")
    if isinstance(value, dict):
        raise UsageError(f"{file}: {option[2:]} is a table; write its value on one line")
    if isinstance(value, list) and isinstance(action, argparse._AppendAction):
        return [f"{option}={_joined(item)}" for item in value]
    return [f"{option}={_joined(value)}"]


def _joined(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
