"""Two servers on one PostgreSQL database: what each must know of the other's clients."""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import httpx2
import pytest
from serving import EVENTS, Http, Talker, eventually, refused, serving, socket, texts, ws_url

from acpella.server import AuthHook, Credential, Requester, Runner, Tokens
from acpella.server.cluster import member
from acpella.server.cluster.home import ClusterHome
from acpella.server.connection import table
from acpella.sessions import Lease
from acpella.sessions._postgres_cluster import PostgresCluster
from postgres import PostgresServer

pytestmark = pytest.mark.anyio

ALICE = "a" * 32

LEASE = 60.0
"""Seconds: no node of these tests is to be taken for dead, however busy the machine is."""


@asynccontextmanager
async def two_nodes(
    server: PostgresServer, schema: str, auth: Callable[[], AuthHook | None] = lambda: None
) -> AsyncGenerator[tuple[Runner, Runner, Talker]]:
    """Both of them, and the agent of the first."""
    address = f"{server.dsn()}&schema={schema}"
    async with AsyncExitStack() as stack:
        talkers = [Talker(store=address) for _ in range(2)]
        first, second = [
            await stack.enter_async_context(
                serving(talker, auth=auth(), limits={"node_name": name, "lease_seconds": LEASE})
            )
            for name, talker in zip(("one", "two"), talkers, strict=True)
        ]
        yield first, second, talkers[0]


def metric(runner: Runner, name: str) -> float:
    return runner.app.metrics.value(name)


@asynccontextmanager
async def elsewhere(client: Http, runner: Runner) -> AsyncGenerator[Http]:
    """The same connection, at another node."""
    async with Http(runner.url, client.headers) as other:
        other.connection = client.connection
        yield other


# -- tickets -----------------------------------------------------------------------------------------


def write(path: Path, *lines: str) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    path.chmod(0o600)


async def ticket_of(runner: Runner, headers: dict[str, str]) -> str:
    async with httpx2.AsyncClient() as http:
        return (await http.post(runner.url + "/ticket", headers=headers)).json()["ticket"]


async def test_a_ticket_counts_once_on_every_node(
    postgres_server: PostgresServer, schema: str, tmp_path: Path
) -> None:
    """One node gives it, and whichever the page reaches takes it. The database has its hash alone."""
    write(file := tmp_path / "tokens", f"alice {ALICE}")
    token = {"Authorization": f"Bearer {ALICE}"}
    async with two_nodes(postgres_server, schema, lambda: Tokens.from_file(file)) as (first, second, _):
        ticket = await ticket_of(first, token)
        assert re.fullmatch("[0-9a-f]{64}", ticket)
        database = await asyncpg.connect(postgres_server.dsn(), server_settings={"search_path": schema})
        rows = str(await database.fetch("SELECT encode(digest, 'hex'), encode(body, 'escape') FROM tickets"))
        assert "alice" in rows and ticket not in rows and ALICE not in rows
        async with socket(ws_url(second, f"?ticket={ticket}")) as client:
            assert await client.start()
        for runner in (first, second):
            assert await refused(ws_url(runner, f"?ticket={ticket}")) == 401
            assert await refused(ws_url(runner, f"?ticket={'0' * 64}")) == 401
        late = await ticket_of(second, token)
        await database.execute("UPDATE tickets SET valid_until = clock_timestamp()")
        assert await refused(ws_url(first, f"?ticket={late}")) == 401
        await database.close()
        async with httpx2.AsyncClient(headers=token) as http:
            answers = [(await http.post(first.url + "/ticket")).status_code for _ in range(65)]
        assert answers == [200] * 64 + [429]


async def test_a_ticket_ends_with_its_token_on_every_node(
    postgres_server: PostgresServer, schema: str, tmp_path: Path
) -> None:
    """Its scopes are those of the token, and who was let in with it is cut off when the token is revoked."""
    write(file := tmp_path / "tokens", f"alice {ALICE} scopes=read", f"alice {'b' * 32}")
    token = {"Authorization": f"Bearer {ALICE}"}
    async with two_nodes(postgres_server, schema, lambda: Tokens.from_file(file)) as (first, second, _):
        ticket, spare = await ticket_of(first, token), await ticket_of(first, token)
        async with socket(ws_url(second, f"?ticket={ticket}")) as client:
            await client.call(0, "initialize", {"protocolVersion": 1, "clientCapabilities": {}})
            refusal = await client.call(1, "session/new", {"cwd": "/tmp", "mcpServers": []})
            assert refusal["error"]["data"] == {"scope": "prompt"}
            write(file, f"alice {'b' * 32}")
            assert await client.closed() == 1008
        assert await refused(ws_url(second, f"?ticket={spare}")) == 401


