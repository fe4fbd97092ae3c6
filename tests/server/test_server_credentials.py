"""What a token allows, until when, and what takes its place on web pages (HOSTING §6)."""

import hashlib
import json
import logging
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

import acpella
from acpella.server import Credential, Requester, ServerSettings, Tokens, asgi
from acpella.server.access.credentials import MAX_TICKETS_OF_ONE, SCOPES, Tickets, TooManyTickets
from server.serving import (
    EVENTS,
    HELLO,
    Http,
    Json,
    Socket,
    Stream,
    Talker,
    eventually,
    refused,
    serving,
    socket,
    texts,
    ws_url,
)

pytestmark = pytest.mark.anyio

FULL = "f" * 40
READER = "r" * 40
WRITER = "w" * 40
APPROVER = "a" * 40
SCRAPER = "s" * 40
OTHER = "o" * 40

LINES = f"""\
# of alice's
alice {FULL}
alice sha256:{hashlib.sha256(READER.encode()).hexdigest()} scopes=read
alice {WRITER} scopes=prompt until=9999-12-31
alice {APPROVER} scopes=approve
alice {SCRAPER} scopes=admin
"""


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A token file."""
    path = tmp_path / "tokens"
    path.touch(0o600)
    write(path, LINES)
    return path


def write(path: Path, text: str) -> None:
    path.write_text(text)


def audited(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "acpella.audit"]


async def closed(client: Socket) -> tuple[int, str]:
    """The code and the reason with which the server closes a socket."""
    code = await client.closed()
    return code, client.socket.close_reason or ""


# -- scopes ----------------------------------------------------------------------------------------


def test_who_may_prompt_or_approve_may_read_too() -> None:
    assert Credential("x").scopes == SCOPES
    assert Credential("x", frozenset({"prompt"})).scopes == {"prompt", "read"}
    assert Credential("x", frozenset({"approve"})).scopes == {"approve", "read"}
    assert Credential("x", frozenset({"admin"})).scopes == {"admin"}
    with pytest.raises(ValueError, match="no scope 'write'"):
        Credential("x", frozenset({"write"}))  # pyright: ignore[reportArgumentType] - as a hook might


async def test_a_read_only_token_sees_sessions_and_changes_nothing(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """HOSTING "Scopes, revocation": over a WebSocket; the error names the scope, and is audited."""
    caplog.set_level(logging.INFO, "acpella.audit")
    talker = Talker()
    async with serving(talker, auth=Tokens.from_file(file)) as server:
        async with socket(ws_url(server), bearer(FULL)) as owner:
            session = await owner.start()
            await owner.prompt(session, "say 2")
            await owner.until_answer(2)
        async with socket(ws_url(server), bearer(READER)) as reader:
            await reader.call(0, "initialize", HELLO)
            place: Json = {"sessionId": session, "cwd": "/tmp", "mcpServers": []}
            assert session in str(await reader.call("l", "session/list"))
            await reader.request("load", "session/load", place)
            assert texts(await reader.until_answer("load")) == ["<0><1>"]
            for method, params in (
                ("session/new", {"cwd": "/tmp", "mcpServers": []}),
                ("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "say 1"}]}),
                ("session/fork", place),
                ("session/close", {"sessionId": session}),
                ("session/delete", {"sessionId": session}),
                ("session/set_mode", {"sessionId": session, "modeId": "x"}),
                ("session/set_config_option", {"sessionId": session, "configId": "x", "value": "y"}),
                ("_session/export", {"sessionId": session}),
                ("logout", {}),
                ("made/up", {}),
            ):
                error = (await reader.call(method, method, params))["error"]
                assert error["code"] == -32003, method
                assert error["data"] == {"scope": "prompt"}
                assert "scope 'prompt'" in error["message"]
                assert f"refused {method}: this needs a token with the scope 'prompt'" in audited(caplog)
            program = {"name": "x", "command": "/bin/true", "args": [], "env": []}
            load = await reader.call("mcp", "session/load", {**place, "mcpServers": [program]})
            assert load["error"]["code"] == -32003
            assert session in str(await reader.call("l", "session/list")), "it was not deleted"
    assert talker.ended == ["say"]


async def test_a_read_only_token_over_http(file: Path) -> None:
    """HOSTING "Scopes, revocation": requests are answered on the stream, as by an agent."""
    async with serving(Talker(), auth=Tokens.from_file(file)) as server:
        async with Http(server.url, bearer(READER)) as reader:
            await reader.initialize()
            async with reader.stream() as stream:
                params = {"cwd": "/tmp", "mcpServers": []}
                assert (await reader.post("session/new", params, id=1)).status_code == 202
                refusal = (await stream.until_answer(1))[-1]
                assert refusal["error"]["data"] == {"scope": "prompt"}
                assert (await reader.post("session/list", id=2)).status_code == 202
                assert "result" in (await stream.until_answer(2))[-1]


async def test_a_read_only_token_does_not_take_over_a_turn(file: Path) -> None:
    """A turn that its client left is handed to whoever loads its session, but not to one who cannot go on."""
    talker = Talker()
    async with serving(talker, auth=Tokens.from_file(file)) as server:
        async with socket(ws_url(server), {**bearer(FULL), "Acpella-Resume": "1"}) as owner:
            session = await owner.start()
            await owner.prompt(session, "wait")
            await owner.message()
        connection = server.app.connections.find(owner.id, "alice")
        assert connection is not None
        await eventually(lambda: not connection.readers, "it is away")
        place = {"sessionId": session, "cwd": "/tmp", "mcpServers": []}
        async with socket(ws_url(server), bearer(READER)) as reader:
            await reader.call(0, "initialize", HELLO)
            for method in ("session/load", "session/resume"):
                error = (await reader.call(method, method, place))["error"]
                assert error["code"] == -32003
                assert "turn is running" in error["message"]
            await reader.send(
                {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}}
            )
            await reader.call("sync", "session/list")
        assert talker.ended == []
        async with socket(ws_url(server), bearer(APPROVER)) as approver:  # one who could answer questions may
            await approver.call(0, "initialize", HELLO)
            taken = await approver.call(1, "session/load", place)
            assert taken["result"]["_meta"]["acpella"]["turnRunning"] is True
            talker.go.set()
            assert texts([await approver.message()]) == ["gone on"]


async def test_a_lesser_token_does_not_reach_a_connection_of_the_same_user(file: Path) -> None:
    """Its streams have one reader each, and DELETE would end its turns."""
    async with serving(Talker(), auth=Tokens.from_file(file)) as server:
        async with Http(server.url, bearer(FULL)) as owner, Http(server.url, bearer(READER)) as reader:
            await owner.initialize()
            reader.connection = owner.connection
            assert (await reader.post("session/list", id=1)).status_code == 403
            assert await reader.get(**EVENTS) == 403
            assert await reader.delete() == 403
            reader.connection = {}
            await reader.initialize()
            owner.connection = reader.connection
            assert (await owner.post("session/list", id=1)).status_code == 202
            assert await owner.delete() == 202
        async with socket(ws_url(server), {**bearer(FULL), "Acpella-Resume": "1"}) as hers:
            await hers.start()
            back = {
                **bearer(READER),
                "Acpella-Resume": "1",
                "Acp-Connection-Id": hers.id,
                "Last-Event-ID": f"{hers.gen}-{hers.received}",
            }
            assert await refused(ws_url(server), back) == 403


async def test_a_second_token_of_a_user_reaches_the_same_connections(tmp_path: Path) -> None:
    """HOSTING "Per-principal ownership": what is made belongs to the user, not to the token."""
    tokens = Tokens({FULL: "alice", OTHER: "alice"})
    async with serving(Talker(), auth=tokens) as server:
        async with Http(server.url, bearer(FULL)) as one, Http(server.url, bearer(OTHER)) as two:
            await one.initialize()
            two.connection = one.connection
            async with one.stream() as stream:
                session = await one.new(stream)
                await one.prompt(session, "say 1")  # a session that was never used is in no list
                async with one.stream(session) as updates:
                    await updates.until_answer("p")
                assert (await two.post("session/list", id=7)).status_code == 202
                assert session in str((await stream.until_answer(7))[-1])


async def test_metrics_need_the_scope_admin(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    """HOSTING "Scopes, revocation", "Audit"."""
    caplog.set_level(logging.INFO, "acpella.audit")
    async with serving(Talker(), auth=Tokens.from_file(file)) as server, httpx2.AsyncClient() as http:
        page = server.url.removesuffix("/acp") + "/metrics"
        for token, status in ((FULL, 200), (SCRAPER, 200), (WRITER, 403), (READER, 403), (OTHER, 401)):
            assert (await http.get(page, headers=bearer(token))).status_code == status
        assert "refused: this needs a token with the scope 'admin'" in audited(caplog)
        for where in (ws_url(server), ws_url(server, "/ws")):
            assert await refused(where, bearer(SCRAPER)) == 403, "it opens no connection"
        async with Http(server.url, bearer(SCRAPER)) as scraper:
            assert (await scraper.post("initialize", HELLO, id=0)).status_code == 403
            wanted = {"Accept": "text/event-stream"}
            assert (await scraper.post("initialize", HELLO, id=0, **wanted)).status_code == 403
        assert len(server.app.connections) == 0


# -- permissions -------------------------------------------------------------------------------------

YES = {"outcome": {"outcome": "selected", "optionId": "allow_once"}}


async def test_without_approve_no_mode_comes_with_an_imported_session(file: Path) -> None:
    """A document says in which mode its session is, and there are modes that ask for nothing."""
    async with serving(Talker(), auth=Tokens.from_file(file)) as server:
        async with socket(ws_url(server), bearer(FULL)) as client:
            session = await client.start()
            await client.prompt(session, "say 1")
            await client.until_answer(2)
            exported = await client.call("e", "_session/export", {"sessionId": session})
            document = exported["result"]
            assert "result" in await client.call("i", "_session/import", {"document": document})
        async with socket(ws_url(server), bearer(WRITER)) as client:
            await client.start()
            for params in ({"document": document}, document):
                answer = await client.call("i", "_session/import", params)
                assert answer["error"]["data"] == {"scope": "approve"}


async def test_without_approve_questions_are_answered_with_no(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """HOSTING "Permission answers": the client is not asked, the agent does not wait, nothing is allowed."""
    caplog.set_level(logging.INFO, "acpella.audit")
    talker = Talker()
    async with serving(talker, auth=Tokens.from_file(file)) as server:
        async with socket(ws_url(server), bearer(WRITER)) as client:
            session = await client.start()
            for number in range(10):  # whatever id the agent may choose
                await client.send({"jsonrpc": "2.0", "id": number, "result": YES})
            await client.prompt(session, "ask")
            seen = await client.until_answer(2)
            assert not [one for one in seen if one.get("method") == "session/request_permission"]
            assert texts(seen) == ["no"]
            assert seen[-1]["result"]["stopReason"] == "end_turn", "the turn goes on without it"
            mode = await client.call("m", "session/set_mode", {"sessionId": session, "modeId": "full"})
            assert mode["error"]["data"] == {"scope": "approve"}
        async with Http(server.url, bearer(WRITER)) as http:
            await http.initialize()
            async with http.stream() as stream:
                session = await http.new(stream)
                async with http.stream(session) as events:
                    await http.prompt(session, "ask")
                    assert texts(await events.until_answer("p")) == ["no"]
    assert talker.answers == [False, False]
    assert audited(caplog).count("permission refused: no scope 'approve'") == 2


BLUNT = """
import json, sys
def say(**m): print(json.dumps({"jsonrpc": "2.0", **m}), flush=True)
def first(pairs): return dict(reversed(pairs))  # of two equal keys it takes the first
for line in sys.stdin:
    m = json.loads(line, object_pairs_hook=first)
    if "result" in m or "error" in m:  # before it looks for a method
        say(method="_heard", params=m)
    elif m["method"] == "initialize":
        say(id=m["id"], result={"protocolVersion": 1})
    elif m["method"] == "session/prompt":
        options = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]
        say(id=1.0, method="session/request_permission", params={"sessionId": "s", "options": options})
        say(id=m["id"], result={"stopReason": "end_turn"})
    elif "id" in m:
        say(id=m["id"], result={"did": m["method"]})
