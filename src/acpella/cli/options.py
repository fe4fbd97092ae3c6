"""Options that `run` and `chat` share: which agent, which session, what it may do."""

import argparse
from dataclasses import dataclass, fields
from typing import Self

__all__ = ["ConversationOptions", "check_session", "declare_conversation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationOptions:
    """What a command line said, typed. The names are those of the options."""

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
        """The options as they were parsed."""
        return cls(**{field.name: getattr(arguments, field.name) for field in fields(cls)})


def declare_conversation(parser: argparse.ArgumentParser) -> None:
    """Add what every conversation with an agent takes."""
    add = parser.add_argument
    add(
        "-a",
        "--agent",
        metavar="NAME|COMMAND|URL",
        help="a name of the settings, a name that acpella knows (`acpella agents list`), a command, a Python "
        "file, or a URL (its token: ACPELLA_TOKEN); "
        "default: the first of the settings, or the built-in one",
    )
    add(
        "-c",
        "--continue",
        dest="last",
        action="store_true",
        help="go on with the last session of this repository",
    )
    add(
        "-s",
        "--session",
        metavar="NAME",
        help="a session of this repository by name or id, kept alive in the background; a name that is not "
        "there begins one",
    )
    add("--new", action="store_true", help="with -s: begin afresh under that name")
    add("--resume", metavar="ID", help="go on with a earlier session, by the agent's id")
    add("--write", action="store_true", help="let the agent write files in this directory")
    add(
        "--yolo",
        action="store_true",
        help="let the agent write, run commands, and answer yes to all its questions",
    )
    add("--mode", metavar="ID", help="switch the agent to this mode first; a part of its name will do")
    add("--model", metavar="ID", help="let the agent use this model; a part of its name will do")
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
    add("--yes", action="store_true", help="download a known agent that is not installed without asking")
    add("--record", metavar="FILE", help="write the conversation down, without secrets; see `acpella record`")
    add("-v", "--verbose", action="store_true", help="show what the agent writes to stderr")
    add("--cwd", default=".", metavar="PATH", help="the directory that the session is about")
    add(
        "--settings",
        metavar="PATH",
        help="the settings file; default: .acpella/settings.json here or in the repository, and the user's",
    )


def check_session(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    """Options that contradict each other end the program with what is wrong."""
    named = arguments.session is not None
    if sum(map(bool, (arguments.last, named, arguments.resume))) > 1:
        parser.error("--continue, --session and --resume exclude each other")
    if arguments.new and not named:
        parser.error("--new goes with --session NAME")