async def test_tickets_of_a_hook_are_shared_unless_only_it_knows_when_they_end(
    postgres_server: PostgresServer, schema: str
) -> None:
    def check(request: Requester) -> Credential | None:
        user = request.headers.get("x-user", "")
        return Credential(user, revoked=(lambda: False) if user == "bob" else None) if user else None

    async with two_nodes(postgres_server, schema, lambda: check) as (first, second, _):
        async with socket(ws_url(second, f"?ticket={await ticket_of(first, {'X-User': 'alice'})}")) as client:
            assert await client.start()
        ticket = await ticket_of(first, {"X-User": "bob"})
        assert await refused(ws_url(second, f"?ticket={ticket}")) == 401
        async with socket(ws_url(first, f"?ticket={ticket}")) as client:
            assert await client.start()


# -- cursors, storms, figures --------------------------------------------------------------------------


async def test_a_cursor_of_another_generation_is_told_by_every_node(
    postgres_server: PostgresServer, schema: str
) -> None:
    """`resync`, never silence: at the connection's home, and at a node that reads it from the database."""
    async with two_nodes(postgres_server, schema) as (first, second, _), Http(first.url) as client:
        await client.initialize(Acpella_Resume="1")
        async with client.stream(Acpella_Resume="1") as stream:
            await client.new(stream)
        for runner in (first, second):
            async with elsewhere(client, runner) as there:
                for last in ("ffffffff-1", "nonsense"):
                    async with there.stream(Acpella_Resume="1", Last_Event_ID=last) as stream:
                        assert (await stream.next()).kind == "resync", (runner.url, last)


async def come_back(runner: Runner, connection: dict[str, str], session: str) -> None:
    """Open the stream of a session, and go again once it is granted."""
    host = runner.url.split("/")[2]
    reader, writer = await asyncio.open_connection(*host.split(":"))
    headers = {"Host": host, **EVENTS, **connection, "Acp-Session-Id": session, "Acpella-Resume": "1"}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"GET /acp HTTP/1.1\r\n{lines}\r\n".encode())
    assert b" 200 " in await reader.readline()
    writer.close()
    await writer.wait_closed()


async def test_1000_reconnects_one_agent(postgres_server: PostgresServer, schema: str) -> None:
    """To come back is to read: one turn of one agent goes on through all of it, and is seen once."""
    async with two_nodes(postgres_server, schema) as (first, second, talker), Http(first.url) as client:
        await client.initialize(Acpella_Resume="1")
        async with client.stream(Acpella_Resume="1") as stream:
            session = await client.new(stream)
        await client.prompt(session, "wait")
        await talker.started.wait()
        async with elsewhere(client, second) as there:
            for number in range(1000):
                await come_back(second if number % 50 == 0 else first, client.connection, session)
            talker.go.set()
            async with there.stream(session, Acpella_Resume="1") as stream:
                seen = await stream.until_answer("p")
        assert "".join(texts(seen)) == "waitinggone on"
        assert talker.ended == ["wait"]
        for runner, opened in ((first, 1), (second, 0)):
            assert metric(runner, "acpella_cluster_connections") == opened
            assert metric(runner, "acpella_cluster_takeovers_total") == 0


