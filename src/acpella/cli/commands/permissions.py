"""`acpella permissions`: what agents may always or never do, because somebody once said so."""

import argparse
import os
import shlex
import tomllib
from typing import Any

from acpella._plain_json import as_dict

from .. import exits
from ..state import paths
from ..terminal.output import columns, say, show_json

__all__ = ["declare", "run"]


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = "List and revoke answers that were given for good."
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="what is remembered")
    listing.add_argument("-a", "--agent", metavar="NAME", help="for this agent only")
    listing.add_argument("--json", action="store_true", help="as JSON")
    revoking = actions.add_parser("revoke", help="be asked again")
    revoking.add_argument("agent", metavar="AGENT", help="whose answers, as `permissions list` names it")
    revoking.add_argument(
        "what", nargs="*", metavar="WHAT", help="as listed; without it, everything of the agent"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    path = paths.permissions()
    try:
        remembered: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        remembered = {}
    except (OSError, ValueError) as error:
        say(f"{path} cannot be read: {error}")
        return exits.USAGE
    return (_list if arguments.action == "list" else _revoke)(arguments, remembered)


def _meant(name: str, remembered: dict[str, Any]) -> list[str]:
    """The agents of a name: the one that is listed so, or else all whose program has that file name."""
    if name in remembered:
        return [name]

    def words(agent: str) -> list[str]:
        try:
            return shlex.split(agent)
        except ValueError:
            return [agent]

    return [agent for agent in sorted(remembered) if name in map(os.path.basename, words(agent))]


def _list(arguments: argparse.Namespace, remembered: dict[str, Any]) -> int:
    agents = remembered if arguments.agent is None else _meant(arguments.agent, remembered)
    rows = [
        (agent, str(decision), what)
        for agent, decisions in sorted(remembered.items())
        if agent in agents
        for what, decision in sorted(as_dict(decisions).items())
    ]
    if arguments.json:
        show_json([{"agent": agent, "decision": decision, "what": what} for agent, decision, what in rows])
    elif rows:
        from ..terminal.reveal import reveal

        columns([(reveal(agent), decision, reveal(what)) for agent, decision, what in rows])
    else:
        say("nothing is remembered")
    return exits.DONE


def _revoke(arguments: argparse.Namespace, remembered: dict[str, Any]) -> int:
    from acpella.sessions import RememberedPermissions

    matches = [name for name in _meant(arguments.agent, remembered) if isinstance(remembered[name], dict)]
    if len(matches) != 1:
        agents = "; ".join(sorted(matches or remembered)) or "none"
        what = "several agents are called" if matches else "nothing is remembered for"
        say(f"{what} {arguments.agent!r}; there are: {agents}")
        return exits.USAGE
    (agent,) = matches
    memory = RememberedPermissions(paths.permissions())
    words = " ".join(arguments.what)
    from ..terminal.reveal import reveal

    keys = [key for key in memory.all(agent) if not words or words in (key, reveal(key))]
    forgotten = [key for key in keys if memory.forget(agent, key)]
    if not forgotten:
        say(f"{words!r} is not remembered for {agent}; `acpella permissions list` shows what is")
        return exits.USAGE
    for key in forgotten:
        say(f"{agent} will ask again: {reveal(key)}")
    return exits.DONE
