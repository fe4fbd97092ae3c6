"""Who gets in, from where, and what a hostile agent can do to the page: nothing."""

import http.client
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from page_driver import PageDriver
from playwright.sync_api import expect
from web_server import TOKENS, WebServer, running

from acpella.server import app
from acpella.web import page as page_module
from acpella.web import static_files
from acpella.web.static_files import POLICY

OpenPage = Callable[..., PageDriver]

SHOT_AGENT = str(Path(__file__).parent / "payload_agent.py")

PROTECTED = (
    "/acp", "/acp/ticket", "/acp/rpc", "/acp/sse", "/acp/ws", "/message", "/metrics", "/inspect",
    "/inspect/rows", "/nowhere",
)  # fmt: skip
HEALTH = ("/healthz", "/readyz")
"""For whoever watches over the server; they tell no more than that it runs."""


def ask(
    server: WebServer, method: str, path: str, *, body: bytes | None = None, **headers: Any
) -> tuple[int, dict[str, str], str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body=body, headers=named)
        answer = connection.getresponse()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read().decode()
    finally:
        connection.close()


UPGRADE: dict[str, Any] = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec_WebSocket_Version": "13",
    "Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


def static_paths() -> list[str]:
    manifest = json.loads((Path(static_files.__file__).parent / "static" / "manifest.json").read_bytes())
    return [f"/static/{name}" for name in manifest.values() if not name.endswith(".html")]


def test_the_walk_knows_every_route() -> None:
    """A route that is new has to be named above."""
    source = inspect.getsource(app) + inspect.getsource(page_module)
    named = set(re.findall(r"""["'](/[a-z/]+)["']""", source))
    named |= {"/acp" + rest for rest in re.findall(r"""f["']\{path\}(/[a-z]+)["']""", source)}
    assert named <= {*PROTECTED, *HEALTH, "/acp/login"}


def test_nothing_but_the_page_answers_without_credentials(shower: WebServer) -> None:
    for path in PROTECTED:
        for method in ("GET", "POST", "DELETE", "PUT"):
            status, _, _ = ask(shower, method, path)
            assert status in (401, 404, 405), (method, path, status)
            assert not (status == 404 and path.startswith("/acp")), (method, path)
    for path in (*PROTECTED, "/", "/acp/login", *HEALTH, *static_paths()):
        status, _, _ = ask(shower, "GET", path, **UPGRADE)
        assert status in (401, 403, 404), ("upgrade", path, status)
    for path in HEALTH:
        status, _, text = ask(shower, "GET", path)
        assert status == 200 and len(text) < 20


def test_the_page_has_its_policy_and_no_secret(shower: WebServer) -> None:
    status, headers, text = ask(shower, "GET", "/", Accept="text/html")
    assert status == 200
    assert headers["content-security-policy"] == POLICY
    assert "unsafe" not in POLICY and "trusted-types 'none'" in POLICY
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert not any(token in text for token in TOKENS.values())
    script = text.split('type="module" src="')[1].split('"')[0]
    status, headers, _ = ask(shower, "GET", script)
    assert status == 200 and "immutable" in headers["cache-control"]
    assert headers["content-security-policy"] == POLICY


def test_other_names_and_other_origins_are_refused_on_every_route(shower: WebServer) -> None:
    for path in (*PROTECTED, "/", "/acp/login", *static_paths()):
        given: dict[str, Any] = {"Accept": "text/html", "Authorization": f"Bearer {TOKENS['mira']}"}
        strangers: list[dict[str, Any]] = [
            {"Host": f"evil.example:{shower.port}"},
            *({"Origin": origin} for origin in ("https://evil.example", "null", "file://")),
            {"Origin": f"http://127.0.0.1:{shower.port + 1}"},
            {"Sec_Fetch_Site": "cross-site"},
        ]
        for stranger in strangers:
            for more in ({}, UPGRADE):
                status, headers, _ = ask(shower, "GET", path, **given, **stranger, **more)
                assert status == 403, (path, stranger, more, status)
                assert "access-control-allow-origin" not in headers
            assert ask(shower, "POST", path, **given, **stranger)[0] == 403, (path, stranger)