"""


@pytest.fixture
def blunt(tmp_path: Path) -> list[str]:
    """An agent that reads JSON in its own way, has no option to refuse, and gives its questions odd ids."""
    program = tmp_path / "blunt.py"
    program.write_text(BLUNT)
    return [sys.executable, str(program)]


async def test_an_agent_without_an_option_to_refuse_hears_cancelled(file: Path, blunt: list[str]) -> None:
    async with serving(blunt, auth=Tokens.from_file(file)) as server:
        async with socket(ws_url(server), bearer(WRITER)) as client:
            await client.call(0, "initialize", HELLO)
            await client.prompt("s", "x")
            seen = [await client.message(), await client.message()]
            heard = next(one for one in seen if one.get("method") == "_heard")
            assert heard["params"] == {
                "jsonrpc": "2.0",
                "id": 1.0,
                "result": {"outcome": {"outcome": "cancelled"}},
            }


async def test_a_message_cannot_be_one_thing_here_and_another_to_the_agent(
    file: Path, blunt: list[str]
) -> None:
    """What is checked is what the agent reads: equal keys, and answers that look like requests."""
    yes = json.dumps(YES)
    async with serving(blunt, auth=Tokens.from_file(file)) as server:
        async with socket(ws_url(server), bearer(READER)) as client:
            await client.call(0, "initialize", HELLO)
            await client.send('{"jsonrpc":"2.0","id":5,"method":"session/prompt","method":"session/list"}')
            refusal = await client.message()
            assert (refusal["id"], refusal["error"]["code"]) == (5, -32600)
            await client.send(f'{{"jsonrpc":"2.0","id":6,"method":"session/list","result":{yes}}}')
            refusal = await client.message()
            assert (refusal["id"], refusal["error"]["code"]) == (6, -32600)
            await client.send(f'{{"jsonrpc":"2.0","id":null,"result":{yes}}}')
            await client.send(r'{"jsonrpc":"2.0","id":7,"method":"session/list","params":{"x":"\ud83d"}}')
            assert (await client.message())["result"] == {"did": "session/list"}


async def test_only_open_questions_are_answered_and_once(blunt: list[str]) -> None:
    """HOSTING "Permission answers": bound to the id of a question of this connection, single use."""
    async with serving(blunt, token=FULL) as server, socket(ws_url(server), bearer(FULL)) as client:
        await client.call(0, "initialize", HELLO)
        answer = {"jsonrpc": "2.0", "id": 1, "result": YES}
        await client.send(answer)  # before it is asked
        await client.prompt("s", "x")
        asked = (await client.until_answer(2))[0]
        assert asked["method"] == "session/request_permission"
        await client.send({**answer, "id": "1"})
        await client.send(answer)  # 1 for 1.0, as JavaScript writes it
        await client.send(answer)
        assert (await client.message())["params"] == answer
        assert (await client.call(9, "session/list"))["result"] == {"did": "session/list"}
        refusals = server.app.metrics.value("acpella_refused_total", 'reason="answer"')
        assert refusals == 3


# -- the end of a credential -------------------------------------------------------------------------


async def test_a_removed_line_closes_what_its_token_had_opened(file: Path) -> None:
    """HOSTING "Scopes, revocation": WebSocket, event stream and streamed POST; the user may come back."""
    write(file, f"alice {FULL}\nalice {OTHER}\nbob {WRITER}\n")
    talker = Talker()
    async with serving(talker, auth=Tokens.from_file(file)) as server:
        resume = {"Acpella-Resume": "1"}
        async with (
            socket(ws_url(server), {**bearer(FULL), **resume}) as client,
            socket(ws_url(server), bearer(WRITER)) as bob,
            Http(server.url, bearer(FULL)) as http,
            Http(server.url, bearer(FULL)) as streamed,
        ):
            await bob.start()
            session = await client.start()
            await client.prompt(session, "wait")
            assert texts([await client.message()]) == ["waiting"]
            await http.initialize()
            hello = await streamed.post("initialize", HELLO, id=0, Accept="text/event-stream")
            streamed.connection = {"Acp-Session-Id": hello.headers["acp-session-id"]}
            made = await streamed.post(
                "session/new", {"cwd": "/tmp", "mcpServers": []}, id=1, Accept="text/event-stream"
            )
            found = re.search(r'"sessionId":"(\w+)"', made.text)
            assert found
            prompt = {"sessionId": found[1], "prompt": [{"type": "text", "text": "wait"}]}
            message = {"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": prompt}
            headers = {**streamed.connection, **EVENTS}
            async with (
                http.stream() as events,
                streamed.http.stream("POST", server.url, json=message, headers=headers) as response,
            ):
                answers = Stream(response)
                assert texts([await answers.message()]) == ["waiting"]
                write(file, f"alice {OTHER}\nbob {WRITER}\n")
                assert await closed(client) == (1008, "the token was revoked")
                await events.ended()
                await answers.ended()
            assert (await http.post("session/list", id=3)).status_code == 401
            back = {
                **resume,
                "Acp-Connection-Id": client.id,
                "Last-Event-ID": f"{client.gen}-{client.received}",
            }
            assert await refused(ws_url(server), {**bearer(FULL), **back}) == 401
            async with socket(ws_url(server), {**bearer(OTHER), **back}) as again:
                assert talker.ended == []
                talker.go.set()
                assert texts(await again.until_answer(2)) == ["gone on"]
            assert "result" in await bob.call("l", "session/list"), "others notice nothing"


async def test_a_token_that_ends_closes_its_sockets() -> None:
    """HOSTING "Scopes, revocation": expiry, of a hook's credential too."""
    ends: list[float] = []

    def check(request: Requester) -> Credential:
        return Credential("carol", until=ends[-1])

    async with serving(Talker(), auth=check) as server:
        ends.append(time.time() + 1)
        async with socket(ws_url(server)) as client:
            await client.start()
            assert await closed(client) == (1008, "the token has expired")
        assert await refused(ws_url(server)) == 401
        ends.append(time.time() + 60)
        async with socket(ws_url(server)) as client:
            await client.start()


