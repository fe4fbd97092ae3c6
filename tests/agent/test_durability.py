"""What was acknowledged is on disk (C17): killed processes, two processes, a full disk."""

import asyncio
import os
import random
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from acpella.agent import Mode
from acpella.errors import ConnectionClosed, RpcError
from agent.child import Child, running
from agent.editor import FakeEditor, Json, agent_of, editing, prompt_params

pytestmark = pytest.mark.anyio

ROUNDS = 200
"""Times that an agent is killed, shared by the databases."""

ENOUGH = 90
"""Seconds after which no further agent is started: on a busy machine each needs several."""

DATABASES = 2


def whole_answer(name: str) -> list[str]:
    """What `program.py stream` says to a prompt."""
    parts = [[f"<{name}.{n}>", f"begin {name}.{n}", f"end {name}.{n}"] for n in range(3)]
    return [*(item for part in parts for item in part), f"<{name}.end>"]


def turns(updates: list[Json]) -> list[tuple[str, list[str]]]:
    """The replayed conversation: each prompt with what was answered."""
    found: list[tuple[str, list[str]]] = []
    titles: dict[str, str] = {}
    for update in updates:
        match update["sessionUpdate"]:
            case "user_message_chunk":
                found.append((update["content"]["text"], []))
            case "agent_message_chunk":
                found[-1][1].append(update["content"]["text"])
            case "tool_call":
                titles[update["toolCallId"]] = update["title"].removeprefix("tool ")
                found[-1][1].append(f"begin {titles[update['toolCallId']]}")
            case "tool_call_update":
                found[-1][1].append(f"end {titles[update['toolCallId']]}")
    return found


class Witness:
    """Knows what an agent was told and what it has acknowledged, and looks for it in replays."""

    def __init__(self) -> None:
        self.sent: dict[str, list[str]] = {}
        self.acknowledged: set[str] = set()
        self.lives = 0

    def check(self, session: str, replayed: list[tuple[str, list[str]]]) -> None:
        names = [name for name, _ in replayed]
        sent = self.sent[session]
        assert len(set(names)) == len(names), "a prompt came twice"
        assert names == [name for name in sent if name in set(names)], "prompts came out of order"
        missing = [name for name in sent if name in self.acknowledged and name not in names]
        assert not missing, f"acknowledged and lost: {missing}"
        for name, answer in replayed:
            whole = whole_answer(name)
            if name in self.acknowledged:
                assert answer == whole, f"{name} was acknowledged"
            else:
                assert answer == whole[: len(answer)], f"{name} was cut off"


async def converse(
    child: Child, witness: Witness, session: str, life: str, answered: asyncio.Semaphore
) -> None:
    """Prompts until the agent dies; counts the answers."""
    for count in range(1000):
        name = f"{life}-{count}"
        witness.sent[session].append(name)
        try:
            answer = await child.connection.call("session/prompt", prompt_params(session, name))
        except ConnectionClosed:
            return
        assert answer == {"stopReason": "end_turn"}
        witness.acknowledged.add(name)
        answered.release()


async def one_life(database: Path, witness: Witness, number: int, chance: random.Random) -> None:
    """Start an agent, check what it kept, talk to it in one or two sessions, kill it at some moment."""
    async with running("stream", str(database)) as child:
        sessions = chance.sample(sorted(witness.sent), min(len(witness.sent), 2))
        if number % 10 == 0:
            sessions = [await child.new()]
            witness.sent[sessions[0]] = []
        for session in sessions:
            child.forget()
            if session in witness.sent and witness.sent[session]:
                await child.load(session)
                witness.check(session, turns(child.updates()))
        answered = asyncio.Semaphore(0)
        talks = [
            asyncio.create_task(converse(child, witness, session, f"life{number}-talk{n}", answered))
            for n, session in enumerate(sessions)
        ]
        async with asyncio.timeout(ENOUGH):
            for _ in range(chance.randrange(4)):
                await answered.acquire()
        await asyncio.sleep(chance.random() * 0.02)  # any moment
        child.process.kill()
        await asyncio.gather(*talks)
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


async def test_nothing_acknowledged_is_lost_however_often_the_agent_is_killed(tmp_path: Path) -> None:
    """Stop reason sent ⇒ the turn is on disk, once and in order."""

    async def lives(database: Path) -> Witness:
        witness, chance = Witness(), random.Random()
        until = asyncio.get_running_loop().time() + ENOUGH
        while witness.lives < ROUNDS // DATABASES and asyncio.get_running_loop().time() < until:
            await one_life(database, witness, witness.lives, chance)
            witness.lives += 1
        async with running("stream", str(database)) as child:
            for session in witness.sent:
                child.forget()
                await child.load(session)
                witness.check(session, turns(child.updates()))
        return witness

    witnesses = await asyncio.gather(*(lives(tmp_path / f"{n}.db") for n in range(DATABASES)))
    acknowledged = sum(len(witness.acknowledged) for witness in witnesses)
    sent = sum(len(names) for witness in witnesses for names in witness.sent.values())
    kills = sum(witness.lives for witness in witnesses)
    assert acknowledged > kills / 2, "the agents were killed too early to tell anything"
    assert sent - acknowledged > kills / 2, "the agents were killed too late to tell anything"


