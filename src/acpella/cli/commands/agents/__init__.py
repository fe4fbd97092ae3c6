"""`acpella agents`: which agents there are, and whether they work."""

import argparse
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acpella._redact import redact
from acpella.errors import AcpellaError

from ... import exits
from ...failures import guarded, report
from ...terminal.output import columns, say, show_json

if TYPE_CHECKING:
    from acpella.client.settings import AgentServer

    from ...state.known_agents import KnownAgent

__all__ = ["declare", "parse", "run"]

ADD = "acpella agents add [--here] [--replace] [--env NAME=VALUE] NAME COMMAND [ARGUMENT ...]"


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = "The agents of the settings file, and those that are known by name."
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="the agents of the settings, the default first")
    listing.add_argument("--json", action="store_true", help="as JSON")
    adding = actions.add_parser("add", help="add an agent: acpella agents add NAME COMMAND [ARGUMENT ...]")
    adding.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="a variable for it")
    adding.add_argument("--replace", action="store_true", help="overwrite an agent of that name")
    adding.add_argument("name", metavar="NAME")
    adding.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND")
    removing = actions.add_parser("remove", help="remove an agent")
    removing.add_argument("name", metavar="NAME")
    for sub in (adding, removing):
        sub.add_argument("--here", action="store_true", help="in ./.acpella/settings.json, not in the user's")
    checking = actions.add_parser("doctor", help="does it start, answer, need a login? what does it offer?")
    checking.add_argument("agent", nargs="?", metavar="NAME|COMMAND|URL", help="default: the default agent")
    checking.add_argument(
        "--timeout", type=float, default=30.0, metavar="SECONDS", help="for its first answer"
    )
    checking.add_argument("--yes", action="store_true", help="download a known agent without asking")
    for sub in (listing, adding, removing, checking):
        sub.add_argument("--settings", metavar="PATH", help="the settings file")
    trusting = actions.add_parser(
        "trust",
        help="show the .acpella/settings.json here or in the repository, and agree to it as it is now",
    )
    trusting.add_argument("--yes", action="store_true", help="agree without being asked")


def parse(parser: argparse.ArgumentParser, words: list[str]) -> argparse.Namespace:
    """Options of `add` may stand after NAME, too; from COMMAND on all words are the agent's."""
    if words[:1] != ["add"]:
        return parser.parse_args(words)
    options, rest = ["add"], words[1:]
    name: list[str] = []
    while rest:
        word = rest[0]
        if word.startswith("-") and word != "--":
            if name and word.partition("=")[0] not in (
                "--here",
                "--replace",
                "--env",
                "--settings",
                "--help",
                "-h",
            ):
                break
            size = 2 if word in ("--env", "--settings") else 1
            options += rest[:size]
            rest = rest[size:]
        elif name or word == "--":
            break
        else:
            name, rest = [word], rest[1:]
    return parser.parse_args([*options, *name, *rest])


def run(arguments: argparse.Namespace) -> int:
    """Run the command; gives the exit code."""
    work = {"list": _list, "add": _add, "remove": _remove, "trust": _trust, "doctor": _doctor}[
        arguments.action
    ]
    try:
        return work(arguments)
    except (AcpellaError, OSError, ValueError) as error:
        return report(error)


def _list(arguments: argparse.Namespace) -> int:
    from ...session.lookup import find_settings
    from ...state.agents import BUILT_IN, with_builtin
    from ...state.known_agents import AGENTS
    from ...state.settings import origin

    settings = find_settings(arguments.settings)
    rows = [
        {
            "name": name,
            "command": _command(server),
            "env": sorted(server.env),
            "default": number == 0,
            "builtIn": name == BUILT_IN and origin(settings, name) is None,
            "settings": str(origin(settings, name) or "") or None,
        }
        for number, (name, server) in enumerate(with_builtin(settings, BUILT_IN).agents.items())
    ]
    known = [agent for agent in AGENTS if agent.name not in settings.agents]
    if arguments.json:
        shown = {
            "settings": None if settings.path is None else str(settings.path),
            "agents": rows,
            "known": [
                {
                    "name": agent.name,
                    "title": agent.title,
                    "program": agent.installed,
                    "download": agent.download or None,
                }
                for agent in known
            ],
        }
        show_json(shown)
        return exits.DONE
    several = len({str(row["settings"]) for row in rows}) > 1
    columns(
        [
            (
                "*" if row["default"] else " ",
                str(row["name"]),
                *([_whose(row["settings"])] if several else []),
                str(row["command"]),
            )
            for row in rows
        ]
    )
    say("these names work without settings, too:")
    columns([("✓" if agent.installed else " ", agent.name, _how(agent)) for agent in known])
    if settings.path is None:
        say("no settings file yet; `acpella agents add NAME COMMAND` makes one")
    return exits.DONE