def test_a_line_with_fewer_scopes_or_another_user_revokes_and_one_with_more_does_not(
    file: Path,
) -> None:
    now = 0.0
    tokens = Tokens.from_file(file, clock=lambda: now)
    credential = tokens.credential_of(WRITER)
    assert credential is not None
    for line, over in (
        (f"alice {WRITER}", None),
        (f"alice {WRITER} scopes=read", "the token was revoked"),
        (f"alice {WRITER} scopes=prompt,admin", None),
        (f"bob {WRITER}", "the token was revoked"),
        (f"alice {WRITER}", None),
    ):
        write(file, line + "\n")
        now += 1
        assert credential.why_over() == over, line


async def test_a_client_that_does_not_read_is_hung_up_on_all_the_same(file: Path) -> None:
    """A revoked client cannot keep its stream by not reading what it is told."""
    talker = Talker()
    async with serving(talker, auth=Tokens.from_file(file)) as server:
        async with Http(server.url, bearer(FULL)) as http:
            await http.initialize()
            connection = server.app.connections.find(http.connection["Acp-Connection-Id"], "alice")
            assert connection is not None
            async with http.stream() as stream:
                session = await http.new(stream)
                async with http.stream(session):
                    await http.prompt(session, "flood 5000")
                    await eventually(lambda: connection._input.stalled, "nothing is read")
                    write(file, f"bob {OTHER}\n")
                    await eventually(lambda: not connection.readers, "both are gone")


