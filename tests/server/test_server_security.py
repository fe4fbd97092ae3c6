"""Who gets in, what they may see, and what nobody may do."""

import asyncio
import hashlib
import logging
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

import acpella
import acpella.coder
from acpella.server import Credential, Requester, Runner, ServerSettings, Tokens, asgi
from acpella.server.access.gate import Gate, Refusal, is_loopback
from acpella.server.access.rate_limit import RateLimit
from acpella.sessions import RememberedPermissions
from server.serving import (
    EVENTS,
    HELLO,
    PATIENCE,
    Http,
    Json,
    Talker,
    eventually,
    refused,
    serving,
    socket,
    texts,
    ws_url,
)

pytestmark = pytest.mark.anyio

ALICE = "a" * 40
BOB = "b" * 40
USERS = Tokens({ALICE: "alice", "sha256:" + hashlib.sha256(BOB.encode()).hexdigest(): "bob"})


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


# -- tokens ----------------------------------------------------------------------------------------


async def test_every_request_and_upgrade_needs_the_token() -> None:
    """T-081: POST, GET, DELETE, metrics and the WebSocket; before the body is read."""
    async with serving(Talker(), token=ALICE) as server, Http(server.url) as nobody:
        unread = 0

        async def endless() -> AsyncIterator[bytes]:
            nonlocal unread
            for _ in range(10_000):
                unread += 1
                yield b" " * 10_000

        headers = {"Content-Type": "application/json"}
        answer = await nobody.http.post(server.url, content=b"{}", headers=headers)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")
        try:
            answer = await nobody.http.post(server.url, content=endless(), headers=headers)
            assert answer.status_code == 401
        except httpx2.HTTPError:
            pass  # it was hung up on
        assert unread < 10_000
        assert await nobody.get(**EVENTS) == 401
        assert await nobody.delete() == 401
        root = server.url.removesuffix("/acp")
        assert (await nobody.http.get(f"{root}/metrics")).status_code == 401
        assert (await nobody.http.get(f"{root}/healthz")).status_code == 200
        assert await refused(ws_url(server)) == 401
        assert await refused(ws_url(server), bearer(BOB)) == 401
        async with Http(server.url, bearer(ALICE)) as client:
            await client.initialize()
        async with socket(ws_url(server), bearer(ALICE)) as client:
            assert await client.start()


async def test_a_web_page_sends_its_token_as_a_subprotocol() -> None:
    """T-081: browsers can set no header; another subprotocol is preferred for the answer."""
    async with serving(Talker(), token=ALICE) as server:
        offered: Any = [f"acpella.token.{ALICE}"]
        async with socket(ws_url(server), subprotocols=offered) as client:
            assert client.socket.subprotocol == offered[0]
        async with socket(ws_url(server), subprotocols=[*offered, "acp"]) as client:
            assert client.socket.subprotocol == "acp"
        assert await refused(ws_url(server), subprotocols=[f"acpella.token.{BOB}"]) == 401


def test_short_tokens_and_bad_token_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least 32"):
        Tokens.single("short")
    file = tmp_path / "tokens"
    for text, message in (
        ("alice tiny\n", r"tokens:1: a token has at least 32"),
        (f"# nobody\n\nalice {ALICE} more words\n", "tokens:3: after the token may come until="),
        (f"alice {ALICE} until=tomorrow\n", "tokens:1: after the token may come until="),
        (f"alice {ALICE} 2030-12-31\n", "tokens:1: after the token may come until="),
        ("alice\n", "tokens:1: expected a user and a token"),
        (f"alice {ALICE} until=2030-01-01 until=2031-01-01\n", "tokens:1: after the token may come until="),
        (f"alice {ALICE} scopes=read,write\n", "tokens:1: there is no scope 'write'"),
        (f"alice {ALICE}\nbob {ALICE}\n", "tokens:2: this token is in the file twice"),
        ("alice sha256:zz\n", "64 hexadecimal"),
        ("# nothing\n", "holds no token"),
    ):
        file.write_text(text)
        with pytest.raises(ValueError, match=message) as caught:
            Tokens.from_file(file)
        assert "tiny" not in str(caught.value)
    with pytest.raises(ValueError, match="cannot be read"):
        Tokens.from_file(tmp_path / "missing")
    file.write_text(f"alice {ALICE}  \n bob sha256:{hashlib.sha256(BOB.encode()).hexdigest()}\n")
    file.chmod(0o600)
    now = 0.0
    tokens = Tokens.from_file(file, clock=lambda: now)
    assert (tokens.user_of(ALICE), tokens.user_of(BOB), tokens.user_of("c" * 40)) == ("alice", "bob", None)
    assert ALICE not in str(vars(tokens))
    file.write_text(f"bob {BOB}\n")  # alice is revoked while the server runs
    now += 1
    assert (tokens.user_of(ALICE), tokens.user_of(BOB)) == (None, "bob")
    file.write_text(f"bob {BOB}\ncarol {ALICE}\n")  # who is new need not wait
    assert tokens.user_of(ALICE) == "carol"
    file.write_text("bob tiny\n")  # a mistake changes nothing
    now += 1
    assert tokens.user_of(BOB) == "bob"


