"""Connections that break and come back: nothing is lost, nothing comes twice (FEATURES E4)."""

import asyncio
import random
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import websockets

from acpella.server import Runner
from server.serving import (
    EVENTS,
    HELLO,
    Http,
    Json,
    Socket,
    Talker,
    eventually,
    refused,
    serving,
    socket,
    texts,
    ws_url,
)

pytestmark = pytest.mark.anyio

RESUME = {"Acpella-Resume": "1"}


def back(client: Socket, count: int | None = None) -> dict[str, str]:
    """The headers of a client that comes back."""
    cursor = f"{client.gen}-{client.received if count is None else count}"
    return {**RESUME, "Acp-Connection-Id": client.id, "Last-Event-ID": cursor}


def cut(client: Socket) -> None:
    """The network goes away without a word."""
    transport: Any = client.socket.transport
    transport.abort()


async def test_a_socket_comes_back_and_hears_what_it_missed() -> None:
    talker = Talker()
    async with serving(talker) as server:
        async with socket(ws_url(server), RESUME) as client:
            session = await client.start()
            await client.prompt(session, "wait")
            assert texts([await client.message()]) == ["waiting"]
            cut(client)
        connection = server.app.connections.find(client.id, "")
        assert connection is not None
        await eventually(lambda: connection.readers == 0, "the server notices")
        talker.go.set()  # the turn goes on without its client
        await eventually(lambda: talker.ended == ["wait"], "the turn ends")
        async with socket(ws_url(server), back(client)) as again:
            assert again.id == client.id
            assert again.socket.response is not None
            assert again.socket.response.headers["acpella-received"] == "3"
            assert texts(await again.until_answer(2)) == ["gone on"]


async def test_what_was_sent_into_a_dead_socket_is_sent_again() -> None:
    """The client counts what it got; the server starts after that, not after what it wrote."""
    async with serving(Talker()) as server:
        async with socket(ws_url(server), RESUME) as client:
            session = await client.start()
            await client.prompt(session, "say 100")
            await client.until_answer(2)
            got = client.received
        async with socket(ws_url(server), back(client, got - 50)) as again:
            replayed = await again.until_answer(2)
            assert len(replayed) == 50
            async with socket(ws_url(server), back(client, got - 10)) as third:
                assert len(await third.until_answer(2)) == 10
                assert await again.closed() == 4001  # taken over


async def test_acks_are_for_the_server_and_move_the_window() -> None:
    """Never forwarded, not counted as received; what was confirmed cannot be asked for again."""
    heard: list[str] = []
    talker = Talker()
    talker.agent.on_notification("_heard")(lambda params: heard.append(params["n"]))
    async with serving(talker) as server:
        async with socket(ws_url(server), RESUME) as client:
            session = await client.start()
            await client.prompt(session, "say 20")
            await client.until_answer(2)
            await client.ack(client.received - 5)
            await client.ack(3)  # an older one changes nothing
            await client.ack(10_000)  # nor does one of the future
            await client.send({"jsonrpc": "2.0", "method": "_heard", "params": {"n": "one"}})
            await eventually(lambda: heard == ["one"], "the agent hears what follows")
            got = client.received
        assert await refused(ws_url(server), back(client, got - 6)) == 410
        async with socket(ws_url(server), back(client, got - 5)) as again:
            assert again.socket.response is not None
            assert again.socket.response.headers["acpella-received"] == "4"
            assert len(await again.until_answer(2)) == 5


