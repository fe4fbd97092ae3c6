"""`acpella sessions`: list, show, move, copy, end and delete conversations."""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from acpella.errors import AuthRequired, MethodNotFound, RpcError, Unsupported

from .. import exits
from ..daemon import client as daemon
from ..daemon.address import sweep
from ..failures import guarded, report
from ..session.lookup import NoSession, check_name, check_no_id, find_settings, new_entry, resolve
from ..state import paths
from ..state.catalogue import Catalogue, SessionEntry, new_key, now
from ..terminal.output import ago, columns, say, show, show_json

__all__ = ["declare", "run"]


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Conversations of this repository. SESSION is a name, an id, or the start of an id; without it, the "
        "last one. With --agent it may be any id that the agent knows."
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    def action(name: str, what: str, *, session: bool = True) -> argparse.ArgumentParser:
        sub = actions.add_parser(name, help=what, description=what.capitalize() + ".")
        if session:
            sub.add_argument(
                "session",
                nargs="?",
                metavar="SESSION",
                help="its name, its id or the start of its id; without it, the last one",
            )
        sub.add_argument("-a", "--agent", metavar="NAME|COMMAND", help="the agent that has the session")
        sub.add_argument("--settings", metavar="PATH", help="the settings file")
        sub.add_argument("--cwd", default=".", metavar="PATH", help="a directory of the repository")
        return sub

    listing = action(
        "list", "sessions, the last used first; with --agent, those it knows of too", session=False
    )
    listing.add_argument("--all", action="store_true", help="of every repository")
    listing.add_argument("--json", action="store_true", help="as JSON")
    action("show", "print a conversation")
    exporting = action("export", "write a conversation as one JSON document")
    exporting.add_argument("-o", "--output", metavar="PATH", help="the file; default: stdout")
    importing = action("import", "give a conversation that was exported to an agent", session=False)
    importing.add_argument("file", metavar="FILE", help="the document; - for stdin")
    importing.add_argument("-s", "--session", dest="name", metavar="NAME", help="a name for it here")
    action("delete", "delete a session, at its agent and here")
    forking = action("fork", "copy a session, to go on from there in two ways")
    forking.add_argument("-s", "--session", dest="name", metavar="NAME", help="a name for the copy")
    action("close", "end the process that keeps a session alive; the session stays")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    work = {
        "list": _list,
        "show": _show,
        "export": _export,
        "import": _import,
        "delete": _delete,
        "fork": _fork,
        "close": _close,
    }[arguments.action]
    sweep()
    return guarded(lambda: work(arguments))


def _wanted(arguments: argparse.Namespace, catalogue: Catalogue) -> SessionEntry:
    """The session that the command is about. Raises `NoSession`."""
    entry = resolve(catalogue, arguments.session, cwd=arguments.cwd)
    if entry is not None:
        return entry
    if arguments.agent and arguments.session:
        settings = find_settings(arguments.settings, arguments.cwd, agent=arguments.agent)
        entry = new_entry(settings, cwd=arguments.cwd, agent=arguments.agent)
        entry.session_id = arguments.session
        return entry
    what = f"no session {arguments.session!r}" if arguments.session else "no session in this repository yet"
    raise NoSession(f"{what}; `acpella sessions list --all` shows all, --agent names the agent of others")


# -- list -----------------------------------------------------------------------------------------


async def _list(arguments: argparse.Namespace) -> int:
    root = None if arguments.all else str(paths.repository(arguments.cwd))
    settings = find_settings(arguments.settings, arguments.cwd, agent=arguments.agent)
    catalogue = Catalogue()
    rows = [_row(entry) for entry in catalogue.entries(root=root)]
    code = exits.DONE
    if arguments.agent:
        name = new_entry(settings, cwd=arguments.cwd, agent=arguments.agent).agent
        rows = [row for row in rows if row["agent"] == name]
        try:
            rows = await _with_those_of_agent(arguments, settings, name, root, rows)
        except Unsupported as error:
            say(f"{error}; these are the sessions that were used from here")
        except Exception as error:
            code = report(error)
    rows.sort(key=lambda row: str(row["updatedAt"] or ""), reverse=True)
    if arguments.json:
        show_json(rows)
    elif rows:
        columns([_cells(row, everywhere=arguments.all) for row in rows])
    elif code == exits.DONE:
        say("no sessions here yet; `acpella run` begins one")
    return code


