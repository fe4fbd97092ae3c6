"""Each requirement of agents is broken once: the right one finds it, and no other must does."""

import asyncio
import sys
from pathlib import Path

import pytest
from agent_defects import ENUMS, READ
from sample_agent import SampleAgent
from sample_check import check_sample

from acpella.check import (
    AGENT_AREAS,
    FAKE_MODEL,
    AgentCheck,
    Area,
    Auditor,
    CheckSelection,
    PromptProfile,
    RequirementResult,
)
from acpella.client.targets import InProcess
from acpella.testing import FaultyChannel, faults
from acpella.transport import ProcessChannel

pytestmark = pytest.mark.anyio

SAMPLE = Path(__file__).parent / "sample_agent.py"
MUSTS = [r.id for area in AGENT_AREAS for r in area.requirements if r.level == "must"]

ALONE = {"initialize.version-1", "sessions.new", "prompt.text", "options.ignored", "cancel.soon"}
"""Without these nothing else works, or not in time, so that other musts fail with them."""

SPOKEN = {
    "login.authenticate-answer-schema",
    "login.logout-answer-schema",
    "login.remedy",
    "login.after-login",
}
"""Nobody is logged in or out by a check; these are seen in recordings."""

WAITS = {*READ, "prompt.second-while-busy", "prompt.others-while-busy", "messages.in-pieces"}
"""Found by an answer that never comes."""

PROCESS = {"messages.exit-at-end"}
"""About a process of its own."""


async def test_the_faultless_agent_passes_everything() -> None:
    report = await check_sample(patience=20)
    assert [
        (r.requirement.id, r.text) for r in report.results if r.outcome not in ("pass", "not-applicable")
    ] == []
    seen = {r.requirement.id for r in report.results if r.outcome == "pass"}
    unseen = {r.requirement.id for r in report.results} - seen
    assert unseen == SPOKEN | PROCESS | {"messages.trace-context", "messages.cancel-request"}
    assert report.conforms


async def test_an_agent_that_takes_long_to_start_is_not_called_silent() -> None:
    ids = ("messages.string-id", "messages.zero-id", "messages.in-pieces", "initialize.version-1")
    check = AgentCheck(
        lambda directory: FaultyChannel(InProcess(SampleAgent()), faults.delay(1.5, way="in")),
        "sample",
        selection=CheckSelection(ids),
        patience=1,
    )
    report = await check.run()
    assert len(report.results) == len(ids)
    assert [(r.requirement.id, r.text) for r in report.results if r.outcome not in ("pass", "unstable")] == []


async def broken(defect: str, slots: asyncio.Semaphore) -> str | None:
    """What is wrong with how a defect was found."""
    async with slots:
        only = [defect] if defect in ALONE else [defect, *MUSTS]
        report = await check_sample(defect, *only, patience=5 if defect in WAITS else 15)
    bad = {r.requirement.id: r for r in report.results if r.outcome in ("fail", "error")}
    if defect not in bad or bad[defect].outcome != "fail":
        return f"{defect} was not found: {[r for r in report.results if r.requirement.id == defect]}"
    others = [id for id in bad if id in MUSTS and id != defect]
    return f"{defect} was also found by {others}" if others else None


@pytest.mark.parametrize("area", AGENT_AREAS, ids=lambda area: area.name)
async def test_each_defect_is_found_by_its_requirement_and_no_other_must(area: Area) -> None:
    slots = asyncio.Semaphore(16)
    ids = [r.id for r in area.requirements if r.id not in SPOKEN | PROCESS]
    found = await asyncio.gather(*(broken(id, slots) for id in ids))
    assert [problem for problem in found if problem is not None] == []


@pytest.mark.parametrize("defect", ENUMS)
async def test_a_value_that_a_closed_enumeration_lacks_is_found_by_the_schema(defect: str) -> None:
    id = defect.partition(" ")[0]
    found = {r.requirement.id: r for r in (await check_sample(defect, id, patience=10)).results}
    assert found[id].outcome == "fail" and "Invalid enum value" in found[id].text, found


async def test_an_agent_that_leaves_unknown_requests_unanswered_is_accused_of_that_alone() -> None:
    found = await check_sample("silent about the unknown", *MUSTS, "messages", "prompt", patience=2)
    outcomes = {r.requirement.id: r.outcome for r in found.results}
    assert {id for id, outcome in outcomes.items() if outcome in ("fail", "error")} == {
        "messages.custom-request",
        "messages.custom-request-code",
        "messages.unknown-method",
    }
    assert {id for id in MUSTS if outcomes[id] == "unproved"} == {"robust.many-requests"}


async def test_what_needs_a_session_is_unproved_for_an_agent_that_never_makes_one() -> None:
    report = await check_sample("session_id", patience=2)
    found = {r.requirement.id: r for r in report.results}
    failed = {id for id, r in found.items() if r.outcome in ("fail", "error")}
    assert failed == {"sessions.new", "sessions.new-answer-schema", "messages.extra-fields"}
    for id in ("modes.set", "prompt.text", "robust.not-json"):
        assert found[id].outcome == "unproved" and "see sessions.new" in found[id].text
    assert "modes.set" not in {r.requirement.id for r in report.against()}


CANCELS = {f"cancel.{word}" for word in ("mid-turn", "no-error", "soon", "goes-on", "twice")}
QUICK = PromptProfile({"hello": "!say hello"})
LONG = PromptProfile({"hello": "!slow"})