async def test_what_the_old_socket_still_sends_after_a_take_over_is_not_taken() -> None:
    """The new socket was told what had come; the client sends the rest again there."""
    talker = Talker()
    heard: list[int] = []
    talker.agent.on_notification("_heard")(lambda params: heard.append(params["n"]))
    async with serving(talker) as server:
        async with socket(ws_url(server), RESUME) as client:
            await client.start()
            for number in range(200):
                await client.send({"jsonrpc": "2.0", "method": "_heard", "params": {"n": number}})
            async with socket(ws_url(server), back(client)) as again:
                assert again.socket.response is not None
                taken = int(again.socket.response.headers["acpella-received"]) - 2
                for number in range(taken, 200):
                    await again.send({"jsonrpc": "2.0", "method": "_heard", "params": {"n": number}})
                await eventually(lambda: len(heard) >= 200, "all are heard")
                assert "result" in await again.call(9, "session/list", {})
                assert heard == list(range(200))


async def test_coming_back_to_nothing_is_refused() -> None:
    async with serving(Talker()) as server:
        async with socket(ws_url(server), RESUME) as client:
            await client.start()
        nobody = {**RESUME, "Acp-Connection-Id": "nobody", "Last-Event-ID": f"{client.gen}-1"}
        assert await refused(ws_url(server), nobody) == 404
        assert await refused(ws_url(server), {**back(client), "Last-Event-ID": "othergen-1"}) == 410
        assert await refused(ws_url(server), back(client, 999)) == 410
        assert await refused(ws_url(server), {**back(client), "Last-Event-ID": "rubbish"}) == 410
        async with socket(ws_url(server), back(client)) as again:
            assert "result" in await again.call(9, "session/list", {})


async def test_without_acks_the_agent_waits_and_nothing_is_dropped() -> None:
    """The window of a client that confirms is lossless: full means wait."""
    talker = Talker()
    limits = {"window_frames": 16, "window_bytes": 1_000_000}
    async with serving(talker, limits=limits) as server:
        async with socket(ws_url(server), RESUME) as client:
            session = await client.start()
            await client.ack(client.received)
            await client.prompt(session, "say 20000")
            connection = server.app.connections.find(client.id, "")
            assert connection is not None
            await eventually(lambda: bool(connection.flow.behind), "the window is full")
            seen: list[Json] = []
            while True:
                message = await client.message()
                seen.append(message)
                if client.received % 8 == 0:
                    await client.ack(client.received)
                if message.get("id") == 2:
                    break
            assert texts(seen) == [f"<{n}>" for n in range(20000)]


async def test_a_plain_client_leaves_nothing_behind_but_its_running_turn() -> None:
    """T-064 and E4: the turn goes on and is recorded, then the connection is let go."""
    talker = Talker()
    async with serving(talker) as server:
        async with socket(ws_url(server)) as client:
            session = await client.start()
            await client.prompt(session, "wait")
            await client.message()
        await eventually(
            lambda: server.app.metrics.value("acpella_connections", 'client="away"') == 1, "away"
        )
        assert talker.ended == []
        assert await refused(ws_url(server), back(client)) == 404  # it asked for no resumption
        talker.go.set()
        await eventually(lambda: len(server.app.connections) == 0, "let go when the turn is over")
        async with socket(ws_url(server)) as again:
            await again.call(0, "initialize", HELLO)
            await again.request(1, "session/load", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})
            assert "".join(texts(await again.until_answer(1))) == "waitinggone on"


async def test_turns_can_be_made_to_end_with_their_client() -> None:
    talker = Talker()
    async with serving(talker, limits={"finish_turns": False}) as server:
        async with socket(ws_url(server)) as client:
            session = await client.start()
            await client.prompt(session, "wait")
            await client.message()
        await eventually(lambda: talker.ended == ["wait"], "the turn is cancelled")
        await eventually(lambda: len(server.app.connections) == 0, "and the connection let go")


