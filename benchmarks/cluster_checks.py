"""What must be true of a cluster after any number of faults: in its database, and on this machine."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg

__all__ = ["Asked", "check_database", "processes_of"]


@dataclass(slots=True)
class Asked:
    """A prompt as its client saw it."""

    session: str
    word: str
    seen: str = ""
    """The text that arrived."""
    outcome: str = ""


@dataclass(slots=True)
class _Turn:
    word: str
    text: str = ""
    ended: bool = False


async def check_database(dsn: str, schema: str, asked: Iterable[Asked]) -> list[str]:
    """What is wrong with the logs, if anything."""
    connection: Any = await asyncpg.connect(dsn, server_settings={"search_path": schema})
    try:
        problems = [*await _check_numbers(connection)]
        sessions: dict[str, list[_Turn]] = {}
        for each in asked:
            if each.session not in sessions:
                sessions[each.session] = await _turns(connection, each.session)
            problems += _compare(each, sessions[each.session])
    finally:
        await connection.close()
    return problems


async def _check_numbers(connection: Any) -> list[str]:
    """Entries without gaps, under epochs that only grow."""
    problems: list[str] = []
    for heads, entries in (("sessions", "events"), ("streams", "frames")):
        query = f"""SELECT h.id FROM (
                SELECT sid, epoch < lag(epoch) OVER (PARTITION BY sid ORDER BY seq) AS back FROM {entries}
            ) e JOIN {heads} h ON h.k = e.sid WHERE e.back"""
        problems += [f"{heads}: the epochs of {row[0]} go back" for row in await connection.fetch(query)]
    query = """SELECT s.id FROM sessions s LEFT JOIN events e ON e.sid = s.k GROUP BY s.id, s.last_seq
        HAVING count(e.seq) <> s.last_seq OR coalesce(max(e.seq), 0) <> s.last_seq"""
    problems += [f"the log of {row[0]} has gaps" for row in await connection.fetch(query)]
    return problems


async def _turns(connection: Any, session: str) -> list[_Turn]:
    query = (
        "SELECT e.kind, e.body FROM events e JOIN sessions s ON s.k = e.sid WHERE s.id = $1 ORDER BY e.seq"
    )
    turns: list[_Turn] = []
    for kind, body in await connection.fetch(query, session):
        update = json.loads(body)
        if kind == "turn":
            turns[-1].ended = True
        elif update["sessionUpdate"] == "user_message_chunk":
            turns.append(_Turn(update["content"]["text"]))
        elif update["sessionUpdate"] == "agent_message_chunk":
            turns[-1].text += update["content"]["text"]
    return turns


def _compare(asked: Asked, turns: list[_Turn]) -> list[str]:
    """Everything that a client has seen is in the log, once."""
    found = [turn for turn in turns if turn.word == asked.word]
    if len(found) != 1:
        return [f"{asked.word} ({asked.outcome}) is in its log {len(found)} times"]
    if asked.outcome == "whole" and found[0].text != asked.seen:
        return [f"{asked.word}: the log has {found[0].text[-100:]!r}, its client saw {asked.seen[-100:]!r}"]
    if not found[0].text.startswith(asked.seen):
        return [f"{asked.word}: its client saw {asked.seen[-100:]!r}, the log has {found[0].text[-100:]!r}"]
    return [] if found[0].ended else [f"{asked.word} ({asked.outcome}) has no end in its log"]


def processes_of(mark: str) -> list[int]:
    """The processes that run `sleep` for this time."""
    pids: list[int] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"sleep") and mark.encode() in words:
            pids.append(int(path.parent.name))
    return pids