# -- the file ----------------------------------------------------------------------------------------


def test_a_file_that_is_gone_lets_nobody_in(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    """And says so once; when it is back, so are its users."""
    now = 0.0
    tokens = Tokens.from_file(file, clock=lambda: now)
    file.rename(file.with_name("away"))
    assert tokens.user_of(FULL) == "alice", "it is looked at once a second"
    for _ in range(3):
        now += 1
        assert tokens.user_of(FULL) is None
        assert tokens.users == set()
    gone = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert gone == [f"the token file {file} is gone; nobody is let in until it is back"]
    file.with_name("away").rename(file)
    now += 1
    assert tokens.user_of(FULL) == "alice"
    write(file, "# nobody\n")
    now += 1
    assert tokens.user_of(FULL) is None
    assert "holds no token any more" in caplog.text


def test_a_broken_file_changes_nothing_and_is_told_by_line(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    now = 0.0
    tokens = Tokens.from_file(file, clock=lambda: now)
    for text, told in (
        (LINES[: LINES.index("sha256:") + 30], f"{file}:3: after sha256: come 64"),
        (f"alice {FULL}\nbob", f"{file}:2: expected a user and a token"),
        (f"alice {FULL} scopes=\n", f"{file}:1: there is no scope ''"),
    ):
        write(file, text)
        now += 1
        assert tokens.user_of(READER) == "alice"
        assert f"the earlier tokens stay valid: {told}" in caplog.text
        assert FULL not in caplog.text
    file.write_bytes(b"\xff\xfe")
    now += 1
    assert tokens.user_of(READER) == "alice"


def test_an_edit_is_noticed_whatever_the_clock_says(file: Path) -> None:
    """The same size and time of change, in place and as another file."""
    now = 0.0
    write(file, f"alice {FULL}\n")
    tokens = Tokens.from_file(file, clock=lambda: now)
    status = file.stat()
    times = (status.st_atime_ns, status.st_mtime_ns)
    other = file.with_name("other")

    def in_place(text: str) -> None:
        file.write_text(text)
        os.utime(file, ns=times)

    def replaced(text: str) -> None:
        other.write_text(text)
        os.utime(other, ns=times)
        other.replace(file)

    edits: list[Callable[[str], None]] = [in_place, replaced]
    for edit, token in zip(edits, (OTHER, READER), strict=True):
        edit(f"alice {token}\n")
        assert file.stat().st_mtime_ns == times[1]
        now += 1
        assert tokens.user_of(token) == "alice"
        assert tokens.user_of(FULL) is None


def test_the_file_is_looked_at_once_a_second_however_many_ask(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from acpella.server.access import tokens as module

    looks: list[Path] = []
    look = module._stamp_of
    monkeypatch.setattr(module, "_stamp_of", lambda path: looks.append(path) or look(path))
    now = 0.0
    tokens = Tokens.from_file(file, clock=lambda: now)
    for _ in range(1000):
        tokens.user_of(FULL)
        now += 0.01
    assert 9 <= len(looks) <= 11


# -- tickets -----------------------------------------------------------------------------------------


async def ticket_of(http: Http, url: str) -> str:
    answer = await http.http.post(url + "/ticket")
    assert answer.status_code == 200, answer.text
    assert answer.headers["cache-control"] == "no-store"
    told = answer.json()
    assert set(told) == {"ticket", "expiresIn"} and told["expiresIn"] == 30
    assert re.fullmatch("[0-9a-f]{64}", told["ticket"])
    return told["ticket"]


async def test_a_web_page_connects_with_a_ticket_once(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    """HOSTING "Tokens out of URLs": as a subprotocol, or in the query of an upgrade or event stream."""
    caplog.set_level(logging.DEBUG)
    limits = {"allowed_origins": ("https://app.example.com",)}
    given: list[str] = []
    async with serving(Talker(), auth=Tokens.from_file(file), limits=limits) as server:
        async with Http(server.url, {**bearer(FULL), "Origin": "https://app.example.com"}) as page:
            assert (await page.http.get(server.url + "/ticket")).status_code == 405
            given.append(ticket_ := await ticket_of(page, server.url))
            offered: Any = [f"acpella.ticket.{ticket_}", "acp"]
            async with socket(ws_url(server), subprotocols=offered) as client:
                assert client.socket.subprotocol == "acp"
                assert await client.start()
            assert await refused(ws_url(server), subprotocols=offered) == 401
            given.append(ticket_ := await ticket_of(page, server.url))
            offered = [f"acpella.ticket.{ticket_}"]
            async with socket(ws_url(server), subprotocols=offered) as client:
                assert client.socket.subprotocol == offered[0], "a browser wants one of its own back"
            given.append(ticket_ := await ticket_of(page, server.url))
            async with socket(ws_url(server, f"?ticket={ticket_}")) as client:
                assert await client.start()
            assert await refused(ws_url(server, f"?ticket={ticket_}")) == 401
            given.append(ticket_ := await ticket_of(page, server.url))
            where = f"{server.url}/sse?client_id=tab&ticket={ticket_}"
            async with httpx2.AsyncClient() as browser:
                async with browser.stream("GET", where, headers=EVENTS) as response:
                    assert response.status_code == 200
                    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}
                    posted = await page.http.post(f"{server.url}/rpc?client_id=tab", json=hello)
                    assert posted.status_code == 202
                    assert "result" in await Stream(response).message()
                assert (await browser.get(where, headers=EVENTS)).status_code == 401
                given.append(ticket_ := await ticket_of(page, server.url))
                for method, url in (
                    ("POST", f"{server.url}?ticket={ticket_}"),
                    ("POST", f"{server.url}/ticket?ticket={ticket_}"),
                    ("GET", server.url.replace("/acp", f"/metrics?ticket={ticket_}")),
                    ("DELETE", f"{server.url}?ticket={ticket_}"),
                    ("GET", f"{server.url}?token={FULL}"),
                ):
                    assert (await browser.request(method, url)).status_code == 401, url
                assert await refused(ws_url(server, f"?token={FULL}")) == 401
    logged = "\n".join(
        f"{record.getMessage()} {record.__dict__.get('facts')}"
        for record in caplog.records
        if record.name.startswith(("acpella", "uvicorn"))
    )
    assert "WEBSOCKET /acp 101" in logged, "the log was looked at"
    for secret in (*given, FULL):
        assert secret not in logged


async def test_a_ticket_allows_what_its_token_did_for_as_long(file: Path) -> None:
    """HOSTING "Tokens out of URLs": it is bound to user, scopes and end."""
    async with serving(Talker(), auth=Tokens.from_file(file)) as server:
        async with Http(server.url, bearer(READER)) as page:
            ticket, spare = await ticket_of(page, server.url), await ticket_of(page, server.url)
            async with socket(ws_url(server, f"?ticket={ticket}")) as client:
                await client.call(0, "initialize", HELLO)
                refusal = await client.call(1, "session/new", {"cwd": "/tmp", "mcpServers": []})
                assert refusal["error"]["data"] == {"scope": "prompt"}
                write(file, f"alice {FULL}\n")
                assert await closed(client) == (1008, "the token was revoked")
            assert await refused(ws_url(server, f"?ticket={spare}")) == 401


async def test_a_hook_of_the_programs_own_gets_tickets_too() -> None:
    async def check(request: Requester) -> Credential | None:
        user = request.headers.get("x-user")
        return None if user is None else Credential(user, frozenset({"prompt"}))

    async with serving(Talker(), auth=check) as server, Http(server.url, {"X-User": "carol"}) as page:
        ticket = await ticket_of(page, server.url)
        async with socket(ws_url(server, f"?ticket={ticket}")) as client:
            session = await client.start()
            await client.prompt(session, "say 1")
            await client.until_answer(2)
        async with socket(ws_url(server), {"X-User": "carol"}) as client:
            await client.call(0, "initialize", HELLO)
            assert session in str(await client.call(1, "session/list"))


def test_tickets_end_and_are_few() -> None:
    now = 0.0
    tickets = Tickets(clock=lambda: now)
    alice, bob = Credential("alice"), Credential("bob", until=time.time() + 3600)
    late = tickets.issue(alice)
    now = 30.0
    assert tickets.redeem(late) is None
    first = tickets.issue(alice)
    for _ in range(MAX_TICKETS_OF_ONE - 1):
        tickets.issue(alice)
    with pytest.raises(TooManyTickets):
        tickets.issue(alice)
    assert tickets.redeem(tickets.issue(bob)) == bob, "others are not kept from theirs"
    assert tickets.redeem(first) == alice
    assert tickets.redeem(first) is None
    assert tickets.redeem("") is None
    tickets.issue(alice)
    now = 60.0
    tickets.issue(alice)
    assert len(tickets._kept) == 1
    over = tickets.issue(Credential("carol", until=time.time() - 1))
    assert tickets.redeem(over) is None


async def test_what_is_wrong_with_a_credential_is_not_told(file: Path) -> None:
    """HOSTING "Scopes, revocation": a constant response, whether it never was, or is not any more."""
    write(file, f"alice {FULL}\nalice {OTHER} until=2020-01-01\n")
    async with serving(Talker(), auth=Tokens.from_file(file)) as server, httpx2.AsyncClient() as http:
        await http.post(server.url + "/ticket", headers=bearer(FULL))
        answers: list[httpx2.Response] = []
        for headers, query in (
            ({}, ""),
            (bearer(READER), ""),
            (bearer(OTHER), ""),
            (bearer(FULL), "?ticket=" + "0" * 64),
            ({}, "?ticket=" + "0" * 63),
        ):
            answers.append(await http.get(server.url + query, headers={**EVENTS, **headers}))
        assert {answer.status_code for answer in answers} == {401}
        assert len({answer.text for answer in answers}) == 1
        assert (
            len({str(sorted(answer.headers.items())) for answer in answers if answer.headers.pop("date", 1)})
            == 1
        )


async def test_a_mounted_application_gives_tickets_below_its_path() -> None:
    from starlette.applications import Starlette
    from starlette.routing import Mount

    inner = asgi(acpella.Agent("x"), token=FULL, settings=ServerSettings(drain_seconds=0.1))
    app = Starlette(routes=[Mount("/agents", app=inner)], lifespan=inner.lifespan)
    transport = httpx2.ASGITransport(app=app)  # pyright: ignore[reportArgumentType] - any ASGI application
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        assert (await client.post("/agents/acp/ticket")).status_code == 401
        answer = await client.post("/agents/acp/ticket", headers=bearer(FULL))
        assert answer.json()["expiresIn"] == 30
    await inner.close()