async def test_a_session_is_handed_over_to_a_new_connection_in_the_middle_of_a_turn() -> None:
    """E4: for clients that know no resumption. History first, then what happens from now on."""
    talker = Talker()
    async with serving(talker) as server:
        async with socket(ws_url(server)) as client:
            session = await client.start()
            await client.prompt(session, "wait")
            await client.message()
        await eventually(
            lambda: server.app.metrics.value("acpella_connections", 'client="away"') == 1, "away"
        )
        async with socket(ws_url(server)) as again:
            await again.call(0, "initialize", HELLO)
            await again.request(1, "session/load", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})
            loaded = await again.until_answer(1)
            assert texts(loaded) == ["waiting"]
            assert loaded[-1]["result"]["_meta"] == {"acpella": {"turnRunning": True}}
            await again.prompt(session, "say 1", id=5)
            assert (await again.until_answer(5))[-1]["error"]["code"] == -32600  # the turn runs
            talker.go.set()
            assert texts([await again.message()]) == ["gone on"]
            await eventually(lambda: talker.ended == ["wait"], "the turn ends")
            await eventually(lambda: len(server.app.connections) == 1, "the old connection is let go")
            await again.prompt(session, "say 1", id=6)
            assert texts(await again.until_answer(6)) == ["<0>"]


async def test_a_turn_survives_the_loss_of_every_client_that_took_it_over() -> None:
    """E4: on a bad line, clients that know no resumption come and go again and again."""
    talker = Talker()
    async with serving(talker) as server:
        async with socket(ws_url(server)) as client:
            session = await client.start()
            await client.prompt(session, "wait")
            await client.message()
        away = partial(server.app.metrics.value, "acpella_connections", 'client="away"')
        for gone in range(1, 4):
            await eventually(lambda gone=gone: away() == gone, "away")
            async with socket(ws_url(server)) as again:
                await again.call(0, "initialize", HELLO)
                await again.request(
                    1, "session/load", {"sessionId": session, "cwd": "/tmp", "mcpServers": []}
                )
                loaded = await again.until_answer(1)
                assert texts(loaded) == ["waiting"]
                assert loaded[-1]["result"]["_meta"] == {"acpella": {"turnRunning": True}}
        assert talker.ended == []
        talker.go.set()
        await eventually(lambda: talker.ended == ["wait"], "the turn ends")
        await eventually(lambda: len(server.app.connections) == 0, "all connections are let go")
        async with socket(ws_url(server)) as last:
            await last.call(0, "initialize", HELLO)
            await last.request(1, "session/load", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})
            assert "".join(texts(await last.until_answer(1))) == "waitinggone on"


async def test_a_connection_is_kept_for_a_while_only() -> None:
    """T-073."""
    async with serving(Talker(), limits={"detach_seconds": 0.3}) as server:
        async with socket(ws_url(server), RESUME) as client:
            await client.start()
        await eventually(lambda: len(server.app.connections) == 0, "it is reaped")
        assert await refused(ws_url(server), back(client)) == 404


# -- event streams ---------------------------------------------------------------------------------


async def test_an_event_stream_goes_on_after_the_last_event() -> None:
    async with serving(Talker()) as server, Http(server.url) as client:
        await client.initialize()
        async with client.stream() as stream:
            session = await client.new(stream)
            async with client.stream(session) as of_session:
                await client.prompt(session, "say 10")
                events = [await of_session.next() for _ in range(5)]
                assert [event.id and event.id.split("-")[1] for event in events] == ["1", "2", "3", "4", "5"]
            connection = server.app.connections.find(client.connection["Acp-Connection-Id"], "")
            assert connection is not None
            await eventually(
                lambda: not connection.streams.by_session[session].attached, "the server notices"
            )
            assert events[2].id is not None
            async with client.stream(session, Last_Event_ID=events[2].id) as again:
                assert texts(await again.until_answer("p")) == [f"<{n}>" for n in range(3, 10)]


