"""A client that is not ours works in a browser against the server that offers the page."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from page_driver import PageDriver
from test_page_fold import WEB, node
from test_page_security import ask
from web_server import TOKENS, WebServer

OpenPage = Callable[..., PageDriver]

HERE = Path(__file__).parent
PEERS = HERE.parent / "peers" / "node_modules"
BUILD = """
const { createRequire } = require("node:module");
const [web, entry, peers] = process.argv.slice(1);
const esbuild = createRequire(web + "/package.json")("esbuild");
const options = { entryPoints: [entry], bundle: true, format: "iife", write: false, nodePaths: [peers] };
process.stdout.write(esbuild.buildSync({ ...options, platform: "browser" }).outputFiles[0].text);
"""


def test_the_official_typescript_sdk_talks_from_a_browser(open_page: OpenPage, shower: WebServer) -> None:
    if not (PEERS / "@agentclientprotocol" / "sdk").is_dir():
        pytest.skip("the official TypeScript SDK is not installed; `make unit` installs it")
    command = [node(), "-e", BUILD, str(WEB), str(HERE / "browser_client.mjs"), str(PEERS)]
    script = subprocess.run(command, capture_output=True, timeout=120, check=True).stdout.decode()
    # of the server's own origin, and without the policy of our page, which the SDK's reader does not keep
    driver = open_page(shower, clean=False, bypass_csp=True)
    driver.page.evaluate(script)
    ticket = driver.page.evaluate(
        """async (token) => {
          const headers = { Authorization: `Bearer ${token}` };
          return (await (await fetch("/acp/ticket", { method: "POST", headers })).json()).ticket;
        }""",
        TOKENS["mira"],
    )
    url = shower.url.replace("http", "ws") + "/acp"
    words = [url, ticket, str(shower.directory / "project"), ["hello", "ask browser"]]
    result = driver.page.evaluate("(words) => converse(...words)", words)
    assert result["name"] == "shower" and result["stops"] == ["end_turn", "end_turn"]
    assert result["asked"] and "You said: hello" in result["said"] and "allowed: True" in result["said"]
    used: dict[str, Any] = {"Sec_WebSocket_Protocol": f"acpella.ticket.{ticket}", "Origin": shower.url}
    upgrade: dict[str, Any] = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Version": "13"}
    key: dict[str, Any] = {"Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ=="}
    assert ask(shower, "GET", "/acp", **upgrade, **key, **used)[0] == 401  # a ticket is good once