async def _with_those_of_agent(
    arguments: argparse.Namespace, settings: Any, name: str, root: str | None, rows: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """What is remembered here, and what the agent knows besides.

    Behind a URL, what the agent lists is all there is: what was used from here may be another user's.
    """
    from acpella.client.targets import find_endpoint

    from ..session.connecting import started

    async with started(arguments.agent, settings) as agent:
        listed = await agent.list_sessions()
    if find_endpoint(arguments.agent, settings=settings) is not None:
        there = {info.session_id for info in listed}
        rows = [row for row in rows if row["sessionId"] in there]
    seen = {row["sessionId"] for row in rows}
    return rows + [
        {
            "sessionId": info.session_id,
            "name": None,
            "agent": name,
            "title": info.title or "",
            "cwd": info.cwd,
            "root": None,
            "updatedAt": info.updated_at,
            "alive": False,
        }
        for info in listed
        if info.session_id not in seen and (root is None or _inside(info.cwd, root))
    ]


def _inside(cwd: str, root: str) -> bool:
    place = os.path.realpath(cwd)
    return place == root or place.startswith(root.rstrip(os.sep) + os.sep)


def _row(entry: SessionEntry) -> dict[str, Any]:
    return {
        "sessionId": entry.session_id,
        "name": entry.name or None,
        "agent": entry.agent,
        "title": entry.title,
        "cwd": entry.cwd,
        "root": entry.root,
        "updatedAt": entry.updated_at,
        "alive": daemon.status(entry.key) is not None,
    }


def _cells(row: dict[str, Any], *, everywhere: bool) -> tuple[str, ...]:
    when = ago(row["updatedAt"]) if row["updatedAt"] else ""
    mark = "*" if row["alive"] else " "
    where = (row["root"] or row["cwd"],) if everywhere else ()
    return (mark, row["name"] or "-", row["sessionId"], row["agent"], when, *where, row["title"] or "")


# -- show, export ------------------------------------------------------------------------------------


async def _show(arguments: argparse.Namespace) -> int:
    from ..daemon.unattended import results
    from ..session.connecting import reached
    from ..terminal.transcript import Transcript

    entry = _wanted(arguments, Catalogue())
    async with reached(entry, agent=arguments.agent) as agent:
        transcript = Transcript()
        try:
            await agent.load_session(entry.session_id, entry.cwd, on_update=transcript.update)
            if not transcript.anything:
                say(f"{entry.agent} told nothing of this conversation")
        except Unsupported:
            left = results(entry.key)
            if not left:
                raise
            say(f"{entry.agent} does not load sessions; this is what --no-wait has left")
            for result in left:
                show(f"> {result.prompt}\n{result.error or result.text}\n")
            return exits.DONE
        transcript.end()
    return exits.DONE


async def _export(arguments: argparse.Namespace) -> int:
    from ..session.connecting import reached

    entry = _wanted(arguments, Catalogue())
    async with reached(entry, agent=arguments.agent) as agent:
        document = await _exported(agent, entry) or await _replayed(agent, entry)
    if arguments.output in (None, "-"):
        show_json(document, indent=1)
        return exits.DONE
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    path = Path(arguments.output)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)  # a conversation is private
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    say(f"wrote {entry.label} to {path}")
    return exits.DONE


async def _exported(agent: Any, entry: SessionEntry) -> dict[str, Any] | None:
    """The agent's own document; None if it makes none, whatever it answers to such a call."""
    from acpella.sessions import InvalidDocument, import_session

    try:
        document = await agent.extension("_session/export", {"sessionId": entry.session_id})
        import_session(document)
    except AuthRequired:
        raise
    except (RpcError, InvalidDocument):
        return None
    return document


