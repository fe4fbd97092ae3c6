"""Each requirement of clients is broken once: the right one finds it, and no other must does."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sample_client import FATAL, IGNORED, SampleClient

from acpella.check import CLIENT_AREAS, Area, Auditor, CheckSelection, ClientCheck, Report
from acpella.transport import memory_pair

pytestmark = pytest.mark.anyio

HERE = Path(__file__).parent
MUSTS = [r.id for area in CLIENT_AREAS for r in area.requirements if r.level == "must"]

BARE = {
    "client.files.read-not-offered",
    "client.files.write-not-offered",
    "client.terminals.not-offered",
    "client.elicitation.form-not-offered",
}
"""About clients that offer nothing."""

USER = {"client.prompt.cancel", "client.permission.cancelled"}
"""The user has to cancel."""

SPOKEN = {
    "client.initialize.authenticate-schema",
    "client.initialize.login-not-terminal",
    "client.sessions.resume-schema",
    "client.sessions.delete-schema",
    "client.sessions.load-gate",
    "client.sessions.list-gate",
    "client.sessions.close-gate",
    "client.sessions.directories-absolute",
}
"""About agents that offer something else than the one that leads clients; seen in recordings."""

RARE = {
    "client.messages.trace-context",
    "client.messages.cancel-request",
    "client.initialize.login-listed",
    "client.sessions.mcp-absolute",
    "client.sessions.list-cursor",
}
"""The faultless client has no reason to do these."""


async def check_client(
    directory: Path,
    defect: str = "",
    *only: str,
    bare: bool = False,
    prompt: str = "all",
    patience: float = 10,
) -> Report:
    """Lead the sample client through the scenarios, over channels in memory."""
    here, there = memory_pair()
    check = ClientCheck(selection=CheckSelection(only), patience=patience)
    client = SampleClient(defect, str(directory), bare=bare, prompt=prompt)
    async with asyncio.TaskGroup() as both:
        both.create_task(check.serve(here))
        both.create_task(client.run_on(there))
    return check.report()


async def test_the_faultless_client_passes_everything(tmp_path: Path) -> None:
    report = await check_client(tmp_path)
    bad = [(r.requirement.id, r.text) for r in report.results if r.outcome in ("fail", "error")]
    assert bad == []
    unseen = {r.requirement.id for r in report.results if r.outcome != "pass"}
    assert unseen == BARE | USER | (SPOKEN - {id for id in SPOKEN if id.endswith("-gate")}) | RARE
    assert report.conforms and report.peer == "sample 1"


async def test_a_client_that_offers_nothing_passes(tmp_path: Path) -> None:
    report = await check_client(tmp_path, bare=True)
    assert [(r.requirement.id, r.text) for r in report.results if r.outcome in ("fail", "error")] == []
    assert {r.requirement.id for r in report.results if r.outcome == "pass"} >= BARE


async def test_a_user_who_cancels_is_seen(tmp_path: Path) -> None:
    report = await check_client(tmp_path, "", *USER, prompt="prompt.cancel")
    assert {r.requirement.id: r.outcome for r in report.results} == dict.fromkeys(USER, "pass")


async def broken(defect: str, directory: Path, slots: asyncio.Semaphore) -> str | None:
    """What is wrong with how a defect was found."""
    os.mkdir(directory)
    slow = defect in FATAL or defect in IGNORED
    async with slots:
        report = await check_client(
            directory,
            defect,
            defect,
            *MUSTS,
            bare=defect in BARE,
            prompt="prompt.cancel" if defect in USER else "all",
            patience=5 if slow else 15,
        )
    bad = {r.requirement.id for r in report.results if r.outcome in ("fail", "error")}
    if defect not in bad:
        return f"{defect} was not found: {[r for r in report.results if r.requirement.id == defect]}"
    others = [id for id in bad if id in MUSTS and id != defect]
    return f"{defect} was also found by {others}" if others else None


@pytest.mark.parametrize("area", CLIENT_AREAS, ids=lambda area: area.name)
async def test_each_defect_of_a_client_is_found_by_its_requirement(area: Area, tmp_path: Path) -> None:
    slots = asyncio.Semaphore(12)
    ids = [r.id for r in area.requirements if r.id not in SPOKEN]
    found = await asyncio.gather(*(broken(id, tmp_path / id, slots) for id in ids))
    assert [problem for problem in found if problem is not None] == []


def spoken(capabilities: Any, method: str, params: Any, *, logins: Any = ()) -> set[str]:
    """The audits that complain about a request to an agent that offers something."""
    auditor = Auditor([audit for area in CLIENT_AREAS for audit in area.audits], "client")
    hello = {"protocolVersion": 1, "clientInfo": {"name": "c", "version": "1"}}
    offer = {"protocolVersion": 1, "agentCapabilities": capabilities, "authMethods": list(logins)}
    auditor.see("out", {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
    auditor.see("in", {"jsonrpc": "2.0", "id": 1, "result": offer})
    _, findings = auditor.see("out", {"jsonrpc": "2.0", "id": 2, "method": method, "params": params})
    return {finding.id for finding in findings}


def test_what_only_some_agents_offer_is_checked() -> None:
    opened = {"sessionId": "s", "cwd": "/", "mcpServers": []}
    every = {
        "loadSession": True,
        "sessionCapabilities": {"resume": {}, "delete": {}, "additionalDirectories": {}},
    }
    login = {"id": "t", "name": "T", "type": "terminal"}
    assert spoken(every, "session/load", opened) == set()
    assert spoken({}, "session/load", opened) == {"client.sessions.load-gate"}
    assert spoken({}, "session/list", {}) == {"client.sessions.list-gate"}
    assert spoken({}, "session/close", {"sessionId": "s"}) == {"client.sessions.close-gate"}
    assert spoken(every, "session/resume", {**opened, "cwd": "/", "mcpServers": 3}) == {
        "client.sessions.resume-schema"
    }
    assert spoken(every, "session/delete", {}) == {"client.sessions.delete-schema"}
    bad = {**opened, "additionalDirectories": ["x"]}
    assert spoken(every, "session/load", bad) == {"client.sessions.directories-absolute"}
    assert "client.initialize.authenticate-schema" in spoken({}, "authenticate", {})
    assert spoken({}, "authenticate", {"methodId": "t"}, logins=[login]) == {
        "client.initialize.login-not-terminal"
    }


def test_a_client_starts_the_command_and_a_report_is_written(tmp_path: Path) -> None:
    report, data = tmp_path / "report.txt", tmp_path / "report.json"
    agent = [
        sys.executable,
        "-m",
        "acpella",
        "check",
        "--client",
        "--report",
        str(report),
        "--json",
        str(data),
    ]
    ran = subprocess.run(
        [sys.executable, str(HERE / "sample_client.py"), *agent],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        env={name: value for name, value in os.environ.items() if name != "GITHUB_STEP_SUMMARY"},
    )
    assert ran.returncode == 0, ran.stderr
    assert "conforms" in report.read_text(encoding="utf-8").splitlines()[-1]
    assert json.loads(data.read_text(encoding="utf-8"))["side"] == "client"
