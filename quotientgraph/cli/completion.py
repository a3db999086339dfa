"""``quotientgraph completion``: scripts for shells, made from the parsers and therefore never out of date."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping

from .messages import write

_INSTALL = """\
install:
  bash   quotientgraph completion bash > ~/.local/share/bash-completion/completions/quotientgraph
  zsh    quotientgraph completion zsh > "${fpath[1]}/_quotientgraph"
  fish   quotientgraph completion fish > ~/.config/fish/completions/quotientgraph.fish
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))
    parser.epilog = _INSTALL


def run(args: argparse.Namespace) -> int:
    from . import COMMANDS, build_parser

    known = []
    for name in COMMANDS:  # a command that cannot be imported here is completed by its name alone
        try:
            build_parser(name)
        except ImportError:
            continue
        known.append(name)
    parsers = build_parser(*known)[1]
    write({"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell](COMMANDS, parsers), sys.stdout)
    return 0


def _options(parser: argparse.ArgumentParser) -> Iterator[tuple[argparse.Action, list[str]]]:
    for action in parser._actions:
        if action.help is not argparse.SUPPRESS:
            yield action, list(action.option_strings)


def _choices(action: argparse.Action) -> str:
    words = action.choices if action.choices is not None else getattr(action, "suggestions", ())
    return " ".join(map(str, words))


def _text(action: argparse.Action, forbidden: str) -> str:
    text = (action.help or "").split(";")[0] % {"default": action.default, "prog": ""}
    return "".join(" " if letter in forbidden else letter for letter in text)


def _bash(commands: dict, parsers: Mapping[str, argparse.ArgumentParser]) -> str:
    words, values = [], []
    for name, parser in parsers.items():
        options = " ".join(option for _, strings in _options(parser) for option in strings)
        places = " ".join(_choices(action) for action, strings in _options(parser) if not strings)
        words.append(f'    {name}) words="{options} {places}" ;;'.replace(' "', '"'))
        for action, strings in _options(parser):
            if strings and _choices(action):
                places = "|".join(f"{name}:{option}" for option in strings)
                values.append(f'    {places}) words="{_choices(action)}" ;;')
    return f"""\
# bash completion for quotientgraph
_quotientgraph() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
  local command="${{COMP_WORDS[1]}}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{" ".join(commands)} --help --version" -- "$current"))
    return
  fi
  case "$command:$before" in
{chr(10).join(values)}
    *) case "$current" in -*|"") case "$command" in
{chr(10).join("  " + line for line in words)}
      esac ;; esac ;;
  esac
  [ -z "$current" ] && words="$(printf '%s\\n' $words | grep -v '^-')"
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -o filenames -F _quotientgraph quotientgraph
"""


def _zsh(commands: dict, parsers: Mapping[str, argparse.ArgumentParser]) -> str:
    lines = ["#compdef quotientgraph", "_quotientgraph() {", "  local -a commands", "  commands=("]
    lines += [f"    '{name}:{text.replace(chr(39), '')}'" for name, (_, text) in commands.items()]
    lines += ["  )", "  if (( CURRENT == 2 )); then", "    _describe command commands", "    return", "  fi"]
    lines += ["  local command=$words[2]", "  shift words; (( CURRENT-- ))", "  case $command in"]
    for name, parser in parsers.items():
        lines += [f"    {name})", "      _arguments \\"]
        for action, strings in _options(parser):
            kind = f"({_choices(action)})" if _choices(action) else "_files"
            value = "" if action.nargs == 0 else f":{action.dest}:{kind}"
            text = _text(action, "'[]:`\\")
            if not strings:
                lines.append(f"        '*{value}' \\")
            lines += [f"        '*{option}[{text}]{value}' \\" for option in strings]
        lines += ["        && return", "      ;;"]
    return "\n".join([*lines, "  esac", "}", "compdef _quotientgraph quotientgraph", ""])


def _fish(commands: dict, parsers: Mapping[str, argparse.ArgumentParser]) -> str:
    start = "complete -c quotientgraph"
    lines = [f"{start} -n __fish_use_subcommand -f -a {name} -d '{text}'" for name, (_, text) in commands.items()]
    for name, parser in parsers.items():
        here = f"{start} -n '__fish_seen_subcommand_from {name}'"
        for action, strings in _options(parser):
            choices = _choices(action)
            if not strings:
                lines += [f"{here} -f -a '{choices}'"] if choices else []
                continue
            flags = " ".join(f"-l {s[2:]}" if s.startswith("--") else f"-s {s[1:]}" for s in strings)
            value = "" if action.nargs == 0 else f" -x -a '{choices}'" if choices else " -r"
            text = _text(action, "'\\")
            lines.append(f"{here} {flags}{value} -d '{text}'")
    return "\n".join(lines) + "\n"
