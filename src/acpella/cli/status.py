"""`acpella status`: what runs in the sessions of this repository."""

import argparse
from typing import Any

from . import exits, owners, places
from .background import results
from .catalogue import Catalogue, Entry
from .lines import ago, say, show, show_json

__all__ = ["declare", "run"]

SHOWN = 20
"""Sessions that are listed; `acpella sessions list` has them all."""


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Show the sessions of this repository: which are kept alive, what runs in them, what waits, and "
        "how prompts ended that were left with --no-wait."
    )
    add = parser.add_argument
    add("-s", "--session", metavar="NAME", help="this session only")
    add("--all", action="store_true", help="of every repository")
    add("--stop", action="store_true", help="end the processes that keep the sessions alive")
    add("--json", action="store_true", help="as JSON")
    add("--cwd", default=".", metavar="PATH", help="a directory of the repository")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; gives the exit code."""
    catalogue = Catalogue()
    owners.sweep()
    root = None if arguments.all else str(places.repository(arguments.cwd))
    entries = catalogue.entries(root=root)
    if arguments.session:
        entries = [entry for entry in entries if entry.name == arguments.session]
        if not entries:
            say(f"no session {arguments.session!r} in this repository; `acpella sessions list` shows them")
            return exits.USAGE
    if arguments.stop:
        stopped = [entry for entry in entries if owners.stop(entry.key)]
        say(f"ended {', '.join(label(entry) for entry in stopped)}" if stopped else "nothing was running")
        return exits.DONE
    told = [_describe(entry) for entry in entries[:SHOWN]]
    if arguments.json:
        show_json(told)
        return exits.DONE
    for entry, state in zip(entries, told, strict=False):
        _show(entry, state, everywhere=arguments.all)
    if not told:
        say("no sessions here yet; `acpella run -s NAME` begins one that stays")
    return exits.DONE


def label(entry: Entry) -> str:
    return entry.name or entry.session_id


def _describe(entry: Entry) -> dict[str, Any]:
    state = owners.ask(entry.key, "_owner/status")
    return {
        "name": entry.name or None,
        "sessionId": entry.session_id,
        "agent": entry.agent,
        "root": entry.root,
        "title": entry.title,
        "alive": state is not None,
        "stuck": bool(state and state.get("stuck")),
        "pid": state.get("pid") if state else None,
        "running": state.get("running") if state else None,
        "queue": state.get("queue", []) if state else [],
        "lastActivity": (state or {}).get("lastActivity") or entry.updated_at,
        "left": [
            {
                "prompt": kept.prompt,
                "at": kept.at,
                "stopReason": kept.stop_reason or None,
                "error": kept.error or None,
                "text": kept.text,
            }
            for kept in results(entry.key)
        ],
    }


def _show(entry: Entry, state: dict[str, Any], *, everywhere: bool) -> None:
    doing = "asleep"
    if state["stuck"]:
        doing = "does not answer"
    elif state["running"]:
        running = state["running"]
        verb = "cancelling" if running.get("cancelling") else "running"
        doing = f"{verb} since {ago(running['since']).removesuffix(' ago')}: {running['prompt']}"
    elif state["alive"]:
        doing = "ready"
    where = f"  {entry.root}" if everywhere else ""
    show(f"{label(entry)}  {entry.agent}  {ago(state['lastActivity'])}  {doing}{where}")
    for number, waiting in enumerate(state["queue"], 1):
        show(f"  {number}. waits: {waiting['prompt']}")
    for left in state["left"][-3:]:
        mark = "✗" if left["error"] else "✓"
        end = (left["error"] or left["text"] or left["stopReason"] or "").strip().splitlines()
        show(f"  {mark} {ago(left['at'])}: {left['prompt']} → {end[0][:100] if end else ''}")
