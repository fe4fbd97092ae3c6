"""`acpella agents`: which agents there are, and whether they work."""

import argparse
import os
import shlex
from pathlib import Path
from typing import Any

from acpella._redact import redact
from acpella.errors import AcpellaError

from . import exits
from .failures import guarded, report
from .lines import columns, say, show_json

__all__ = ["declare", "run"]


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = "The agents of the settings file."
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
    for sub in (listing, adding, removing, checking):
        sub.add_argument("--settings", metavar="PATH", help="the settings file")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; gives the exit code."""
    work = {"list": _list, "add": _add, "remove": _remove, "doctor": _doctor}[arguments.action]
    try:
        return work(arguments)
    except (AcpellaError, OSError, ValueError) as error:
        return report(error)


def _list(arguments: argparse.Namespace) -> int:
    from .agents_known import BUILT_IN, with_builtin
    from .opening import find_settings

    settings = find_settings(arguments.settings)
    rows = [
        {
            "name": name,
            "command": redact(server.url or shlex.join([server.command, *server.args])),
            "env": sorted(server.env),
            "default": number == 0,
            "builtIn": name == BUILT_IN and settings.path is None,
        }
        for number, (name, server) in enumerate(with_builtin(settings, BUILT_IN).agents.items())
    ]
    if arguments.json:
        show_json({"settings": None if settings.path is None else str(settings.path), "agents": rows})
        return exits.DONE
    columns([("*" if row["default"] else " ", str(row["name"]), str(row["command"])) for row in rows])
    if settings.path is None:
        say("no settings file yet; `acpella agents add NAME COMMAND` makes one")
    return exits.DONE


def _file(arguments: argparse.Namespace) -> Any:
    from acpella.client.settings import user_settings

    from .settings_file import SettingsFile

    if arguments.settings:
        return SettingsFile(Path(arguments.settings))
    return SettingsFile(Path(".acpella", "settings.json") if arguments.here else user_settings())


def _add(arguments: argparse.Namespace) -> int:
    words: list[str] = list(arguments.command)
    if words[:1] == ["--"]:
        words = words[1:]
    if len(words) == 1:
        words = shlex.split(words[0])
    if not words:
        raise ValueError("say how the agent is started: acpella agents add NAME COMMAND [ARGUMENT ...]")
    if not arguments.name.strip() or arguments.name.startswith("-"):
        raise ValueError(f"{arguments.name!r} is no name for an agent")
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
    say(f"added {arguments.name} to {file.path}; `acpella agents doctor {arguments.name}` tries it")
    return exits.DONE


def _remove(arguments: argparse.Namespace) -> int:
    file = _file(arguments)
    file.remove_agent(arguments.name)
    say(f"removed {arguments.name} from {file.path}")
    return exits.DONE


def _doctor(arguments: argparse.Namespace) -> int:
    from .agents_known import default_agent
    from .doctor import examine
    from .opening import find_settings

    settings = find_settings(arguments.settings, agent=arguments.agent)
    target = arguments.agent or default_agent(settings)
    return guarded(lambda: examine(target, settings, timeout=arguments.timeout))
