"""`acpella status`: what runs in the sessions of this repository."""

import argparse
from typing import Any

from .. import exits
from ..daemon import client as daemon
from ..daemon.address import sweep
from ..daemon.unattended import results
from ..session.lookup import matching
from ..state import paths
from ..state.catalogue import Catalogue, SessionEntry
from ..terminal.output import ago, one_line, say, show, show_json

__all__ = ["declare", "run"]

SHOWN = 20
"""Sessions that are listed; `acpella sessions list` has them all."""

SHOWN_LEFT = 3
"""Prompts left with --no-wait that are listed for a session; `--json` has them all."""


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Show what is going on in this repository: sessions that have a name or are alive, what runs in "
        "them, what waits, and how prompts ended that were left with --no-wait."
    )
    add = parser.add_argument
    add("-s", "--session", metavar="NAME", help="this session only, by name or id")
    add("--all", action="store_true", help="of every repository")
    add("--stop", action="store_true", help="end the processes that keep the sessions alive")
    add("--pid", action="store_true", help="only the process ids of the agents, one in a line")
    add("--json", action="store_true", help="as JSON")
    add("--cwd", default=".", metavar="PATH", help="a directory of the repository")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    catalogue = Catalogue()
    sweep()
    root = None if arguments.all else str(paths.repository(arguments.cwd))
    entries = catalogue.entries(root=root)
    if arguments.session:
        entries = matching(entries, arguments.session)
        if not entries:
            say(f"no session {arguments.session!r} in this repository; `acpella sessions list` shows them")
            return exits.USAGE
    if arguments.stop:
        stopped = [entry for entry in entries if daemon.stop(entry.key)]
        say(f"ended {', '.join(entry.label for entry in stopped)}" if stopped else "nothing was running")
        return exits.DONE
    states = [(entry, _describe(entry)) for entry in entries]
    if not arguments.session:  # a single prompt that has ended is of no interest, `sessions list` has it
        states = [(entry, state) for entry, state in states if entry.name or state["alive"] or state["left"]]
    states = states[:SHOWN]
    if arguments.json:
        show_json([state for _, state in states])
        return exits.DONE
    if arguments.pid:
        running = [str(state["agentPid"]) for _, state in states if state["agentPid"]]
        if running:
            show("\n".join(running))
        else:
            say("no agent runs here")
        return exits.DONE
    for entry, state in states:
        _show(entry, state, everywhere=arguments.all)
    if not states and entries:
        say("nothing runs or waits here; `acpella sessions list` shows the sessions that there were")
    elif not states:
        say("no sessions here yet; `acpella run -s NAME` begins one that stays")
    return exits.DONE


def _describe(entry: SessionEntry) -> dict[str, Any]:
    state = daemon.status(entry.key)
    return {
        "name": entry.name or None,
        "sessionId": entry.session_id,
        "agent": entry.agent,
        "root": entry.root,
        "title": entry.title,
        "alive": state is not None,
        "stuck": bool(state and state.get("stuck")),
        "pid": (state.get("pid") or daemon.pid_of(entry.key)) if state else None,
        "agentPid": daemon.agent_pid_of(entry.key) if state else None,
        "running": state.get("running") if state else None,
        "queue": state.get("queue", []) if state else [],
        "lastActivity": (state or {}).get("lastActivity") or entry.updated_at,
        "left": [
            {
                "prompt": result.prompt,
                "at": result.at,
                "stopReason": result.stop_reason or None,
                "error": result.error or None,
                "text": result.text,
            }
            for result in results(entry.key)
        ],
    }


def _show(entry: SessionEntry, state: dict[str, Any], *, everywhere: bool) -> None:
    doing = "asleep"
    process = f" (agent: process {state['agentPid']})" if state["agentPid"] else ""
    if state["stuck"]:
        doing = f"does not answer (process {state['pid']})"
    elif state["running"]:
        running = state["running"]
        verb = "cancelling" if running.get("cancelling") else "running"
        since = ago(running["since"]).removesuffix(" ago")
        doing = f"{verb} since {since}{process}: {one_line(running['prompt'])}"
    elif state["alive"]:
        doing = f"ready{process}"
    where = f"  {entry.root}" if everywhere else ""
    show(f"{one_line(entry.label)}  {entry.agent}  {ago(state['lastActivity'])}  {doing}{where}")
    for number, waiting in enumerate(state["queue"], 1):
        show(f"  {number}. waits: {one_line(waiting['prompt'])}")
    results_shown = _worth_showing(state["left"])
    for left in results_shown:
        reason = left["stopReason"]
        end = (left["error"] or left["text"] or "").strip().splitlines()
        outcome = one_line(end[0], 100) if end else (reason or "")
        why = f" ({reason})" if end and not left["error"] and reason != "end_turn" else ""
        show(f"  {_mark(left)} {ago(left['at'])}: {one_line(left['prompt'])} → {outcome}{why}")
    if more := len(state["left"]) - len(results_shown):
        show(f"  … {more} more; `acpella status --json` shows all")


def _mark(left: dict[str, Any]) -> str:
    """As `run` would have ended: ✓ for the code 0, · for what was cut short, ✗ for what failed."""
    if left["error"] or left["stopReason"] == "refusal":
        return "✗"
    return "✓" if left["stopReason"] == "end_turn" else "·"


def _worth_showing(left: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The last few, in order; what went wrong does not disappear behind what went well."""
    failed = [n for n, one in enumerate(left) if _mark(one) == "✗"][1 - SHOWN_LEFT :]
    others = [n for n in range(len(left)) if n not in failed][len(failed) - SHOWN_LEFT :]
    return [left[n] for n in sorted([*failed, *others])]