async def test_whether_a_quick_turn_was_cancelled_in_time_is_not_left_to_luck() -> None:
    """It neither passes nor counts against the agent, and the line that proves it is told."""
    late = "prompt.late-after-cancel"
    found = await outcomes("", *CANCELS, late, profile=QUICK)
    assert {(found[id].outcome, "slow = " in found[id].text) for id in CANCELS} == {("not-applicable", True)}
    assert found[late].outcome == "pass"


async def test_a_turn_that_takes_long_is_cancelled_without_a_prompt_for_slow() -> None:
    ids = ("cancel.mid-turn", "cancel.no-error", "cancel.soon")
    assert {r.outcome for r in (await outcomes("", *ids, profile=LONG)).values()} == {"pass"}
    for id in ids[:2]:
        assert (await outcomes(id, id, profile=LONG))[id].outcome == "fail"


UNSEEN = PromptProfile({**FAKE_MODEL, "ask": "!run true", "run": "!run true", "read": "!read /dev/null"})
"""Prompts without placeholders: nothing of what the tools do can be looked for."""


async def outcomes(defect: str, *only: str, profile: PromptProfile) -> dict[str, RequirementResult]:
    report = await check_sample(defect, *only, patience=10, profile=profile)
    return {r.requirement.id: r for r in report.results}


async def test_a_right_agent_is_not_accused_for_a_command_that_its_prompt_never_named() -> None:
    found = await outcomes("", "permission", profile=UNSEEN)
    assert {id: r.text for id, r in found.items() if r.outcome not in ("pass", "not-applicable")} == {}


@pytest.mark.parametrize("id", ["permission.reject", "permission.cancelled-outcome"])
async def test_a_call_that_completes_after_a_refusal_is_found_without_a_command(id: str) -> None:
    result = (await outcomes(id, id, profile=UNSEEN))[id]
    assert result.outcome == "fail" and "reported as completed" in result.text
    assert ['"method":"session/prompt"' in f for f in result.frames] == [False] * 4
    question, answer, update, end = result.frames
    assert question.startswith("< ") and "session/request_permission" in question
    assert answer.startswith("> ") and '"outcome"' in answer
    assert "completed" in update and "stopReason" in end


async def test_a_tool_call_whose_end_is_not_told_proves_nothing() -> None:
    found = await outcomes("tools.finished", "permission.allow", "permission.reject", profile=UNSEEN)
    assert [(r.outcome, "{command}" in r.text) for r in found.values()] == [("unproved", True)] * 2


async def test_what_a_prompt_does_not_name_is_not_looked_for() -> None:
    found = await outcomes("files.missing", "files.missing", "sessions.cwd", profile=UNSEEN)
    assert {id: (r.outcome, r.text.partition(",")[0]) for id, r in found.items()} == {
        "files.missing": ("unproved", "the prompt 'read' of the profile does not name {file}"),
        "sessions.cwd": ("unproved", "the prompt 'run' of the profile does not name {command}"),
    }


async def run_process(defect: str) -> RequirementResult:
    check = AgentCheck(
        lambda directory: ProcessChannel([sys.executable, str(SAMPLE), defect]),
        "sample",
        selection=CheckSelection(("messages.exit-at-end",)),
    )
    return (await check.run()).results[0]


async def test_an_agent_that_outlives_its_input_is_found() -> None:
    good, bad = await asyncio.gather(run_process(""), run_process("messages.exit-at-end"))
    assert good.outcome == "pass"
    assert bad.outcome == "fail"


def spoken(*messages: tuple[str, dict[str, object]]) -> set[str]:
    """The audits that complain about a conversation."""
    auditor = Auditor([audit for area in AGENT_AREAS for audit in area.audits], "agent")
    found: set[str] = set()
    for way, message in messages:
        _, findings = auditor.see(way, {"jsonrpc": "2.0", **message})  # type: ignore[arg-type]
        found |= {finding.id for finding in findings}
    return found


def test_a_conversation_in_version_2_is_not_judged_by_the_rules_of_version_1() -> None:
    answer = {"protocolVersion": 2, "info": {"name": "a"}, "capabilities": {}}
    asked = {"id": 1, "method": "initialize", "params": {"protocolVersion": 65535}}
    odd = {"method": "session/update", "params": {"sessionId": 7}}
    assert spoken(("out", asked), ("in", {"id": 1, "result": answer}), ("in", odd)) == set()


START = (
    ("out", {"id": 1, "method": "initialize", "params": {"protocolVersion": 1}}),
    (
        "in",
        {
            "id": 1,
            "result": {
                "protocolVersion": 1,
                "agentCapabilities": {},
                "agentInfo": {"name": "a", "version": "1"},
            },
        },
    ),
)
NEW = ("out", {"id": 2, "method": "session/new", "params": {"cwd": "/", "mcpServers": []}})
WANTS_LOGIN = ("in", {"id": 2, "error": {"code": -32000, "message": "Authentication required"}})


def test_an_agent_that_wants_a_login_and_lists_none_is_found() -> None:
    assert spoken(*START, NEW, WANTS_LOGIN) == {"login.remedy"}


def test_an_agent_that_wants_a_login_after_one_is_found() -> None:
    login = ("out", {"id": 9, "method": "authenticate", "params": {"methodId": "x"}})
    assert "login.after-login" in spoken(*START, login, ("in", {"id": 9, "result": {}}), NEW, WANTS_LOGIN)


@pytest.mark.parametrize("method", ["authenticate", "logout"])
def test_answers_to_logins_are_checked(method: str) -> None:
    asked = ("out", {"id": 9, "method": method, "params": {"methodId": "x"}})
    assert spoken(*START, asked, ("in", {"id": 9, "result": {}})) == set()
    assert spoken(*START, asked, ("in", {"id": 9, "result": "yes"})) == {f"login.{method}-answer-schema"}
