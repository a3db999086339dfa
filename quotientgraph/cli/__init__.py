"""The command line, ``quotientgraph COMMAND …``.

A command is a module with ``add_arguments(parser)`` and ``run(args) -> exit code``. It is imported when it is called,
so that help and version appear at once. Exit codes: 0 all went well, 1 something failed, 2 the command line or the
configuration is wrong, 130 interrupted. Messages for people go to stderr, one line each; results go to stdout.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from .messages import UsageError, error, expected, named, one_line, tell, write

# Name of each command: the module that carries it out, and its line in the help.
COMMANDS = {
    "demo": ("quotientgraph.cli.demo", "reconstruct an embedded scene; start here"),
    "integrate": ("quotientgraph.cli.integrate", "turn normal maps into depth and meshes"),
    "height": ("quotientgraph.cli.height", "turn normal maps of textures into height maps"),
    "info": ("quotientgraph.cli.info", "show what is understood of a normal map, without integrating it"),
    "bench": ("quotientgraph.cli.bench", "compare methods and settings on data with known depth"),
    "solvers": ("quotientgraph.cli.backends", "list the linear-system backends, and time them"),
    "data": ("quotientgraph.cli.data", "tell where benchmark data come from; fetch or check them"),
    "completion": ("quotientgraph.cli.completion", "print a completion script for bash, zsh or fish"),
}
EXAMPLES = """\
examples:
  quotientgraph demo
  quotientgraph integrate bear/ -o out                      a folder with normal_map.png, mask.png, K.txt
  quotientgraph integrate photo_normal.png --fov 60 --mesh glb
  quotientgraph integrate 'maps/*.png' --orthographic --jobs 2 -o out
  quotientgraph height bricks_normal.png -o bricks_height.png --size 2m
  quotientgraph info photo_normal.png

`quotientgraph COMMAND --help` lists the options of a command.
"""


class Parser(argparse.ArgumentParser):
    """An `ArgumentParser` that raises a `UsageError` of one line where argparse would exit."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")

    def _print_message(self, message: str, file: Any = None) -> None:
        write(message, file or sys.stderr)


class Formatter(argparse.RawDescriptionHelpFormatter):
    """A help formatter that does not repeat the metavariable for the short form of an option."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30)

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        if isinstance(action, argparse._SubParsersAction):  # argparse forgets that its entries are indented
            self._action_max_length += self._indent_increment

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        values = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {values}"


def build_parser(*commands: str) -> tuple[Parser, dict[str, Parser]]:
    """Build the parser. Only the given commands get their arguments; their own parsers are returned as well."""
    parser = Parser(
        prog="quotientgraph",
        description="Surface normal integration: from a normal map to depth and a mesh, discontinuities kept.",
        epilog=EXAMPLES,
        formatter_class=Formatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    choices = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", parser_class=Parser)
    chosen = {}
    for name, (module_name, text) in COMMANDS.items():
        sub = choices.add_parser(
            name, help=text, description=text[0].upper() + text[1:] + ".", formatter_class=Formatter, add_help=True
        )
        if name in commands:
            module = import_module(module_name)
            module.add_arguments(sub)
            sub.set_defaults(run=module.run)
            chosen[name] = sub
    return parser, chosen


class _Version(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None) -> None:
        from quotientgraph import __version__

        tell(f"quotientgraph {__version__}")
        parser.exit()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    if argv is None:
        for name in ("SIGTERM", "SIGHUP"):  # `kill`, and a terminal that is closed
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # as `nohup` has it
                signal.signal(number, _leave)
        # Threads of GNU OpenMP spin while they wait. On a busy machine that takes six times the processor time.
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
        _open_streams()
    try:
        code = _run(list(sys.argv[1:] if argv is None else argv))
        if sys.stdout is not None:
            with named(sys.stdout):
                sys.stdout.flush()
        return code
    except UsageError as problem:
        error(problem)
        return 2
    except KeyboardInterrupt:
        error("interrupted; unfinished outputs were removed")
        return 130
    except BrokenPipeError:  # `quotientgraph … | head`: the reader has gone away, which is no error
        _silence_stdout()
        return 141
    except expected() as problem:
        error(one_line(problem))
        _silence_stdout()
        return 1


def _leave(number: int, _: object) -> NoReturn:
    """Leave by an exception, so that unfinished outputs are removed on the way out; a second signal does not disturb it."""
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


def _open_streams() -> None:
    """Make sure that there are standard streams, and that they take any text.

    A process may be started with some of them closed. The first file that it opens would then take the place of stdout.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _silence_stdout() -> None:
    """Drop what stdout still holds if it cannot be written, so that Python does not complain when it ends."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except AttributeError:  # it is closed
        pass


def _run(argv: list[str]) -> int:
    named = next((word for word in argv if not word.startswith("-")), "")
    parser, chosen = build_parser(named)
    if named in chosen and chosen[named].get_default("prepare"):
        argv = chosen[named].get_default("prepare")(chosen[named], argv)
    args, unknown = parser.parse_known_args(argv)
    if unknown:
        chosen.get(named, parser).error(f"unrecognized arguments: {' '.join(unknown)}")
    if not args.command:
        parser.print_help(sys.stderr)
        return 2
    return args.run(args) or 0