async def test_an_event_stream_that_cannot_go_on_says_so() -> None:
    """Outside the kept window, or of another start of the server: `resync`, then what is still there."""
    async with serving(Talker(), limits={"window_frames": 3}) as server, Http(server.url) as client:
        await client.initialize()
        async with client.stream() as stream:
            session = await client.new(stream)
            async with client.stream(session) as of_session:
                await client.prompt(session, "say 10")
                await of_session.until_answer("p")
            connection = server.app.connections.find(client.connection["Acp-Connection-Id"], "")
            assert connection is not None
            for cursor in (f"{server.app.connections.generation}-2", "othergen-12", "12", ""):
                await eventually(
                    lambda: not connection.streams.by_session[session].attached, "the server notices"
                )
                async with client.stream(session, Last_Event_ID=cursor) as again:
                    event = await again.next()
                    assert (event.kind, event.data["action"], event.data["sessionId"]) == (
                        "resync",
                        "session/load",
                        session,
                    )


async def test_a_resumable_client_takes_its_stream_over_and_loses_nothing() -> None:
    """A half-open stream is no reason to turn its client away."""
    async with serving(Talker()) as server, Http(server.url) as client:
        await client.initialize(**{"Acpella_Resume": "1"})
        async with client.stream(Acpella_Resume="1") as stream:
            session = await client.new(stream)
            async with client.stream(session, Acpella_Resume="1") as first:
                await client.prompt(session, "say 400")
                event = [await first.next() for _ in range(7)][-1]
                assert event.id is not None
                async with client.stream(session, Acpella_Resume="1", Last_Event_ID=event.id) as second:
                    assert texts(await second.until_answer("p")) == [f"<{n}>" for n in range(7, 400)]


async def test_an_event_stream_is_confirmed_by_posts() -> None:
    """The agent waits for the client's word; nothing that was not confirmed is dropped, read or not."""
    talker = Talker()
    async with serving(talker, limits={"window_frames": 16}) as server, Http(server.url) as client:
        await client.initialize(Acpella_Resume="1")
        async with client.stream(Acpella_Resume="1") as stream:
            session = await client.new(stream)
            async with client.stream(session, Acpella_Resume="1") as lost:
                await client.prompt(session, "say 5000")
                await lost.next()
            seen: list[Json] = []
            # it has seen nothing, as far as it can tell: everything comes again
            async with client.stream(session, Acpella_Resume="1") as again:
                while not seen or seen[-1].get("id") != "p":
                    event = await again.next()
                    seen.append(event.data)
                    if len(seen) % 8 == 0:
                        params = {"lastEventId": event.id, "sessionId": session}
                        assert (await client.post("$/acpella/ack", params)).status_code == 202
            assert texts(seen) == [f"<{n}>" for n in range(5000)]


async def test_a_client_that_is_away_is_not_taken_for_one_that_does_not_read() -> None:
    """Its agent waits with a full buffer, for as long as the connection is kept."""
    talker = Talker()
    limits = {"buffer_bytes": 100_000, "stall_seconds": 0.1}
    async with serving(talker, limits=limits) as server:
        async with socket(ws_url(server), RESUME) as client:
            session = await client.start()
            await client.prompt(session, "flood 200")
            cut(client)
        connection = server.app.connections.find(client.id, "")
        assert connection is not None
        await eventually(lambda: connection.flow.buffered >= 100_000, "the buffer fills")
        connection.check(connection.last_seen + 60)
        assert connection.closed is None
        async with socket(ws_url(server), back(client)) as again:
            again.received = client.received
            seen: list[Json] = []
            while not seen or seen[-1].get("id") != 2:
                seen.append(await again.message())
                await again.ack(again.received)
            assert len(texts(seen)) == 200


async def test_a_repeated_post_is_taken_once() -> None:
    """The 202 was lost, so the client sends again."""
    talker = Talker()
    heard: list[int] = []
    talker.agent.on_notification("_heard")(lambda params: heard.append(params["n"]))
    async with serving(talker) as server, Http(server.url) as client:
        await client.initialize(Acpella_Resume="1")
        for number, message in ((1, "1"), (1, "1"), (2, "2"), (1, "1"), (2, "2"), (3, "3")):
            answer = await client.post("_heard", {"n": number}, Acpella_Message=message)
            assert answer.status_code == 202
        await eventually(lambda: len(heard) == 3, "three were taken")
        await client.post("_heard", {"n": 4}, Acpella_Message="4")
        await eventually(lambda: heard == [1, 2, 3, 4], "in order, each once")


