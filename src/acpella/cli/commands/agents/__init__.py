"""`acpella agents`: which agents there are, and whether they work."""

import argparse
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from acpella._redact import redact
from acpella.errors import AcpellaError

from ... import exits
from ...failures import guarded, report
from ...terminal.output import columns, say, show, show_json

if TYPE_CHECKING:
    from acpella.client.settings import AgentServer

__all__ = ["declare", "parse", "run"]

ADD = "acpella agents add [--here] [--replace] [--env NAME=VALUE] NAME COMMAND [ARGUMENT ...]"


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = "The agents of the settings file, and those that are known by name."
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="the agents of the settings, the default first")
    listing.add_argument("--json", action="store_true", help="as JSON")
    adding = actions.add_parser("add", help="add an agent: acpella agents add NAME COMMAND [ARGUMENT ...]")
    adding.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set a variable for it; may be repeated",
    )
    adding.add_argument("--replace", action="store_true", help="overwrite an agent of that name")
    adding.add_argument("name", metavar="NAME", help="what to call it")
    adding.add_argument(
        "command",
        nargs=argparse.REMAINDER,
        metavar="COMMAND",
        help="the program that speaks ACP, and its arguments",
    )
    removing = actions.add_parser("remove", help="remove an agent")
    removing.add_argument("name", metavar="NAME", help="the agent to remove")
    for sub in (adding, removing):
        sub.add_argument(
            "--here", action="store_true", help="change ./.acpella/settings.json instead of the user's file"
        )
    checking = actions.add_parser("doctor", help="does it start, answer, need a login? what does it offer?")
    checking.add_argument(
        "agent",
        nargs="?",
        metavar="NAME|COMMAND|URL",
        help="the agent to try, as for `acpella run -a`; without it, the default one",
    )
    checking.add_argument(
        "--timeout", type=float, default=30.0, metavar="SECONDS", help="how long to wait for its first answer"
    )
    checking.add_argument(
        "--yes", action="store_true", help="install an agent of the registry without asking"
    )
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
    """Run the command; returns the exit code."""
    work = {"list": _list, "add": _add, "remove": _remove, "trust": _trust, "doctor": _doctor}[
        arguments.action
    ]
    try:
        return work(arguments)
    except (AcpellaError, OSError, ValueError) as error:
        return report(error)


def _list(arguments: argparse.Namespace) -> int:

    from ...session.lookup import find_settings
    from ...state.agents import BUILT_IN, resolve_agent

    settings = find_settings(arguments.settings)
    rows = [
        {
            "name": name,
            "command": _command(server),
            "env": sorted(server.env),
            "default": number == 0,
            "builtIn": name == BUILT_IN and settings.origin(name) is None,
            "settings": str(settings.origin(name) or "") or None,
        }
        for number, (name, server) in enumerate(resolve_agent(settings, BUILT_IN).agents.items())
    ]
    others = [other for other in _others() if other.name not in settings.agents]
    if arguments.json:
        document = {
            "settings": None if settings.path is None else str(settings.path),
            "agents": rows,
            "known": [
                {"name": o.name, "title": o.title, "command": o.command, "version": o.version} for o in others
            ],
        }
        show_json(document)
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
    columns([("✓" if other.command else " ", other.name, _how(other)) for other in others])
    if settings.path is None:
        say("no settings file yet; `acpella agents add NAME COMMAND` makes one")
    return exits.DONE


class _Other(NamedTuple):
    """An agent that no settings name."""

    name: str
    title: str
    command: list[str] | None
    """None if it is neither installed nor on the PATH."""
    version: str | None
    """If it was installed from the registry."""


def _others() -> list[_Other]:
    """Agents that were installed from the registry, and those that are known by name."""
    from acpella.client.installed import list_installed
    from acpella.client.known_agents import KNOWN_AGENTS
    from acpella.client.names import find_by_name

    installed = {one.receipt.id: one.receipt for one in list_installed()}
    ids = {agent.id: agent for agent in KNOWN_AGENTS}
    others: list[_Other] = []
    for agent_id in [*(i for i in installed if i not in ids), *ids]:
        name = ids[agent_id].name if agent_id in ids else agent_id
        receipt = installed.get(agent_id)
        known_agent = find_by_name(name)
        command = None if known_agent is None else [known_agent.server.command, *known_agent.server.args]
        title = ids[agent_id].title if receipt is None else receipt.name
        others.append(_Other(name, title, command, None if receipt is None else receipt.version))
    return others


def _how(other: _Other) -> str:
    """How an agent would be started."""
    if other.version is not None:
        return f"{other.title} {other.version}, installed from the registry"
    if other.command is not None:
        return shlex.join(other.command)
    return f"acpella registry install {other.name}"


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
    if len(words) == 1:
        words = _program_of(words[0])
    elif not arguments.here:  # the agent is started anywhere; a project's settings only in the project
        words = [os.path.abspath(w) if w.endswith(".py") and os.path.isfile(w) else w for w in words]
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
    name = shlex.quote(arguments.name)
    say(f"added {arguments.name} to {file.path}; `acpella agents doctor {name}` tries it")
    if words[1:4] == ["-m", "acpella", "agent"]:
        _show_editors(arguments.name, entry)
    return exits.DONE


def _program_of(word: str) -> list[str]:
    """What starts a Python file, or an object of one; any other word is a command already."""
    import sys

    from acpella._references import absolute_reference, is_reference

    if word.endswith(".py"):
        return [sys.executable, os.path.abspath(word)]
    if not is_reference(word):
        return [word]
    file = word.rpartition(":")[0]
    if file.endswith(".py") and not os.path.isfile(file):
        raise ValueError(f"there is no file {file}")
    return [sys.executable, "-m", "acpella", "agent", absolute_reference(word)]


def _show_editors(name: str, entry: dict[str, Any]) -> None:
    """The lines that editors need, to be copied; secrets among the variables are the user's to see."""
    import json

    say("for Zed, in settings.json:")
    show(json.dumps({"agent_servers": {name: {"type": "custom", **entry}}}, indent=2))
    say("for JetBrains, in ~/.jetbrains/acp.json:")
    show(json.dumps({"agent_servers": {name: entry}}, indent=2))


def _remove(arguments: argparse.Namespace) -> int:
    from acpella.client.trust import forget, is_project, is_trusted

    from ...state.settings import find
    from ...state.settings_file import SettingsFile

    file = _file(arguments)
    if not arguments.settings and not arguments.here:  # where `agents list` has it from
        file = SettingsFile(find(None).origin(arguments.name) or file.path)
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
    from acpella.client.settings import ClientSettings
    from acpella.client.settings_source import read_settings
    from acpella.client.trust import project_file, trust

    from ...state.trust_question import agree, settings_rows

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