async def test_a_node_that_takes_its_own_connection_back_waits_for_its_old_turn(
    postgres_server: PostgresServer, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It lost the lease for a moment. The turn that ran must have ended before the next prompt begins."""
    talker = Talker(store=f"{postgres_server.dsn()}&schema={schema}")
    alone = serving(talker, limits={"node_name": "one", "lease_seconds": LEASE})
    async with alone as runner, Http(runner.url) as client:
        await client.initialize(Acpella_Resume="1")
        async with client.stream(Acpella_Resume="1") as stream:
            session = await client.new(stream)
        await client.prompt(session, "linger")
        await talker.started.wait()
        (connection,) = runner.app.connections
        assert isinstance(connection.home, ClusterHome)
        ended_before: list[list[str]] = []  # each time that something was taken
        take = PostgresCluster.take

        async def watched(self: PostgresCluster, target: str, **options: Any) -> Lease:
            ended_before.append(list(talker.ended))
            return await take(self, target, **options)

        monkeypatch.setattr(PostgresCluster, "take", watched)
        connection.home.lose("the database could not be reached in time")
        await talker.lingering.wait()
        again = asyncio.create_task(client.prompt(session, "say 1", id="q"))
        await asyncio.wait([again], timeout=0.5)  # it arrives, and is not run yet
        talker.go.set()
        await again
        assert ended_before and all(ended == ["linger"] for ended in ended_before)
        async with client.stream(session, Acpella_Resume="1") as stream:
            seen = await stream.until_answer("q")
        assert seen[-1]["result"]["stopReason"] == "end_turn"
        assert talker.ended == ["linger", "say"]


async def test_a_turn_that_does_not_end_refuses_the_next_prompt_for_a_while(
    postgres_server: PostgresServer, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who comes back to a node that lost the lease is told to try again; nothing runs beside the old turn."""
    monkeypatch.setattr(table, "ENDED_WITHIN", 0.2)
    talker = Talker(store=f"{postgres_server.dsn()}&schema={schema}")
    alone = serving(talker, limits={"node_name": "one", "lease_seconds": LEASE})
    async with alone as runner, Http(runner.url) as client:
        await client.initialize(Acpella_Resume="1")
        async with client.stream(Acpella_Resume="1") as stream:
            session = await client.new(stream)
        await client.prompt(session, "linger")
        await talker.started.wait()
        (connection,) = runner.app.connections
        assert isinstance(connection.home, ClusterHome)
        connection.home.lose("the database could not be reached in time")
        await talker.lingering.wait()
        params = {"sessionId": session, "prompt": [{"type": "text", "text": "say 1"}]}
        answer = await client.post("session/prompt", params, id="q", Acp_Session_Id=session)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert "what ran before has not ended yet" in answer.text
        monkeypatch.undo()  # a busy machine takes its time to end the turn
        talker.go.set()
        await client.prompt(session, "say 1", id="q")
        async with client.stream(session, Acpella_Resume="1") as stream:
            seen = await stream.until_answer("q")
        assert seen[-1]["result"]["stopReason"] == "end_turn"
        assert talker.ended == ["linger", "say"]


async def test_what_goes_from_node_to_node_is_measured(postgres_server: PostgresServer, schema: str) -> None:
    async with two_nodes(postgres_server, schema) as (first, second, _), Http(first.url) as client:
        await client.initialize(Acpella_Resume="1")
        async with client.stream(Acpella_Resume="1") as stream:
            session = await client.new(stream)
        async with elsewhere(client, second) as there, there.stream(session, Acpella_Resume="1") as stream:
            await there.prompt(session, "say 3")
            await stream.until_answer("p")
        assert metric(second, "acpella_cluster_fanout_total") >= 1
        assert metric(second, "acpella_cluster_fanout_seconds_total") > 0
        assert metric(first, "acpella_cluster_fanout_total") == 0
        assert metric(first, "acpella_cluster_commands_total") >= 1
        assert metric(first, "acpella_cluster_appends_total") >= 1
        database = await asyncpg.connect(postgres_server.dsn(), server_settings={"search_path": schema})
        insert = (
            "INSERT INTO commands (target, id, kind, body, trace) VALUES ('c:gone', 'x', 'message', '', '')"
        )
        await database.execute(insert)  # nobody can be its home
        await database.close()
        for runner in (first, second):
            await eventually(
                lambda r=runner: metric(r, "acpella_cluster_commands_waiting") == 1, "it is counted"
            )
            assert "acpella_cluster_commands_waiting 1" in runner.app.metrics.text()


async def test_a_node_clears_away_all_that_dead_ones_left(
    postgres_server: PostgresServer, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(member, "ABANDONED_EVERY", 0.0)
    async with two_nodes(postgres_server, schema) as (first, _, _), Http(first.url) as client:
        await client.initialize(Acpella_Resume="1")
        database = await asyncpg.connect(postgres_server.dsn(), server_settings={"search_path": schema})
        left = """INSERT INTO streams (id, principal, facts, epoch, owner, updated_at)
            SELECT 'c:' || n, '', '', 0, -1, clock_timestamp() - interval '1 day'
            FROM generate_series(1, 1000) n"""
        await database.execute(left)
        async with asyncio.timeout(30):
            while True:
                ids = [row[0] for row in await database.fetch("SELECT id FROM streams LIMIT 2")]
                if len(ids) < 2:
                    break
                await asyncio.sleep(0.05)
        assert ids == [f"c:{client.connection['Acp-Connection-Id']}"], "its client is there"
        await database.close()
