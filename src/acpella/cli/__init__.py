"""The `acpella` command: one module for each of its commands, imported when it is used."""

import argparse
import gc
import importlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn, TypeVar

T = TypeVar("T")

__all__ = ["Help", "Parser", "command_parser", "main", "main_parser"]

GROUPS = {
    "talk with agents": {
        "run": "send one prompt to an agent and show its answer",
        "chat": "talk with an agent in the terminal",
        "web": "talk with an agent in the browser",
        "demo": "a conversation with the built-in agent, without any key",
    },
    "look after them": {
        "status": "what runs in the sessions of this repository",
        "cancel": "cancel the running turn of a session",
        "sessions": "list, show, export, import, fork and delete sessions",
        "agents": "list, add, remove and check agents",
        "registry": "find, install and update agents of the public ACP registry",
        "permissions": "list and revoke remembered permissions",
    },
    "for editors": {
        "agent": "the built-in coding agent, for an editor to start",
        "connect": "give an editor that only knows stdio an agent behind a URL",
    },
    "write down what happens": {
        "record": "record an agent that an editor starts, and look at recordings",
        "inspect": "look at what goes over the wire, live or recorded",
        "replay": "play a recording as an agent that an editor starts, or as a client",
    },
    "test them": {
        "check": "whether an agent, a client or a recording keeps to the protocol",
    },
    "host agents": {
        "serve": "host an agent over HTTP and WebSocket",
        "tokens": "add, list and remove the tokens of a server's users",
        "store": "bring a session store up to date, copy it, check it",
        "cluster": "show the nodes that share a store",
    },
    "set up": {
        "completion": "print a script that completes commands and options in your shell",
    },
}
"""The commands as `acpella --help` lists them."""

COMMANDS = {name: sentence for group in GROUPS.values() for name, sentence in group.items()}
"""Each is a module of that name in `commands`, with `declare(parser)` and `run(arguments) -> exit code`."""


SHORT = (
    *(
        "run",
        "status",
        "cancel",
        "sessions",
        "agents",
        "registry",
        "permissions",
        "tokens",
        "store",
        "cluster",
    ),
    "completion",
)
"""Commands that do one thing and end."""


class Help(argparse.RawDescriptionHelpFormatter):
    """As wide as the terminal. argparse would load shutil to find out, for each command that is run."""

    def __init__(self, prog: str) -> None:
        variable = os.environ.get("COLUMNS", "")
        try:
            columns = int(variable) if variable.isdecimal() else os.get_terminal_size().columns
        except OSError:  # no terminal
            columns = 0
        super().__init__(prog, width=(columns or 80) - 2)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        """`-s, --session NAME`, as Python 3.13 and newer have it: the help is the same on every Python."""
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}"

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Wrap paragraphs; examples and tables, whose lines begin with a space, stay as they are."""
        from itertools import groupby
        from textwrap import wrap  # argparse has loaded it by now

        lines: list[str] = []
        for is_prose, group in groupby(text.splitlines(), lambda line: line != "" and line[0] != " "):
            block = list(group)
            is_wide = is_prose and max(map(len, block)) > width
            lines += wrap(" ".join(block), width, break_on_hyphens=False) if is_wide else block
        return "\n".join(indent + line for line in lines)


class Parser(argparse.ArgumentParser):
    """Says how to send a prompt with words that look like options."""

    def error(self, message: str) -> NoReturn:
        if message.startswith("unrecognized arguments: -") and self.prog == "acpella run":
            message += "\nWords of the prompt that begin with - need quotes, or -- before the prompt."
        super().error(message)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; returns the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    gc.set_threshold(20_000, 10, 10)  # importing makes no garbage; collecting it took a tenth of the start
    try:
        code = _run(words)
    except SystemExit as ended:  # the help, or a mistake in the command line
        raise SystemExit(_flushed(ended.code)) from None
    except OSError as error:
        from .failures import report

        code = report(error)
    code = _flushed(code)
    if argv is None and words[:1] and words[0] in SHORT:
        _exit_at_once(code)
    return code


def _run(words: list[str]) -> int:
    if words and words[0] in COMMANDS:
        module = importlib.import_module(f".commands.{words[0]}", __name__)
        parser = command_parser(words[0])
        parse = getattr(module, "parse", None)
        arguments = parser.parse_args(words[1:]) if parse is None else parse(parser, words[1:])
        _check_environment()
        return module.run(arguments)
    if words[:1] == ["help"]:
        return _help(words[1:])
    if not words:
        main_parser().print_help(sys.stderr)
        return 2
    main_parser().parse_args(words)  # --help, --version, or a mistake
    return 2


def _help(words: list[str]) -> int:
    """`acpella help COMMAND` is `acpella COMMAND --help`; `environment` is explained here alone."""
    if words == ["environment"]:
        from .environment import environment_text

        print(environment_text())  # noqa: T201
        return 0
    return main([*words, "--help"])


def _flushed(code: T) -> T | int:
    """The exit code, once the rest of the output is written: nobody may read it, or a disk may be full."""
    try:
        sys.stdout.flush()
    except ValueError:
        return code  # it was closed
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left would fail again
        if not isinstance(error, BrokenPipeError):
            from . import exits
            from .terminal.output import say

            say(f"the output could not be written: {error}")
            return code or exits.USAGE
    return code


def _exit_at_once(code: int) -> NoReturn:
    """End the program without taking its modules apart, which took a quarter of a short command's CPU."""
    try:
        sys.stderr.flush()
    except (OSError, ValueError):
        pass  # nobody reads it any more
    os._exit(code)


def _check_environment() -> None:
    """A misspelt variable would be ignored without a word."""
    if not any(name.startswith("ACPELLA_") for name in os.environ):
        return
    from .environment import find_misspelt

    for name, suggestion in find_misspelt():
        print(f"acpella: {name} is not known; did you mean {suggestion}?", file=sys.stderr)  # noqa: T201


def command_parser(name: str) -> argparse.ArgumentParser:
    """The parser of one command, with its examples."""
    from .examples import add_examples

    parser = Parser(prog=f"acpella {name}", formatter_class=Help, allow_abbrev=False)
    importlib.import_module(f".commands.{name}", __name__).declare(parser)
    add_examples(parser)
    return parser


def main_parser() -> argparse.ArgumentParser:
    """What reads a command line without a known command."""
    from acpella._version import __version__

    lines: list[str] = []
    for group, commands in GROUPS.items():
        lines += ["", f"{group}:", *(f"  {name:<13}{sentence}" for name, sentence in commands.items())]
    parser = argparse.ArgumentParser(
        prog="acpella",
        usage="acpella [-h] [--version] COMMAND ...",
        description="Write, drive and host agents that speak the Agent Client Protocol (ACP).\n"
        + "\n".join(lines),
        epilog="`acpella COMMAND --help` explains a command and shows examples; "
        "`acpella help environment` lists the variables that count.",
        formatter_class=Help,
    )
    parser.add_argument("--version", action="version", version=f"acpella {__version__}")
    parser.add_argument("command", metavar="COMMAND", type=_known_command, help=argparse.SUPPRESS)
    return parser


def _known_command(word: str) -> str:
    """Say which command may have been meant."""
    import difflib

    close = difflib.get_close_matches(word, COMMANDS, n=1)
    hint = f"did you mean {close[0]!r}?" if close else "`acpella --help` lists all commands."
    raise argparse.ArgumentTypeError(f"{word!r} is not a command; {hint}")


if __name__ == "__main__":
    sys.exit(main())
