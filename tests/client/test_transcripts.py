"""Conversations of real agents, played back to our client by a real process.

The ones of `recordings/` are written by hand in the shape that `connect(record=...)` writes. Those of seven
real agents are read from the folder that `ACPELLA_TRANSCRIPTS` names, or from a `transcripts` folder near the
repository: they are too large, and not ours, to be part of it.
"""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from acpella.client import ClientSession, ConnectedAgent, Permissions, Workspace, connect, read_recording
from acpella.errors import RpcError
from acpella.schema import (
    ListSessionsRequest,
    LoadSessionRequest,
    ResumeSessionRequest,
    Unknown,
    methods,
)

pytestmark = pytest.mark.anyio

HERE = Path(__file__).parent
OWN = sorted((HERE / "recordings").glob("*.jsonl"))
NEAR = next(HERE.parents[2].glob("*/transcripts"), HERE.parents[2] / "transcripts")
REAL = Path(os.environ.get("ACPELLA_TRANSCRIPTS") or NEAR)
NAMES = ["claude", "codexz", "deepagents", "gemini", "opencode", "pi", "vibe"]

DIRECT: dict[str, Any] = {
    "session/list": lambda params: (methods.LIST_SESSIONS, ListSessionsRequest(cwd=params.get("cwd"))),
    "session/load": lambda params: (
        methods.LOAD_SESSION,
        LoadSessionRequest(session_id=params["sessionId"], cwd=params["cwd"], mcp_servers=[]),
    ),
    "session/resume": lambda params: (
        methods.RESUME_SESSION,
        ResumeSessionRequest(session_id=params["sessionId"], cwd=params["cwd"]),
    ),
}
"""Requests that a recording holds although the agent may not have offered them."""


class Playback:
    """Our client's part: does what the recorded client did, and compares what it makes of the answers."""

    def __init__(self, path: Path, number: int, project: Path) -> None:
        frames = read_recording(path)[number]
        self.conversation = [(f.direction, f.message) for f in frames if isinstance(f.message, dict)]
        self._recorded_noise = [f for f in frames if f.direction == "in" and isinstance(f.message, str)]
        replay = [sys.executable, "-m", "acpella", "replay", str(path), "--connection", str(number + 1)]
        self._command = [*replay, "--match", "order"]
        self._project = project
        self._noise: list[Any] = []
        self._session: ClientSession | None = None

    async def run(self) -> None:
        agent = connect(
            self._command,
            files=Workspace(write=True),
            terminals=True,
            permissions=Permissions("allow-all"),
            on_noise=self._noise.append,
        )
        async with agent:
            for place, (direction, message) in enumerate(self.conversation):
                if direction == "out" and "method" in message and message["method"] != "initialize":
                    await self._repeat(agent, message, self._answer_to(place, message))
        assert len(self._noise) == len(self._recorded_noise)

    def _answer_to(self, place: int, message: dict[str, Any]) -> dict[str, Any]:
        for direction, later in self.conversation[place:]:
            if direction == "in" and "method" not in later and later.get("id") == message.get("id"):
                return later
        return {}

    def _updates_until(self, message: dict[str, Any], answer: dict[str, Any]) -> list[dict[str, Any]]:
        frames = [frame for _, frame in self.conversation]
        part = frames[frames.index(message) : frames.index(answer)]
        return [f["params"]["update"] for f in part if f.get("method") == "session/update"]

    async def _repeat(self, agent: ConnectedAgent, message: dict[str, Any], answer: dict[str, Any]) -> None:
        method, params = message["method"], message["params"]
        if "error" in answer:
            kind, request = DIRECT[method](params)
            with pytest.raises(RpcError) as caught:
                await agent.call(kind, request)
            assert caught.value.code == answer["error"]["code"]
        elif method == "session/new":
            self._recorded_cwd = params["cwd"]
            self._session = await agent.new_session(self._project)
            assert self._session.id == answer["result"]["sessionId"]
            self._check_state(self._session, answer["result"])
        elif method == "session/load":
            heard: list[Any] = []
            session = await agent.load_session(params["sessionId"], self._project, on_update=heard.append)
            assert len(heard) >= len(self._updates_until(message, answer))
            self._check_state(session, answer["result"] or {})
        elif method == "session/prompt":
            await self._prompt(params, answer, self._updates_until(message, answer))
        else:
            kind, request = DIRECT[method](params)
            page = await agent.call(kind, request)
            sessions = (answer["result"] or {}).get("sessions", [])
            assert [info.session_id for info in page.sessions] == [info["sessionId"] for info in sessions]

    @staticmethod
    def _check_state(session: ClientSession, result: dict[str, Any]) -> None:
        if modes := result.get("modes"):
            assert session.mode == modes["currentModeId"]
        assert len(session.options) == len(result.get("configOptions") or [])
        if models := result.get("models"):
            assert session.models is not None
            assert session.models.current_model_id == models["currentModelId"]

    async def _prompt(self, params: Any, answer: dict[str, Any], told: list[dict[str, Any]]) -> None:
        assert self._session is not None
        turn = self._session.prompt(params["prompt"][0]["text"])
        updates = [update async for update in turn]
        assert not any(isinstance(update, Unknown) for update in updates)
        assert len(updates) >= len(told)  # and what the agent said about the session just before
        words = "".join(u["content"]["text"] for u in told if u["sessionUpdate"] == "agent_message_chunk")
        words = words.replace(self._recorded_cwd, str(self._project))
        # blank lines stand between messages that the agent told apart
        assert "".join(turn.text.split()).endswith("".join(words.split()))
        calls = {u["toolCallId"] for u in told if u["sessionUpdate"].startswith("tool_call")}
        assert calls <= set(turn.result.tool_calls)
        for call_id in calls:
            last = [u["status"] for u in told if u.get("toolCallId") == call_id and u.get("status")]
            status = last[-1] if last else "pending"
            open_at_the_end = status in ("pending", "in_progress")
            assert turn.result.tool_calls[call_id].status == ("unfinished" if open_at_the_end else status)
        assert turn.stop_reason == answer["result"]["stopReason"]


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.stem)
async def test_a_recording_is_understood(path: Path, project: Path) -> None:
    async with asyncio.timeout(30):
        for number in range(len(read_recording(path))):
            await Playback(path, number, project).run()


@pytest.mark.parametrize("name", NAMES)
async def test_the_transcript_of_a_real_agent_is_understood(name: str, project: Path) -> None:
    path = REAL / f"{name}.jsonl"
    if not path.exists():
        pytest.skip("ACPELLA_TRANSCRIPTS names no folder with transcripts of real agents")
    async with asyncio.timeout(60):
        for number in range(len(read_recording(path))):
            await Playback(path, number, project).run()
