"""`acpella cancel`: stop what runs in a session, from any shell."""

import argparse

from . import exits, owners
from .catalogue import Catalogue
from .lines import say
from .opening import NoSession, resolve
from .status import label

__all__ = ["declare", "run"]


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Cancel the running turn of a session; without NAME, of the last one of this repository."
    )
    add = parser.add_argument
    add("-s", "--session", metavar="NAME", help="the session, by name or id")
    add("--all", action="store_true", help="the prompts that wait, too")
    add("--cwd", default=".", metavar="PATH", help="a directory of the repository")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; gives the exit code."""
    try:
        entry = resolve(Catalogue(), arguments.session, cwd=arguments.cwd)
    except NoSession as error:
        say(str(error))
        return exits.USAGE
    if entry is None:
        say(f"no session {arguments.session or ''}".rstrip() + " in this repository")
        return exits.USAGE
    told = owners.ask(entry.key, "_owner/cancel", {"all": arguments.all})
    if told is None or not (told.get("running") or told.get("queued")):
        say(f"nothing runs in {label(entry)}")
        return exits.DONE
    queued = told.get("queued", 0)
    say(f"cancelled {label(entry)}" + (f" and {queued} that waited" if queued else ""))
    return exits.DONE