async def _replayed(agent: Any, entry: SessionEntry) -> dict[str, Any]:
    """The document of a session whose agent cannot make one: what a load replays."""
    from acpella.schema import methods

    updates: list[Any] = []
    await agent.load_session(entry.session_id, entry.cwd, on_update=updates.append)
    if not updates:
        raise Unsupported(f"{entry.agent} told nothing of this conversation, so there is nothing to export")
    encode = methods.CLIENT.encoder.encode
    return {
        "format": "acpella.session",
        "version": 1,
        "session": {
            "cwd": entry.cwd,
            "title": entry.title or None,
            "createdAt": entry.created_at or now(),
            "updatedAt": entry.updated_at or now(),
            "state": {},
            "settings": {},
        },
        "events": [{"kind": "update", "body": json.loads(encode(update))} for update in updates],
    }


# -- import, fork, delete, close ------------------------------------------------------------------------


def _document(arguments: argparse.Namespace) -> dict[str, Any]:
    """What is to be imported, checked before an agent is started; it is about this directory from now on."""
    from acpella.sessions import import_session

    try:
        text = sys.stdin.read() if arguments.file == "-" else Path(arguments.file).read_text(encoding="utf-8")
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{arguments.file} is not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{arguments.file} cannot be read: {error}") from None
    import_session(document)
    document["session"]["cwd"] = os.path.abspath(arguments.cwd)
    return document


async def _import(arguments: argparse.Namespace) -> int:
    from ..session.connecting import started
    from ..state.agents import default_agent

    document = _document(arguments)
    settings = find_settings(arguments.settings, arguments.cwd, agent=arguments.agent)
    target = arguments.agent or default_agent(settings)
    entry = new_entry(settings, cwd=arguments.cwd, agent=target, name=arguments.name or "")
    catalogue = Catalogue()
    _check_free(catalogue, entry)
    async with started(target, settings) as agent:
        try:
            answer = await agent.extension("_session/import", {"document": document})
        except MethodNotFound:
            raise Unsupported(f"{agent.name} cannot import sessions") from None
    entry.session_id = str(answer["sessionId"])
    entry.title = document["session"].get("title") or ""
    return _made(catalogue, entry)


async def _fork(arguments: argparse.Namespace) -> int:
    from ..session.connecting import reached

    catalogue = Catalogue()
    entry = _wanted(arguments, catalogue)
    copy = SessionEntry(
        key=new_key(),
        root=entry.root,
        cwd=entry.cwd,
        agent=entry.agent,
        target=entry.target,
        settings=entry.settings,
        where=entry.where,
        name=arguments.name or "",
        title=entry.title,
    )
    _check_free(catalogue, copy)
    async with reached(entry, agent=arguments.agent) as agent:
        forked = await agent.fork_session(entry.session_id, entry.cwd)
        if agent.capabilities.session_capabilities.close is not None:
            await forked.close()  # so that another process can open it
    copy.session_id = forked.id
    return _made(catalogue, copy)


def _check_free(catalogue: Catalogue, entry: SessionEntry) -> None:
    if not entry.name:
        return
    check_name(entry.name)
    check_no_id(catalogue.entries(), entry.name, entry.root)
    there = catalogue.named(entry.root, entry.name)
    if there is not None and there.session_id:
        raise NoSession(f"there is a session {entry.name!r} in this repository already; choose another name")


def _made(catalogue: Catalogue, entry: SessionEntry) -> int:
    try:
        catalogue.add(entry)
    except OSError as error:
        say(f"the session cannot be remembered here: {error}")
    show(entry.session_id)
    return exits.DONE


async def _delete(arguments: argparse.Namespace) -> int:
    from ..session.connecting import reached

    if arguments.session is None:
        raise NoSession("say which session to delete; `acpella sessions list` shows them")
    catalogue = Catalogue()
    entry = _wanted(arguments, catalogue)
    daemon.stop(entry.key)
    try:
        async with reached(entry, agent=arguments.agent) as agent:
            await agent.delete_session(entry.session_id)
    except Unsupported as error:
        say(f"{error}; {entry.label} is forgotten here, the agent may still have it")
    catalogue.remove(entry.key)
    for file in paths.daemons().glob(f"{entry.key}.*"):
        file.unlink(missing_ok=True)
    say(f"deleted {entry.label}")
    return exits.DONE


async def _close(arguments: argparse.Namespace) -> int:
    entry = _wanted(arguments, Catalogue())
    say(f"ended {entry.label}" if daemon.stop(entry.key) else f"{entry.label} was not running")
    return exits.DONE