LAZY = """
import json, os, sys, time
def say(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
say({"id": json.loads(sys.stdin.readline())["id"], "result": {"protocolVersion": 1}})
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
for line in sys.stdin:
    say({"method": "_got", "params": {"n": json.loads(line)["params"]["n"]}})
"""


async def test_a_post_that_was_not_taken_can_be_repeated_with_its_number(tmp_path: Path) -> None:
    """After 503 the number counts as unused, whatever came with a higher one."""
    (tmp_path / "lazy.py").write_text(LAZY)
    awake = tmp_path / "awake"
    command = [sys.executable, str(tmp_path / "lazy.py"), str(awake)]
    async with serving(command, limits={"stall_seconds": 0.3}) as server, Http(server.url) as client:
        await client.initialize(Acpella_Resume="1")

        async def post(number: int) -> int:
            params = {"n": number, "filling": "x" * 200_000}
            return (await client.post("_much", params, Acpella_Message=str(number))).status_code

        async def post_until_taken(number: int) -> None:
            async with asyncio.timeout(60):  # the agent needs a moment to wake up and read
                while (status := await post(number)) != 202:
                    assert status == 503

        taken = 0
        while await post(taken + 1) == 202:
            taken += 1
        assert taken < 10
        awake.touch()
        for number in (taken + 2, taken + 1, taken + 1, 1, taken + 3):
            await post_until_taken(number)
        async with client.stream() as stream:
            got = [(await stream.message())["params"]["n"] for _ in range(taken + 3)]
        assert got == [*range(1, taken + 1), taken + 2, taken + 1, taken + 3]


async def test_numbers_that_are_none_do_no_harm() -> None:
    """Some characters are digits to Python and no numbers; others are numbers without end."""
    async with serving(Talker()) as server, Http(server.url) as client:
        await client.initialize(Acpella_Resume="1")
        gen = server.app.connections.generation
        connection: Any = server.app.connections.find(client.connection["Acp-Connection-Id"], "")
        for number in ("\u00b2", "9" * 900, "-1", "", "1e3"):
            odd = {
                "Acpella-Message": number.encode("latin-1"),
                "Last-Event-ID": f"{gen}-{number}".encode("latin-1"),
            }
            headers: Any = {**client.connection, **odd}
            message = {"jsonrpc": "2.0", "method": "_odd"}
            assert (await client.http.post(client.url, json=message, headers=headers)).status_code == 202
            async with client.http.stream("GET", client.url, headers={**headers, **EVENTS}) as response:
                assert response.status_code == 200
            ack = {"lastEventId": f"{gen}-{number}"}
            assert (await client.post("$/acpella/ack", ack)).status_code == 202
            await eventually(lambda: connection.readers == 0, "the server notices")


async def test_acks_and_answers_are_not_requests_that_are_counted() -> None:
    """A client that confirms much must not be refused for it."""
    limits = {"requests_per_second": 0.001, "request_burst": 3}
    for place, status in (("", 200), ("/rpc?client_id=one", 202)):
        async with serving(Talker(), limits=limits) as server, Http(server.url + place) as client:
            hello = await client.post("initialize", HELLO, id=0, Acpella_Resume="1")
            assert hello.status_code == status
            if not place:
                client.connection = {"Acp-Connection-Id": hello.headers["acp-connection-id"]}
            ack = {"lastEventId": f"{server.app.connections.generation}-0"}
            sent = [await client.post("$/acpella/ack", ack) for _ in range(10)]
            sent += [await client.post(body={"id": "unasked", "result": {}}) for _ in range(10)]
            assert [answer.status_code for answer in sent] == [202] * 20
            listed = [await client.post("session/list", id=n) for n in range(3)]
            assert [answer.status_code for answer in listed] == [202, 202, 429]


