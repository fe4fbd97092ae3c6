"""`acpella permissions`: what agents may always or never do, because somebody once said so."""

import argparse
import tomllib
from typing import Any

from . import exits, places
from .lines import columns, say, show_json
from .owners import table

__all__ = ["declare", "run"]


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = "List and revoke answers that were given for good."
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="what is remembered")
    listing.add_argument("-a", "--agent", metavar="NAME", help="for this agent only")
    listing.add_argument("--json", action="store_true", help="as JSON")
    revoking = actions.add_parser("revoke", help="be asked again")
    revoking.add_argument("agent", metavar="AGENT")
    revoking.add_argument(
        "what", nargs="*", metavar="WHAT", help="as listed; without it, everything of the agent"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the command; gives the exit code."""
    path = places.permissions()
    try:
        remembered: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        remembered = {}
    except (OSError, ValueError) as error:
        say(f"{path} cannot be read: {error}")
        return exits.USAGE
    return (_list if arguments.action == "list" else _revoke)(arguments, remembered)


def _list(arguments: argparse.Namespace, remembered: dict[str, Any]) -> int:
    rows = [
        (agent, str(decision), what)
        for agent, decisions in sorted(remembered.items())
        if arguments.agent in (None, agent)
        for what, decision in sorted(table(decisions).items())
    ]
    if arguments.json:
        show_json([{"agent": agent, "decision": decision, "what": what} for agent, decision, what in rows])
    elif rows:
        columns(rows)
    else:
        say("nothing is remembered")
    return exits.DONE


def _revoke(arguments: argparse.Namespace, remembered: dict[str, Any]) -> int:
    from acpella.sessions import RememberedPermissions

    known = remembered.get(arguments.agent)
    if not isinstance(known, dict):
        agents = ", ".join(sorted(remembered)) or "none"
        say(f"nothing is remembered for {arguments.agent!r}; there are: {agents}")
        return exits.USAGE
    memory = RememberedPermissions(places.permissions())
    wanted = " ".join(arguments.what)
    keys = [wanted] if wanted else list(memory.all(arguments.agent))
    gone = [key for key in keys if memory.forget(arguments.agent, key)]
    if not gone:
        say(f"{wanted!r} is not remembered for {arguments.agent}; `acpella permissions list` shows what is")
        return exits.USAGE
    for key in gone:
        say(f"{arguments.agent} will ask again: {key}")
    return exits.DONE
