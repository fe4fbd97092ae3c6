"""`acpella inspect`: look at what goes over the wire."""

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from acpella.errors import TransportError

from ... import exits
from ...command_words import split_command
from ...file_errors import RECORDING, explain
from ...terminal.output import say

if TYPE_CHECKING:
    from acpella.inspector.sources import SourceList

__all__ = ["declare", "parse", "run"]

VIEWS = {
    "rows": "a line for each message",
    "stats": "counts and times by method",
    "times": "where the time of each turn went",
    "findings": "what is wrong, by the rules of `acpella check`; exit code 1 if anything is",
}

_EPILOG = """\
Put `acpella inspect --` before the command of an agent in an editor's settings. Everything passes as it is
and is recorded without secrets; nothing listens on the network. When you want to look, run `acpella inspect`:
it opens a page on the conversation that runs now, and follows it.

filter words: method:fs/* update:tool_call kind:err dir:in session:abc id:3 bad:* ms>500 size>10k "some text"
              each may have a - before it; all of them must hold
"""


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Look at what goes over the wire: live, between an editor and an agent, or in a recording."
    )
    parser.usage = (
        "acpella inspect [options] FILE\n"
        "       acpella inspect [-o FILE] -- COMMAND [ARG...]\n"
        "       acpella inspect [-o FILE] URL\n"
        "       acpella inspect --chat [options] [URL | -- COMMAND [ARG...]]\n"
        "       acpella inspect"
    )
    parser.epilog = _EPILOG
    add = parser.add_argument
    add(
        "what",
        nargs="?",
        metavar="FILE|URL",
        help="a recording, or the URL of an agent; default: what runs now",
    )
    views = parser.add_argument_group("views without a browser")
    view = views.add_mutually_exclusive_group()
    for name, sentence in VIEWS.items():
        view.add_argument(f"--{name}", dest="view", action="store_const", const=name, help=sentence)
    view.add_argument(
        "--html", metavar="OUT", help="write one file with the inspector and the recording inside"
    )
    view.add_argument(
        "--python", dest="view", action="store_const", const="python", help="a program that has it again"
    )
    view.add_argument(
        "--pytest", dest="view", action="store_const", const="pytest", help="a test that expects it again"
    )
    views.add_argument("--filter", default="", metavar="WORDS", help="only rows that fit; with --rows")
    views.add_argument("--json", action="store_true", help="JSON lines instead of a table")
    page = parser.add_argument_group("the page")
    page.add_argument("--no-open", action="store_true", help="print the link instead of opening the browser")
    page.add_argument("--port", type=int, default=0, help="port to listen on; default: any free one")
    chat = parser.add_argument_group("a conversation beside the messages")
    chat.add_argument(
        "--chat",
        action="store_true",
        help="talk with the agent in the page, with a client whose capabilities can be switched off",
    )
    chat.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="CAPABILITY",
        help="begin with this one switched off, such as terminal or fs.writeTextFile; may be repeated",
    )
    chat.add_argument("--cwd", default=".", metavar="PATH", help="the directory that new sessions work in")
    tap = parser.add_argument_group("between an editor and an agent")
    tap.add_argument(
        "-o", "--output", metavar="FILE", help="record to this file; default: in the state directory"
    )
    tap.add_argument(
        "--anonymize", action="store_true", help="leave out home, user, host, directories and session ids"
    )
    tap.add_argument(
        "--no-media", action="store_true", help="keep size and SHA-256 of media, not their bytes"
    )


def parse(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.Namespace:
    """Options, then `--` and the agent."""
    options, command = split_command(words)
    if "--" in words and not command:
        parser.error("say which agent to stand before: acpella inspect -- AGENT [ARG...]")
    arguments = parser.parse_args(_joined(options))
    if command and (arguments.what or arguments.view or arguments.html):
        parser.error("either look at a recording, or stand before an agent")
    if arguments.chat and not (command or "://" in (arguments.what or "")):
        parser.error("say which agent to talk with: acpella inspect --chat -- AGENT [ARG...]")
    if arguments.without and not arguments.chat:
        parser.error("--without goes with --chat")
    if arguments.filter and arguments.view != "rows":
        parser.error("--filter goes with --rows")
    if arguments.json and not arguments.view:
        parser.error("--json goes with --rows, --stats or --findings")
    return argparse.Namespace(command=command, **vars(arguments))


def _joined(options: Sequence[str]) -> list[str]:
    """With the words of a filter joined to their option: argparse takes `-kind:ntf` for one."""
    joined: list[str] = []
    for word in options:
        if joined and joined[-1] == "--filter":
            joined[-1] = f"--filter={word} "  # argparse takes a lone `--` for the end of all options
        else:
            joined.append(f"{word} " if word.startswith("--filter=") else word)
    return joined


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    what: str | None = arguments.what
    if arguments.chat:
        return _shown(lambda: _talk(arguments))
    if arguments.command or (what is not None and "://" in what):
        from .tap import stand_between

        return stand_between(arguments)
    if what is None:
        return _look_at_live(arguments)
    if arguments.view or arguments.html:
        from .views import show_view

        return show_view(arguments, Path(what))
    return _look_at_file(arguments, Path(what))


def _look_at_file(arguments: argparse.Namespace, path: Path) -> int:
    from acpella.inspector.log import RecordingLog
    from acpella.inspector.sources import of_file
    from acpella.inspector.taps import live_taps

    from ...state.paths import private, state

    try:
        log = RecordingLog(path)  # says now what is wrong with it
        try:
            log.read_more(1)
        finally:
            log.close()
        taps = live_taps(private(state() / "taps"))
        control = next((tap.control for tap in taps if tap.path == str(path.absolute())), "")
        sources = of_file(path.absolute(), control=control)
    except (OSError, ValueError) as error:
        say(explain(error, missing=RECORDING))
        return exits.USAGE
    return _open_page(arguments, sources, path.name)


def _look_at_live(arguments: argparse.Namespace) -> int:
    from acpella.inspector.sources import of_taps
    from acpella.inspector.taps import live_taps

    from ...state.paths import private, state

    place = private(state() / "taps")
    taps = live_taps(place)
    if not taps:
        say(
            "Nothing is inspected now. Put `acpella inspect --` before the agent's command in your editor's "
            "settings and start a conversation, or name a recording: acpella inspect FILE"
        )
        return exits.NOT_FOUND
    for tap in taps:
        say(f"runs since {time.strftime('%H:%M:%S', time.localtime(tap.started))}: {' '.join(tap.command)}")
    name = "what runs now" if len(taps) > 1 else Path(taps[0].path).name
    return _open_page(arguments, of_taps(lambda: live_taps(place)), name)


def _open_page(arguments: argparse.Namespace, sources: "SourceList", name: str) -> int:
    from .server import show_page

    return _shown(lambda: show_page(sources, name, port=arguments.port, opens=not arguments.no_open))


def _talk(arguments: argparse.Namespace) -> int:
    from .chat import talk_and_look

    return talk_and_look(arguments)


def _shown(serve: Callable[[], int]) -> int:
    """Serve a page; returns the exit code."""
    try:
        return serve()
    except KeyboardInterrupt:
        return exits.DONE
    except ImportError as error:
        say(f"{error}; the page needs pip install 'acpella[standard]'")
        return exits.NOT_FOUND
    except TransportError as error:
        say(str(error))
        return exits.USAGE
    except (OSError, ValueError) as error:
        say(explain(error, missing=RECORDING))
        return exits.USAGE