def test_a_socket_of_another_origin_is_refused_even_with_a_ticket(shower: WebServer) -> None:
    status, _, text = ask(shower, "POST", "/acp/ticket", Authorization=f"Bearer {TOKENS['mira']}")
    assert status == 200
    protocol = f"acpella.page, acpella.ticket.{json.loads(text)['ticket']}"
    headers: dict[str, Any] = {
        **UPGRADE,
        "Sec_WebSocket_Protocol": protocol,
        "Origin": "https://evil.example",
    }
    assert ask(shower, "GET", "/acp", **headers)[0] == 403


def test_a_path_cannot_leave_the_built_files(shower: WebServer) -> None:
    for path in ("/static/../page.py", "/static/..%2fpage.py", "/static//etc/passwd", "/static/", "/page.py"):
        assert ask(shower, "GET", path)[0] in (401, 404)


def test_a_launch_code_logs_in_once_and_leaves_the_address(open_page: OpenPage, tmp_path: Path) -> None:
    with running(WebServer(["--", sys.executable, SHOT_AGENT], tmp_path, tokens={})) as server:
        code = server.link.split("#")[1]
        assert len(code) >= 43  # 256 bits
        driver = open_page(server, "")
        driver.page.goto(server.link)
        expect(driver.page.locator(".live.is-live")).to_be_attached()
        assert code not in driver.page.url
        assert code not in driver.page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
        driver.page.reload()  # the token stays in this tab
        expect(driver.page.locator(".live.is-live")).to_be_attached()
        body = json.dumps({"code": code}).encode()
        assert ask(server, "POST", "/acp/login", body=body)[0] == 401
        assert ask(server, "POST", "/acp/login", body=b"{}")[0] == 400
        assert ask(server, "POST", "/acp/ticket")[0] == 401  # on the same machine too
        other = open_page(server, "")
        other.page.goto(server.link)
        expect(other.page.get_by_role("alert")).to_contain_text("used already")


# -- what an agent says ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    server = WebServer(["--", sys.executable, SHOT_AGENT, "hostile"], tmp_path_factory.mktemp("hostile"))
    with running(server):
        yield server


def test_payloads_in_every_field_run_nothing_and_fetch_nothing(
    open_page: OpenPage, hostile: WebServer
) -> None:
    driver = open_page(hostile)
    page = driver.page
    page.evaluate("window.ran = []")
    page.expose_function("pwned", lambda *what: driver.errors.append(f"a script of the agent ran: {what}"))
    driver.say("everything")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    expect(dialog.locator(".ghost").first).to_be_visible()  # hidden characters are shown by their number
    expect(dialog).to_contain_text("invisible")
    driver.answer("a")
    expect(page.locator("dialog form")).to_be_visible()
    page.locator("dialog").get_by_role("button", name="Decline").click(delay=500)
    expect(page.locator("dialog .url")).to_be_visible()
    expect(page.locator("dialog a.btn")).to_have_count(0)  # javascript: is not an address
    page.locator("dialog").get_by_role("button", name="Decline").click(delay=500)
    driver.wait_done()
    for closed in (".log details:not([open]) > summary", '.log .tool-foot [aria-expanded="false"]'):
        page.evaluate("(what) => document.querySelectorAll(what).forEach((one) => one.click())", closed)
        page.wait_for_function("(what) => document.querySelector(what) === null", arg=closed)
    forbidden = (
        "script, iframe, object, embed, link, style, base, [onerror], [onload], [style*=fixed], "
        'form[action], a[href^="javascript"], a[href^="data"], img:not([src^="blob:"])'
    )
    found = page.evaluate(
        "(what) => [...document.querySelectorAll(`#app :is(${what})`)].map(e => e.outerHTML)", forbidden
    )
    assert found == []
    assert page.evaluate("window.ran") == []
    links = page.evaluate("[...document.querySelectorAll('#app a[href]')].map(a => new URL(a.href).protocol)")
    assert set(links) <= {"http:", "https:", "mailto:"}