async def test_a_token_ends_when_its_line_says(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.touch(0o600)
    file.write_text(f"alice {ALICE} until=9999-12-31\nbob {BOB} until=2020-01-01T12:00+02:00\n")
    tokens = Tokens.from_file(file)
    async with serving(Talker(), auth=tokens) as server:
        async with Http(server.url, bearer(ALICE)) as alice, Http(server.url, bearer(BOB)) as bob:
            await alice.initialize()
            assert (await bob.post("initialize", HELLO, id=0)).status_code == 401
            file.write_text(f"alice {ALICE} until=2020-01-01\nbob {BOB}\n")
            async with asyncio.timeout(PATIENCE):
                while (await alice.post("session/list", id=1)).status_code != 401:  # noqa: ASYNC110 - nothing tells
                    await asyncio.sleep(0.1)  # the file is looked at once a second
            await bob.initialize()


async def test_a_hook_of_the_programs_own_decides() -> None:
    seen: list[Requester] = []

    async def check(request: Requester) -> str | None:
        seen.append(request)
        return request.headers.get("x-user")

    async with serving(Talker(), auth=check) as server, Http(server.url, {"X-User": "carol"}) as client:
        await client.initialize()
        assert seen[0].path == "/acp"
        assert seen[0].client == "127.0.0.1"
        async with Http(server.url) as other:
            assert (await other.post("initialize", HELLO, id=1)).status_code == 401

    def broken(request: Requester) -> str:
        raise RuntimeError("secret detail")

    async with serving(Talker(), auth=broken) as server, Http(server.url) as client:
        answer = await client.post("initialize", HELLO, id=1)
        assert answer.status_code == 500
        assert "secret" not in answer.text


async def test_guessing_tokens_is_slowed_down() -> None:
    """Wrong credentials are counted by address."""
    async with serving(Talker(), token=ALICE, limits={"failures_per_minute": 5}) as server:
        async with Http(server.url, bearer(BOB)) as guesser:
            codes = [(await guesser.post("initialize", HELLO, id=1)).status_code for _ in range(8)]
            assert codes == [401] * 5 + [429] * 3
        async with Http(server.url, bearer(ALICE)) as owner:
            await owner.initialize()  # of the same address
            given = (await owner.http.post(f"{server.url}/ticket")).json()["ticket"]
        async with socket(ws_url(server, f"?ticket={given}")) as page:
            assert await page.start()
        assert await refused(ws_url(server), bearer(BOB)) == 429


# -- where it listens ------------------------------------------------------------------------------


def test_other_addresses_than_loopback_need_credentials() -> None:
    for host in ("0.0.0.0", "192.168.1.5", "::", "example.com"):
        with pytest.raises(ValueError, match="--token"):
            Runner(Talker().agent, host=host)
    for host in ("127.0.0.1", "localhost", "::1", "127.8.8.8"):
        Runner(Talker().agent, host=host)
    assert not is_loopback("localhost.example.com")
    assert is_loopback("::ffff:127.0.0.1")


async def test_a_mounted_server_without_credentials_serves_its_own_machine_only() -> None:
    gate = Gate(ServerSettings(), None)
    with pytest.raises(Refusal) as caught:
        await gate.credential_of(Requester({}, (), "192.168.1.9", "/acp"))
    assert caught.value.status == 403
    assert await gate.credential_of(Requester({}, (), "127.0.0.1", "/acp")) == Credential("")


# -- web pages -------------------------------------------------------------------------------------


async def test_names_that_are_not_ours_are_refused() -> None:
    """T-083, CASE-14: DNS rebinding, on every method and on the upgrade."""
    async with serving(Talker()) as server, Http(server.url) as client:
        await client.initialize()
        for name in (
            *("evil.example.com", "127.0.0.1.evil.com", "localhost.evil.com", "evil.com:8000", ""),
            *(
                "[::1]evil.example",
                "[::1]:80.evil.example",
                "[::1].evil.example",
                "[localhost]",
                "[127.0.0.1]",
            ),
            *("[::1", "::1]", "localhost:evil.com", "localhost:80:80", "evil.com@localhost", "localhost/"),
        ):
            assert (await client.post("session/list", id=1, Host=name)).status_code in (400, 403), name
            assert await client.get(**EVENTS, Host=name) in (400, 403)
            assert await client.delete(Host=name) in (400, 403)
        for name in ("localhost", "LOCALHOST:1234", "[::1]:99", "127.0.0.1"):
            assert (await client.post("session/list", id=name, Host=name)).status_code == 202, name
        assert await refused(ws_url(server), {"Host": "evil.example.com"}) in (400, 403)


async def test_web_pages_are_refused_unless_they_are_named() -> None:
    """T-083: Origin on every method and on the upgrade, `null` too; no wildcard, both headers exposed."""
    limits = {"allowed_origins": ("https://app.example.com",)}
    async with serving(Talker(), limits=limits) as server, Http(server.url) as client:
        await client.initialize()
        for origin in (
            "https://evil.com",
            "null",
            "http://app.example.com",
            "https://app.example.com.evil.com",
        ):
            assert (await client.post("session/list", id=1, Origin=origin)).status_code == 403, origin
            assert await client.get(**EVENTS, Origin=origin) == 403
            assert await client.delete(Origin=origin) == 403
            assert await refused(ws_url(server), {"Origin": origin}) == 403
        ours = "https://app.example.com"
        answer = await client.post("session/list", id=2, Origin=ours)
        assert answer.status_code == 202
        assert answer.headers["access-control-allow-origin"] == ours
        assert "access-control-allow-credentials" not in answer.headers
        exposed = answer.headers["access-control-expose-headers"]
        assert "Acp-Connection-Id" in exposed and "Acp-Session-Id" in exposed
        asked = {"Origin": ours, "Access-Control-Request-Method": "POST"}
        preflight = await client.http.options(server.url, headers=asked)
        assert preflight.status_code == 204
        assert "Acp-Connection-Id" in preflight.headers["access-control-allow-headers"]
        async with socket(ws_url(server), {"Origin": ours}) as page:
            assert await page.start()


async def test_parts_of_web_pages_that_name_no_origin_are_refused() -> None:
    """Images, scripts and links bring no Origin, but browsers say that they are some other page's."""
    limits = {"allowed_origins": ("https://app.example.com",)}
    async with serving(Talker(), limits=limits) as server, Http(server.url) as client:
        await client.initialize()
        root = server.url.removesuffix("/acp")
        for site in ("cross-site", "same-site", "Cross-Site"):
            told = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
            for path in ("/metrics", "/acp", "/acp/sse?client_id=x", "/", "/nothing"):
                assert (await client.http.get(root + path, headers=told)).status_code == 403, path
            assert (await client.http.get(f"{root}/healthz", headers=told)).status_code == 200
            assert (await client.post("session/list", id=1, **told)).status_code == 403
            assert await refused(ws_url(server), told) == 403
        for site in ("same-origin", "none"):
            answer = await client.http.get(f"{root}/metrics", headers={"Sec-Fetch-Site": site})
            assert answer.status_code == 200
        page = {"Sec-Fetch-Site": "cross-site", "Origin": "https://app.example.com"}
        assert (await client.post("session/list", id=2, **page)).status_code == 202


# -- whose is what ---------------------------------------------------------------------------------


async def test_connections_belong_to_who_made_them() -> None:
    """T-082: 404 for anybody else, as for an id that does not exist."""
    async with serving(Talker(), auth=USERS) as server:
        async with Http(server.url, bearer(ALICE)) as alice, Http(server.url, bearer(BOB)) as bob:
            await alice.initialize()
            bob.connection = alice.connection
            assert (await bob.post("session/new", id=1)).status_code == 404
            assert await bob.get(**EVENTS) == 404
            assert await bob.delete() == 404
            unknown = await bob.post("session/new", id=1, Acp_Connection_Id="0" * 32)
            foreign = await bob.post("session/new", id=1)
            assert (unknown.text, unknown.status_code) == (foreign.text, foreign.status_code)
        async with socket(ws_url(server), {**bearer(ALICE), "Acpella-Resume": "1"}) as hers:
            await hers.start()
            back = {
                **bearer(BOB),
                "Acpella-Resume": "1",
                "Acp-Connection-Id": hers.id,
                "Last-Event-ID": f"{hers.gen}-{hers.received}",
            }
            assert await refused(ws_url(server), back) == 404


async def test_sessions_of_an_agent_belong_to_who_made_them() -> None:
    """T-072, T-082: load, resume, fork, delete, prompt, list."""
    async with serving(Talker(), auth=USERS) as server:
        async with socket(ws_url(server), bearer(ALICE)) as alice, socket(ws_url(server), bearer(BOB)) as bob:
            session = await alice.start()
            await alice.prompt(session, "say 1")
            await alice.until_answer(2)
            await bob.start()
            place = {"sessionId": session, "cwd": "/tmp", "mcpServers": []}
            for method in ("session/load", "session/resume", "session/fork", "session/close"):
                assert (await bob.call(method, method, place))["error"]["code"] == -32002, method
            await bob.prompt(session, "say 1", id="p")
            assert "error" in (await bob.until_answer("p"))[-1]
            await bob.call("delete", "session/delete", {"sessionId": session})
            assert session not in str(await bob.call("list", "session/list"))
            assert session in str(await alice.call("list", "session/list"))


async def test_extension_methods_know_only_the_sessions_of_who_asks() -> None:
    """C15, C19: the built-in agent's, for somebody who has learned another's session id."""
    limits = {"mcp_commands": "yes", "mcp_urls": "yes"}
    coder = acpella.coder.agent(model="offline", store="memory")
    async with serving(coder, auth=USERS, limits=limits) as server:
        async with socket(ws_url(server), bearer(ALICE)) as alice, socket(ws_url(server), bearer(BOB)) as bob:
            session = await alice.start()
            await alice.prompt(session, "a secret")
            await alice.until_answer(2)
            await bob.start()
            program = {"name": "theirs", "command": sys.executable, "args": ["-c", ""], "env": []}
            for method, more in (
                ("_session/get", {}),
                ("_session/export", {}),
                ("_agent/mcp/list", {}),
                ("_agent/mcp/add", {"server": program}),
                ("_agent/mcp/remove", {"name": "theirs"}),
                ("_agent/working_dir/update", {"path": "/"}),
                ("session/set_mode", {"modeId": "full"}),
                ("session/set_config_option", {"configId": "auto-approve", "value": True}),
            ):
                params = {"sessionId": session, **more}
                answer = await bob.call(method, method, params)
                assert answer["error"]["code"] == -32002, method
                assert "secret" not in str(answer), method
            await bob.call("delete", "_session/delete", {"sessionId": session})
            assert session not in str(await bob.call("list", "_session/list"))
            assert "a secret" in str(await alice.call("get", "_session/get", {"sessionId": session}))
            assert (await alice.call("mcp", "_agent/mcp/list", {"sessionId": session}))["result"] == {
                "servers": []
            }


KEEPER = """
import json, sys
sessions = json.load(open(sys.argv[1])) if len(sys.argv) > 2 else []
for line in sys.stdin:
    m = json.loads(line)
    method, params = m.get("method"), m.get("params") or {}
    if "id" not in m: continue
    if method == "initialize": r = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}
    elif method == "session/new":
        import uuid
        r = {"sessionId": uuid.uuid4().hex}
        open(sys.argv[1], "a").write(r["sessionId"] + "\\n")
    elif method == "session/list":
        known = [s.strip() for s in open(sys.argv[1])]
        r = {"sessions": [{"sessionId": s, "cwd": "/tmp", "_x": 1} for s in known], "_more": [1]}
    elif method == "_echo": r = {"session": params["sessionId"]}
    else: r = {"did": method}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
"""


async def test_sessions_of_a_hosted_command_belong_to_who_made_them(tmp_path: Path) -> None:
    """The command knows no users, so the server keeps a table; with a file, across restarts."""
    program = tmp_path / "keeper.py"
    program.write_text(KEEPER)
    (tmp_path / "sessions").touch()
    command = [sys.executable, str(program), str(tmp_path / "sessions")]
    limits = {"session_owners": str(tmp_path / "owners")}
    sessions: list[str] = []
    async with serving(command, auth=USERS, limits=limits) as server:
        async with socket(ws_url(server), bearer(ALICE)) as alice, socket(ws_url(server), bearer(BOB)) as bob:
            sessions += [await alice.start(), await bob.start()]
    assert (tmp_path / "owners").stat().st_mode & 0o077 == 0
    async with serving(command, auth=USERS, limits=limits) as server:
        async with socket(ws_url(server), bearer(BOB)) as bob:
            await bob.call(0, "initialize", HELLO)
            for method in (
                "session/load",
                "session/resume",
                "session/fork",
                "session/delete",
                "session/prompt",
            ):
                theirs = await bob.call(f"x{method}", method, {"sessionId": sessions[0], "cwd": "/tmp"})
                assert theirs["error"] == {"code": -32002, "message": "no such session"}, method
                mine = await bob.call(method, method, {"sessionId": sessions[1], "cwd": "/tmp"})
                assert mine["result"] == {"did": method}
            listed = (await bob.call("list", "session/list"))["result"]
            assert listed == {"sessions": [{"sessionId": sessions[1], "cwd": "/tmp", "_x": 1}], "_more": [1]}


async def test_two_equal_keys_do_not_get_around_the_table(tmp_path: Path) -> None:
    """The command reads the message that was checked, whichever of the two its parser would take."""
    program = tmp_path / "keeper.py"
    program.write_text(
        KEEPER.replace("json.loads(line)", "json.loads(line, object_pairs_hook=first)").replace(
            "import json, sys", "import json, sys\nfirst = lambda pairs: dict(reversed(pairs))"
        )
    )
    (tmp_path / "sessions").touch()
    command = [sys.executable, str(program), str(tmp_path / "sessions")]
    async with serving(command, auth=USERS) as server:
        async with socket(ws_url(server), bearer(ALICE)) as alice, socket(ws_url(server), bearer(BOB)) as bob:
            theirs, mine = await alice.start(), await bob.start()
            for one, other in ((theirs, mine), (mine, theirs)):
                params = (
                    f'{{"sessionId":"{one}","sessionId":"{other}","session\\u0049d":"{other}","cwd":"/tmp"}}'
                )
                await bob.send(f'{{"jsonrpc":"2.0","id":9,"method":"_echo","params":{params}}}')
                answer = (await bob.until_answer(9))[-1]
                assert answer.get("result", {}).get("session") != theirs


async def test_logins_count_by_user() -> None:
    """One user's login is not another's."""

    async def ok() -> None:
        pass

    talker = Talker(logins=[acpella.Login("key", "Key", ok)])
    async with serving(talker, auth=USERS) as server:
        async with socket(ws_url(server), bearer(ALICE)) as alice, socket(ws_url(server), bearer(BOB)) as bob:
            for client in (alice, bob):
                await client.call(0, "initialize", HELLO)
            assert "result" in await alice.call(1, "authenticate", {"methodId": "key"})
            place = {"cwd": "/tmp", "mcpServers": []}
            assert "result" in await alice.call(2, "session/new", place)
            assert (await bob.call(2, "session/new", place))["error"]["code"] == -32000


async def test_answers_for_good_count_by_user(tmp_path: Path) -> None:
    """What Alice always allows, Bob is asked about (C21)."""
    file = tmp_path / "permissions.toml"
    talker = Talker(settings={"permission_file": str(file)})
    always = {"outcome": {"outcome": "selected", "optionId": "allow_always"}}
    async with serving(talker, auth=USERS) as server:
        for token in (ALICE, BOB):
            async with socket(ws_url(server), bearer(token)) as client:
                session = await client.start()
                await client.prompt(session, "ask")
                while (message := await client.message()).get("method") != "session/request_permission":
                    assert "result" not in message, "it was not asked"
                await client.send({"jsonrpc": "2.0", "id": message["id"], "result": always})
                await client.until_answer(2)
                await client.prompt(session, "ask", id=3)
                seen = await client.until_answer(3)
                assert "session/request_permission" not in [message.get("method") for message in seen]
    assert talker.answers == [True] * 4
    assert sorted(RememberedPermissions(file).owners()) == [
        "talker for alice in /tmp",
        "talker for bob in /tmp",
    ]


async def test_ids_are_long_random_and_not_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """T-084, T-085: nor tokens, nor messages."""
    caplog.set_level(logging.DEBUG, "acpella")
    ids: set[str] = set()
    sessions: set[str] = set()
    async with serving(Talker(), token=ALICE) as server:
        for _ in range(5):
            async with socket(ws_url(server), bearer(ALICE)) as client:
                ids.add(client.id)
                session = await client.start()
                sessions.add(session)
                await client.prompt(session, "say 1 my-private-words")
                await client.until_answer(2)
                cursor = {"Acp-Connection-Id": client.id, "Last-Event-ID": f"{client.gen}-99"}
                assert await refused(ws_url(server), {**bearer(ALICE), **cursor}) == 410
    assert len(ids) == 5
    assert all(len(one) == 32 and int(one, 16) for one in ids)
    logged = "\n".join(f"{record.getMessage()} {record.__dict__}" for record in caplog.records)
    assert "connection opened" in logged and "session/new" in logged
    for secret in (*ids, ALICE, *sessions, "my-private-words"):
        assert secret not in logged


# -- what they may ask -----------------------------------------------------------------------------


async def test_sessions_stay_below_the_roots(tmp_path: Path) -> None:
    """By components, not by prefix; links are followed first; further directories too."""
    (tmp_path / "work" / "inner").mkdir(parents=True)
    (tmp_path / "workshop").mkdir()
    (tmp_path / "work" / "link").symlink_to(tmp_path / "workshop")
    work = tmp_path / "work"
    async with serving(Talker(), limits={"roots": (str(work),)}) as server, socket(ws_url(server)) as client:
        await client.call(0, "initialize", HELLO)
        for number, place in enumerate(
            (
                tmp_path,
                tmp_path / "workshop",
                work / ".." / "workshop",
                work / "link",
                "/",
                "relative",
                "/tmp\0",
            )
        ):
            params = {"cwd": str(place), "mcpServers": []}
            refusal = await client.call(f"r{number}", "session/new", params)
            assert refusal["error"]["code"] == -32602, place
        outside: Json = {"cwd": str(work), "mcpServers": [], "additionalDirectories": ["/etc"]}
        assert (await client.call(50, "session/new", outside))["error"]["code"] == -32602
        made: Json = {}
        for number, place in enumerate((work, work / "inner", work / "inner" / ".." / "new")):
            inside = {"cwd": str(place), "mcpServers": []}
            made = await client.call(f"a{number}", "session/new", inside)
            assert "result" in made, place
        move = {"sessionId": made["result"]["sessionId"], "path": "/etc"}
        assert (await client.call(51, "_agent/working_dir/update", move))["error"]["code"] == -32602
        move["path"] = str(work / "inner")
        assert "result" in await client.call(52, "_agent/working_dir/update", move)


async def test_a_directory_that_is_swapped_for_a_link_leads_nowhere(tmp_path: Path) -> None:
    """Symlink race: what was checked when the session was opened must still be what is opened."""
    secret = tmp_path / "out"
    secret.mkdir()
    (secret / "s.txt").write_text("outside", encoding="utf-8")
    for name in ("swapped", "above/inner"):
        place = tmp_path / "work" / name
        place.mkdir(parents=True)
        (place / "s.txt").write_text("inside", encoding="utf-8")
    roots = {"roots": (str(tmp_path / "work"),)}
    async with serving(Talker(local=True), limits=roots) as server, socket(ws_url(server)) as client:
        await client.call(0, "initialize", HELLO)
        for number, (name, moved, link) in enumerate(
            (("swapped", "swapped", secret), ("above/inner", "above", tmp_path), ("later", "later", secret))
        ):
            place = tmp_path / "work" / name
            made = await client.call(f"n{number}", "session/new", {"cwd": str(place), "mcpServers": []})
            session = made["result"]["sessionId"]
            if place.exists():
                await client.prompt(session, "read s.txt", id=f"a{number}")
                assert texts(await client.until_answer(f"a{number}")) == ["inside"]
                (tmp_path / "work" / moved).rename(tmp_path / f"old{number}")
            if moved == "above":
                secret.rename(tmp_path / "inner")
            (tmp_path / "work" / moved).symlink_to(link)
            await client.prompt(session, "read s.txt", id=f"b{number}")
            assert texts(await client.until_answer(f"b{number}")) == []
            if moved == "above":
                (tmp_path / "inner").rename(secret)
            again = await client.call(f"l{number}", "session/new", {"cwd": str(place), "mcpServers": []})
            assert again["error"]["code"] == -32602


async def test_commands_of_clients_are_not_started_for_strangers() -> None:
    """MCP servers that are programs would be remote execution; on by choice, or without credentials."""
    server_of_theirs = {"name": "x", "command": "/bin/sh", "args": ["-c", "id"], "env": []}
    params = {"cwd": "/tmp", "mcpServers": [server_of_theirs]}
    cases: list[tuple[Json, bool]] = [
        ({"token": ALICE}, False),
        ({}, True),
        ({"token": ALICE, "limits": {"mcp_commands": "yes"}}, True),
        ({"limits": {"mcp_commands": "no"}}, False),
    ]
    for options, allowed in cases:
        async with serving(Talker(), **options) as server, socket(ws_url(server), bearer(ALICE)) as client:
            await client.call(0, "initialize", HELLO)
            answer = await client.call(1, "session/new", params)
            assert ("result" in answer) is allowed, options
            if not allowed:
                assert "MCP" in answer["error"]["message"]
            later = await client.call(2, "_agent/mcp/add", {"sessionId": "s", "server": server_of_theirs})
            assert ("starts no MCP" in later["error"]["message"]) is not allowed, options


async def test_addresses_of_clients_are_not_reached_for_strangers() -> None:
    """An MCP server with a URL would be a request from the server's machine to any address (SSRF)."""
    inner = {"type": "http", "name": "x", "url": "http://169.254.169.254/", "headers": []}
    cases: list[tuple[Json, bool]] = [
        ({"token": ALICE}, False),
        ({}, True),
        ({"token": ALICE, "limits": {"mcp_urls": "yes"}}, True),
        ({"limits": {"mcp_urls": "no"}}, False),
    ]
    for options, allowed in cases:
        talker = Talker(mcp=["http", "sse"])
        async with serving(talker, **options) as server, socket(ws_url(server), bearer(ALICE)) as client:
            hello = (await client.call(0, "initialize", HELLO))["result"]
            offers = hello["agentCapabilities"].get("mcpCapabilities", {})
            for number, kind in enumerate(("http", "sse")):
                assert offers.get(kind, False) is allowed, "C11: what is offered is taken"
                params = {"cwd": "/tmp", "mcpServers": [{**inner, "type": kind}]}
                answer = await client.call(f"n{number}", "session/new", params)
                assert ("result" in answer) is allowed, (options, kind)
                if not allowed:
                    assert "MCP" in answer["error"]["message"]
            later = await client.call(2, "_agent/mcp/add", {"sessionId": "s", "server": inner})
            assert ("connects to no MCP" in later["error"]["message"]) is not allowed


async def test_a_child_does_not_get_the_servers_tokens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACPELLA_TOKEN", ALICE)
    monkeypatch.setenv("ACPELLA_TOKEN_FILE", "/secret")
    monkeypatch.setenv("ACPELLA_SERVER_MAX_ID", "1024")
    monkeypatch.setenv("OPENAI_API_KEY", "the agent's own")
    program = tmp_path / "env.py"
    program.write_text(
        "import json, os, sys\n"
        "m = json.loads(sys.stdin.readline())\n"
        "r = {'protocolVersion': 1, '_meta': {'env': sorted(os.environ)}}\n"
        "print(json.dumps({'jsonrpc': '2.0', 'id': 0, 'result': r}), flush=True)\n"
        "sys.stdin.read()\n"
    )
    async with serving([sys.executable, str(program)], token=ALICE) as server:
        async with socket(ws_url(server), bearer(ALICE)) as client:
            names = (await client.call(0, "initialize", HELLO))["result"]["_meta"]["env"]
    assert "OPENAI_API_KEY" in names
    assert not [name for name in names if name.startswith(("ACPELLA_TOKEN", "ACPELLA_SERVER"))]


# -- floods ----------------------------------------------------------------------------------------


async def test_requests_are_limited_by_user() -> None:
    limits = {"requests_per_second": 0.001, "request_burst": 5}
    async with serving(Talker(), limits=limits) as server:
        async with Http(server.url) as client:
            await client.initialize()
            codes = [(await client.post("session/list", id=n)).status_code for n in range(8)]
            assert codes == [202] * 4 + [429] * 4
    async with serving(Talker(), limits=limits) as server, socket(ws_url(server)) as client:
        await client.call(0, "initialize", HELLO)
        answers = [await client.call(n, "session/list", {}) for n in range(1, 8)]
        assert ["error" in answer for answer in answers] == [False] * 4 + [True] * 3
        assert answers[-1]["error"]["code"] == -32001


def test_the_bucket_forgets_who_it_has_not_seen_for_long() -> None:
    now = 0.0
    bucket = RateLimit(1.0, 2, clock=lambda: now)
    assert [bucket.spend("a"), bucket.spend("a"), bucket.spend("a")] == [True, True, False]
    assert bucket.spend("b")
    now = 1.5
    assert [bucket.spend("a"), bucket.spend("a")] == [True, False]
    for number in range(20_000):
        bucket.spend(str(number))
    assert len(bucket._levels) <= 10_000


async def test_a_client_that_dawdles_over_its_headers_or_body_is_dropped() -> None:
    """Slowloris, and a body that never ends."""
    limits = {"header_seconds": 0.3, "body_seconds": 0.3}
    async with serving(Talker(), limits=limits) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"POST /acp HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        async with asyncio.timeout(60):
            try:
                assert await reader.read() == b""
            except ConnectionResetError:
                pass
        writer.close()
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(
            b"POST /acp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b'Content-Length: 1000\r\n\r\n{"jsonrpc"'
        )
        async with asyncio.timeout(60):
            assert (await reader.read()).startswith(b"HTTP/1.1 408")
        writer.close()
        # a connection that is kept alive gets no second chance to dawdle
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        async with asyncio.timeout(3):
            await reader.readuntil(b"ok\n")
            writer.write(b"GET /hea")
            try:
                assert await reader.read() == b""
            except ConnectionResetError:
                pass
        writer.close()


async def test_long_headers_and_half_requests_do_no_harm() -> None:
    async with serving(Talker(), limits={"max_header": 4096}) as server, Http(server.url) as client:
        try:
            answer = await client.http.get(server.url, headers={"X-Long": "x" * 100_000})
            assert answer.status_code in (400, 431)
        except httpx2.HTTPError:
            pass
        for junk in (
            b"\x00\x01\x02",
            b"GET",
            b"POST /acp HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
            b"\r\n\r\n",
        ):
            _, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(junk)
            await writer.drain()
            writer.close()
        assert await client.initialize()


async def test_thousands_of_unknown_connections_leave_no_trace() -> None:
    async with serving(Talker()) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        head = "GET /acp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nAcp-Connection-Id: "
        for start in range(0, 10_000, 100):
            writer.write("".join(f"{head}{start + n:032x}\r\n\r\n" for n in range(100)).encode())
            for _ in range(100):
                assert (await reader.readuntil(b"no such connection\n")).startswith(b"HTTP/1.1 404")
        writer.close()
        assert len(server.app.connections) == 0
        assert server.app.metrics.value("acpella_requests_total", 'method="GET",status="404"') == 10_000


async def test_too_many_requests_at_once_are_refused_one_by_one() -> None:
    async with serving(Talker(), limits={"max_pending": 3}) as server, socket(ws_url(server)) as client:
        session = await client.start()
        others = [
            (await client.call(f"n{n}", "session/new", {"cwd": "/tmp", "mcpServers": []}))["result"][
                "sessionId"
            ]
            for n in range(3)
        ]
        for number, one in enumerate([session, *others]):
            await client.prompt(one, "wait", id=f"w{number}")
        refusal = (await client.until_answer("w3"))[-1]
        assert refusal["error"]["code"] == -32001
        await client.prompt(session, "wait", id="w0")  # an id that is in use
        assert (await client.until_answer("w0"))[-1]["error"]["code"] == -32600


async def test_an_application_can_be_mounted_and_keeps_its_guards() -> None:
    """The same checks below a path of Starlette's."""
    from starlette.applications import Starlette
    from starlette.routing import Mount

    inner = asgi(Talker().agent, token=ALICE, settings=ServerSettings(drain_seconds=0.1))
    app = Starlette(routes=[Mount("/agents", app=inner)], lifespan=inner.lifespan)
    transport = httpx2.ASGITransport(app=app)  # pyright: ignore[reportArgumentType] - any ASGI application
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
        assert (await client.post("/agents/acp", json=body)).status_code == 401
        answer = await client.post("/agents/acp", json=body, headers=bearer(ALICE))
        assert answer.status_code == 200
        assert (await client.get("/agents/healthz")).status_code == 200
    await inner.close()
    assert len(inner.connections) == 0


async def test_a_question_that_was_answered_cannot_be_answered_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Single use, and only on the connection that was asked."""
    caplog.set_level(logging.INFO, "acpella.audit")
    talker = Talker()
    async with serving(talker) as server:
        async with socket(ws_url(server)) as client, socket(ws_url(server)) as other:
            session = await client.start()
            await other.start()
            await client.prompt(session, "ask")
            asked = await client.message()
            yes = {"outcome": {"outcome": "selected", "optionId": "allow_once"}}
            answer = {"jsonrpc": "2.0", "id": asked["id"], "result": yes}
            await other.send(answer)
            assert "result" in await other.call("sync", "session/list")
            assert talker.answers == []
            await client.send({**answer, "result": {"outcome": {"outcome": "cancelled"}}})
            await client.send(answer)
            assert texts(await client.until_answer(2)) == ["no"]
            await eventually(lambda: talker.answers == [False], "the first answer counts")
    told = [
        record.__dict__["facts"]["outcome"]
        for record in caplog.records
        if record.msg == "permission answered"
    ]
    assert told == ["cancelled"]  # and the log knows
