"""Options that `run` and `chat` share: which agent, which session, what it may do."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

__all__ = ["ConversationOptions", "OptionGroups", "check_session", "declare_conversation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationOptions:
    """What a command line said, typed. The names are the `dest` of the options: `last` is `--continue`."""

    agent: str | None = None
    last: bool = False
    session: str | None = None
    new: bool = False
    resume: str | None = None
    write: bool = False
    yolo: bool = False
    mode: str | None = None
    model: str | None = None
    option: list[str]
    mcp: list[str]
    yes: bool = False
    record: str | None = None
    verbose: bool = False
    cwd: str = "."
    settings: str | None = None

    @classmethod
    def read(cls, arguments: argparse.Namespace) -> Self:
        """The options as they were parsed.

        Raises:
            TypeError: an option was declared that has no field here. It would be ignored without a word.
        """
        return cls(**vars(arguments))


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionGroups:
    """The headings of the help under which options stand."""

    agent: argparse._ArgumentGroup  # pyright: ignore[reportPrivateUsage] - argparse has no public name for it
    session: argparse._ArgumentGroup  # pyright: ignore[reportPrivateUsage] - as above
    output: argparse._ArgumentGroup  # pyright: ignore[reportPrivateUsage] - as above


def declare_conversation(parser: argparse.ArgumentParser) -> OptionGroups:
    """Add what every conversation with an agent takes; returns the groups, for more of them."""
    agent = parser.add_argument_group("agent")
    session = parser.add_argument_group("session")
    answers = parser.add_argument_group("what the agent may do")
    groups = OptionGroups(agent=agent, session=session, output=parser.add_argument_group("output"))
    _declare_agent(agent.add_argument)
    _declare_session(session.add_argument)
    add = answers.add_argument
    add("--write", action="store_true", help="let the agent write files in this directory")
    add(
        "--yolo",
        action="store_true",
        help="let the agent write, run commands, and answer yes to all its questions",
    )
    add = groups.output.add_argument
    add("--record", metavar="FILE", help="write the conversation down, without secrets; see `acpella record`")
    add("-v", "--verbose", action="store_true", help="show what the agent writes to stderr")
    return groups


def _declare_agent(add: Callable[..., object]) -> None:
    add(
        "-a",
        "--agent",
        metavar="NAME|COMMAND|URL",
        help="a name from the settings, an agent of the registry (see `acpella registry list`), a command, a "
        "Python file, or a URL (its token: ACPELLA_TOKEN). Without it: the first agent of the settings, or "
        "the built-in one",
    )
    add("--model", metavar="ID", help="let the agent use this model; a part of its name will do")
    add("--mode", metavar="ID", help="switch the agent to this mode first; a part of its name will do")
    add(
        "--option",
        action="append",
        default=[],
        metavar="ID=VALUE",
        help="set an option of the agent first; may be repeated",
    )
    add(
        "--mcp",
        action="append",
        default=[],
        metavar="NAME=COMMAND",
        help="give the agent an MCP server; may be repeated",
    )
    add("--yes", action="store_true", help="install an agent of the registry that is missing, without asking")
    add(
        "--settings",
        metavar="PATH",
        help="the settings file; default: .acpella/settings.json here or in the repository, and the user's",
    )


def _declare_session(add: Callable[..., object]) -> None:
    add(
        "-s",
        "--session",
        metavar="NAME",
        help="go on with the session of this name or id in this repository, or begin it. It stays alive in "
        "the background",
    )
    add("--new", action="store_true", help="with -s: begin a new session under that name")
    add(
        "-c",
        "--continue",
        dest="last",
        action="store_true",
        help="go on with the last session of this repository",
    )
    add("--resume", metavar="ID", help="go on with an earlier session, by the id that the agent gave it")
    add("--cwd", default=".", metavar="PATH", help="the directory that the session works in")


def check_session(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    """Options that contradict each other end the program with what is wrong."""
    has_name = arguments.session is not None
    if sum(map(bool, (arguments.last, has_name, arguments.resume))) > 1:
        parser.error("--continue, --session and --resume exclude each other")
    if arguments.new and not has_name:
        parser.error("--new goes with --session NAME")