async def test_a_client_comes_back_with_its_cookies_and_loads() -> None:
    """CASE-10, CASE-16: cookies of a proxy in front do no harm."""
    async with serving(Talker()) as server, Http(server.url) as client:
        client.http.cookies.set("affinity", "node-1")
        await client.initialize()
        async with client.stream() as stream:
            session = await client.new(stream)
        await client.delete()
        client.connection = {}
        await client.initialize()
        async with client.stream() as stream, client.stream(session) as of_session:
            load = {"sessionId": session, "cwd": "/tmp", "mcpServers": []}
            await client.post("session/load", load, id="load", Acp_Session_Id=session)
            assert "result" in (await stream.until_answer("load"))[-1]
            await client.prompt(session, "say 1")
            assert texts(await of_session.until_answer("p")) == ["<0>"]


# -- cut again and again ---------------------------------------------------------------------------


class Persistent:
    """A client that comes back whenever its socket breaks, and breaks it itself."""

    def __init__(self, server: Runner, seed: int) -> None:
        self._server = server
        self._random = random.Random(seed)
        self.cuts = 0
        self.messages: list[Json] = []

    async def run(self, updates: int, cuts: int) -> None:
        async with socket(ws_url(self._server), RESUME) as client:
            session = await client.start()
            await client.prompt(session, f"say {updates}")
            await self._read(client, self._random.randint(1, 2 * updates // cuts))
            cut(client)
        while not self._done:
            self.cuts += 1
            async with socket(ws_url(self._server), back(client)) as again:
                again.received = client.received
                client = again
                await self._read(client, self._random.randint(1, 2 * updates // cuts))
                cut(client)

    @property
    def _done(self) -> bool:
        return bool(self.messages) and self.messages[-1].get("id") == 2

    async def _read(self, client: Socket, count: int) -> None:
        for _ in range(count):
            try:
                self.messages.append(await client.message())
            except websockets.ConnectionClosed:
                return
            if client.received % 32 == 0:
                await client.ack(client.received)
            if self._done:
                return


async def test_a_socket_that_is_cut_200_times_loses_nothing() -> None:
    """E4: every update exactly once, in order; the agent is waited for, not flooded."""
    async with serving(Talker()) as server:
        client = Persistent(server, seed=4)
        async with asyncio.timeout(40):
            await client.run(updates=8000, cuts=200)
        assert texts(client.messages) == [f"<{n}>" for n in range(8000)]
        assert client.cuts >= 150
        assert server.app.metrics.value("acpella_connections_total", 'transport="websocket"') == 1


async def test_an_event_stream_that_is_cut_60_times_loses_nothing() -> None:
    """E4: the same with `Last-Event-ID`; an older reader that the server has not missed yet is replaced."""
    chance = random.Random(7)
    async with serving(Talker()) as server, Http(server.url) as client:
        await client.initialize(Acpella_Resume="1")
        async with client.stream(Acpella_Resume="1") as stream:
            session = await client.new(stream)
            await client.prompt(session, "say 3000")
            seen: list[Json] = []
            last: dict[str, str] = {}
            cuts = 0
            async with asyncio.timeout(30):
                while not seen or seen[-1].get("id") != "p":
                    cuts += 1
                    async with client.stream(session, Acpella_Resume="1", **last) as part:
                        for _ in range(chance.randint(1, 100)):
                            event = await part.next()
                            seen.append(event.data)
                            assert event.id is not None
                            last = {"Last_Event_ID": event.id}
                            if event.data.get("id") == "p":
                                break
                    params = {"lastEventId": last["Last_Event_ID"], "sessionId": session}
                    assert (await client.post("$/acpella/ack", params)).status_code == 202
            assert texts(seen) == [f"<{n}>" for n in range(3000)]
            assert cuts >= 40