# -- two processes ----------------------------------------------------------------------


async def test_a_session_belongs_to_one_process_at_a_time(tmp_path: Path) -> None:
    database = str(tmp_path / "s.db")
    async with running("reply", database) as one, running("reply", database) as other:
        mine, theirs = await one.new(), await other.new()
        await asyncio.gather(one.prompt(mine, "count a"), other.prompt(theirs, "count b"))
        assert len((await one.call("session/list"))["sessions"]) == 2
        for method in ("session/load", "session/resume"):
            with pytest.raises(RpcError) as caught:
                await other.load(mine, method)
            assert caught.value.code == -32600
            assert f"pid {one.process.pid}" in caught.value.message
        assert (await other.fails("session/delete", {"sessionId": mine})).code == -32600
        assert (await other.load(mine, "session/fork"))["sessionId"] != mine
        await one.prompt(mine, "count a")
        assert one.said(mine) == "a 1a 2"
        await one.close_stdin()
        await one.exit_code()
        await other.load(mine)
        await other.prompt(mine, "count a")
        assert other.said(mine) == "a 1a 2a 3"


async def test_a_session_is_free_when_it_is_closed_or_its_process_was_killed(tmp_path: Path) -> None:
    database = str(tmp_path / "s.db")
    async with running("reply", database) as one, running("reply", database) as other:
        closed, killed = await one.new(), await one.new()
        await one.prompt(closed, "count a")
        await one.prompt(killed, "count b")
        await one.call("session/close", {"sessionId": closed})
        await other.load(closed)
        one.process.kill()
        await one.exit_code()
        await other.load(killed)
        await other.prompt(killed, "count b")
        assert other.said(killed) == "b 1b 2"


async def test_two_processes_write_side_by_side(tmp_path: Path) -> None:
    database = str(tmp_path / "s.db")
    async with running("reply", database, patience=30) as one, running("reply", database) as other:

        async def talk(child: Child) -> None:
            session = await child.new()
            for number in range(1, 41):
                await child.prompt(session, "count x")
                assert child.said(session).endswith(f"x {number}")

        await asyncio.gather(talk(one), talk(other), talk(one), talk(other))


# -- a full disk ------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one megabyte."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)], capture_output=True, text=True
    )
    if mounted.returncode != 0:
        pytest.skip(f"no small disk here: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", str(place)], check=True)


async def fill(editor: FakeEditor, session: str) -> tuple[list[str], RpcError]:
    """Prompts until the disk is full: those that were acknowledged, and the error."""
    acknowledged: list[str] = []
    while True:
        name = f"p{len(acknowledged)}"
        try:
            await editor.prompt(session, name)
        except RpcError as error:
            return acknowledged, error
        acknowledged.append(name)


async def test_a_full_disk_is_told_and_the_session_goes_on_when_there_is_room(small_disk: Path) -> None:
    async def reply(turn: Any) -> Any:
        turn.session.state["last"] = turn.text
        yield f"answer to {turn.text} "
        if turn.text != "small":
            yield "x" * 20_000

    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(400_000))
    modes = [Mode("a", "A"), Mode("b", "B")]
    agent = agent_of(reply, store=small_disk / "s.db", modes=modes)
    async with editing(agent, patience=30) as editor:
        session = await editor.new()
        acknowledged, error = await fill(editor, session)
        assert acknowledged
        assert error.code == -32603
        assert "disk is full" in error.message and str(small_disk) in error.message
        with small_disk.joinpath("rest").open("wb", buffering=0) as rest:
            for size in (4096, 1):
                try:
                    while rest.write(bytes(size)):
                        pass
                except OSError:
                    pass
        refused = await editor.fails("session/set_mode", {"sessionId": session, "modeId": "b"})
        if refused.code == -32603:
            assert "disk" in refused.message
        assert (await editor.call("session/list"))["sessions"][0]["sessionId"] == session
        small_disk.joinpath("rest").unlink()
        ballast.unlink()
        assert await editor.prompt(session, "small") == "end_turn"
        editor.forget()
        answer = await editor.load(session)
        assert answer["modes"]["currentModeId"] == "a"
        said = editor.said()
        for name in [*acknowledged, "small"]:
            assert said.count(f"answer to {name} ") == 1
        state = (await editor.call("_session/get", {"sessionId": session}))["state"]
        assert state == {"last": "small"}
    with closing(sqlite3.connect(small_disk / "s.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


async def test_an_agent_that_ends_on_a_full_disk_loses_nothing_acknowledged(small_disk: Path) -> None:
    async def reply(turn: Any) -> Any:
        yield f"answer to {turn.text} " + "x" * 20_000

    path = small_disk / "s.db"
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(300_000))
    async with editing(agent_of(reply, store=path), patience=30) as editor:
        session = await editor.new()
        acknowledged, _ = await fill(editor, session)
    ballast.unlink()
    async with editing(agent_of(reply, store=path)) as editor:
        await editor.load(session)
        for name in acknowledged:
            assert editor.said().count(f"answer to {name} ") == 1
