"""`acpella cancel`: stop what runs in a session, from any shell."""

import argparse

from .. import exits
from ..daemon import client as daemon
from ..daemon import methods
from ..session.lookup import NoSession, resolve
from ..state import paths
from ..state.catalogue import Catalogue, SessionEntry
from ..terminal.output import say

__all__ = ["declare", "run"]


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Cancel the running turn of a session; without NAME, of the one that runs in this repository."
    )
    add = parser.add_argument
    add("-s", "--session", metavar="NAME", help="the session, by name or id")
    add("--all", action="store_true", help="the prompts that wait, too")
    add("--cwd", default=".", metavar="PATH", help="a directory of the repository")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    try:
        entry = _running(arguments) if arguments.session is None else _named(arguments)
    except NoSession as error:
        say(str(error))
        return exits.USAGE
    if entry is None:
        say("nothing runs in this repository")
        return exits.DONE
    reply = daemon.query(entry.key, methods.CANCEL, {"all": arguments.all})
    if reply is not None and reply.get("stuck"):
        say(
            f"{entry.label} does not answer: process {daemon.pid_of(entry.key)} may be stopped "
            "(`fg` lets it go on); `acpella status --stop` ends it"
        )
        return exits.TIMEOUT
    if reply is None or not (reply.get("running") or reply.get("queued")):
        say(f"nothing runs in {entry.label}")
        return exits.DONE
    queued = reply.get("queued", 0)
    say(f"cancelled {entry.label}" + (f" and {queued} that waited" if queued else ""))
    return exits.DONE


def _named(arguments: argparse.Namespace) -> SessionEntry:
    entry = resolve(Catalogue(), arguments.session, cwd=arguments.cwd)
    if entry is None:
        raise NoSession(f"no session {arguments.session!r} in this repository")
    return entry


def _running(arguments: argparse.Namespace) -> SessionEntry | None:
    """The one session of this repository in which something runs. Raises `NoSession` if there are more."""
    entries = Catalogue().entries(root=paths.repository(arguments.cwd))
    states = [(entry, daemon.status(entry.key) or {}) for entry in entries]
    busy = [entry for entry, state in states if state.get("running")] or [
        entry for entry, state in states if state.get("stuck")
    ]
    if len(busy) > 1:
        raise NoSession(
            f"say which with --session: {', '.join(entry.label for entry in busy)} run or do not answer"
        )
    return busy[0] if busy else None