def _how(agent: "KnownAgent") -> str:
    """How a known agent would be started."""
    if agent.installed:
        return shlex.join([agent.program, *agent.args])
    return shlex.join(agent.download) + " (downloads it)" if agent.download else f"needs {agent.program}"


def _command(server: "AgentServer") -> str:
    return redact(server.url or shlex.join([server.command, *server.args]))


def _whose(path: Any) -> str:
    from acpella.client.trust import is_project

    if path is None:
        return "built-in"
    return "project" if is_project(Path(path)) else "user"


def _file(arguments: argparse.Namespace) -> Any:
    from acpella.client.settings import user_settings

    from ...state.settings_file import SettingsFile

    if arguments.settings:
        return SettingsFile(Path(arguments.settings))
    return SettingsFile(Path(".acpella", "settings.json") if arguments.here else user_settings())


def _add(arguments: argparse.Namespace) -> int:
    from acpella.client.trust import is_project, is_trusted, why_not

    words: list[str] = list(arguments.command)
    if words[:1] == ["--"]:
        words = words[1:]
    if len(words) == 1:
        words = shlex.split(words[0])
    if not words:
        raise ValueError(f"say how the agent is started: {ADD}")
    if words[0].startswith("-"):
        raise ValueError(f"{words[0]!r} is not a command; options go before it: {ADD}")
    if not arguments.name.strip() or arguments.name.startswith("-"):
        raise ValueError(f"{arguments.name!r} cannot be the name of an agent")
    if len(words) == 1 and words[0].endswith(".py"):
        import sys

        words = [sys.executable, os.path.abspath(words[0])]
    env: dict[str, str] = {}
    for pair in arguments.env:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise ValueError("--env wants NAME=VALUE")
        env[name] = value
    entry: dict[str, Any] = {"command": words[0], "args": words[1:]}
    if env:
        entry["env"] = env
    file = _file(arguments)
    file.add_agent(arguments.name, entry, replace=arguments.replace)
    if is_project(file.path) and file.after is not None:
        agreed = file.before is None or is_trusted(file.path, file.before)
        _agree(file.path, file.after) if agreed else say(why_not(file.path))
    say(f"added {arguments.name} to {file.path}; `acpella agents doctor {arguments.name}` tries it")
    return exits.DONE


def _remove(arguments: argparse.Namespace) -> int:
    from acpella.client.trust import forget, is_project, is_trusted

    from ...state.settings import find, origin
    from ...state.settings_file import SettingsFile

    file = _file(arguments)
    if not arguments.settings and not arguments.here:  # where `agents list` has it from
        file = SettingsFile(origin(find(None), arguments.name) or file.path)
    file.remove_agent(arguments.name)
    if is_project(file.path) and file.before is not None and is_trusted(file.path, file.before):
        forget(file.path) if file.after is None else _agree(file.path, file.after)
    say(f"removed {arguments.name} from {file.path}")
    return exits.DONE


def _agree(path: Path, data: bytes) -> None:
    """What was just written here needs no second look."""
    from acpella.client.trust import trust

    try:
        trust(path, data)
    except OSError as error:
        say(f"{path} will not be used, because that cannot be remembered: {error}; set XDG_STATE_HOME")


def _trust(arguments: argparse.Namespace) -> int:
    from acpella.client.settings import ClientSettings, read_settings
    from acpella.client.trust import project_file, trust

    from ...state.trust import agree, settings_rows

    path = project_file()
    if path is None:
        raise ValueError("there is no .acpella/settings.json here or in the repository")
    data = read_settings(path)  # once: what is shown is what is agreed to
    rows = settings_rows(path, ClientSettings.parse(data, path))
    if not agree(rows, "use these settings?", yes=arguments.yes):
        say(f"{path} is not used")
        return exits.USAGE
    trust(path, data)
    say(f"{path} is used from now on, until it is changed")
    return exits.DONE


def _doctor(arguments: argparse.Namespace) -> int:
    from ...session.lookup import find_settings
    from ...state.agents import default_agent
    from .doctor import examine

    settings = find_settings(arguments.settings, agent=arguments.agent, yes=arguments.yes)
    target = arguments.agent or default_agent(settings)
    return guarded(lambda: examine(target, settings, timeout=arguments.timeout))
