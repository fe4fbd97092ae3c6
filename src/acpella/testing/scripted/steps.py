"""What a scripted agent does, one step after the other.

Steps are plain data, so a script can be handed to another process as it is.
"""

import random
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

__all__ = [
    "Acting",
    "End",
    "Json",
    "Step",
    "ask",
    "call",
    "crash",
    "fail",
    "garbage",
    "notify",
    "plan",
    "raw",
    "repeat",
    "reply",
    "say",
    "say_answers",
    "stall",
    "stderr",
    "stop",
    "think",
    "tool",
    "update",
    "wait",
]

Json: TypeAlias = dict[str, Any]

OPTIONS: tuple[Json, ...] = (
    {"optionId": "allow", "name": "Allow", "kind": "allow_once"},
    {"optionId": "allow-always", "name": "Always allow", "kind": "allow_always"},
    {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
)
"""What a question offers unless the script says otherwise."""


class End(Exception):
    """Raised when a request is answered: the rest of its script is skipped."""

    def __init__(self, answer: Json) -> None:
        super().__init__(answer)
        self.answer = answer


class Acting(Protocol):
    """The agent while it carries out the script of one request."""

    session: str
    answers: list[Any]
    """What the client has answered in this turn: results and errors."""

    def new_tool_call_id(self) -> str: ...

    async def update(self, fields: Json) -> None: ...

    async def call(self, method: str, params: Json) -> Json:
        """The client's whole answer."""
        ...

    async def notify(self, method: str, params: Json) -> None: ...

    async def write(self, data: bytes) -> None: ...

    async def write_stderr(self, text: str) -> None: ...

    async def wait(self, seconds: float | None) -> None: ...

    async def stall(self) -> None: ...

    async def crash(self, code: int) -> None: ...

    async def play(self, steps: "tuple[Step, ...]") -> None: ...


class _Step(msgspec.Struct, frozen=True, tag_field="do", kw_only=True, omit_defaults=True):
    async def play(self, act: Acting) -> None:
        raise NotImplementedError


class _Update(_Step, frozen=True, tag="update"):
    fields: Json

    async def play(self, act: Acting) -> None:
        await act.update(self.fields)


class _Tool(_Step, frozen=True, tag="tool"):
    title: str
    kind: str
    status: str
    fields: Json
    steps: "tuple[Step, ...]" = ()

    async def play(self, act: Acting) -> None:
        call_id = act.new_tool_call_id()
        head = {"toolCallId": call_id, "title": self.title, "kind": self.kind, "status": "in_progress"}
        await act.update({"sessionUpdate": "tool_call", **head})
        await act.play(self.steps)
        await act.update(
            {"sessionUpdate": "tool_call_update", "toolCallId": call_id, "status": self.status, **self.fields}
        )


class _Ask(_Step, frozen=True, tag="ask"):
    title: str
    kind: str
    options: tuple[Json, ...]
    allowed: "tuple[Step, ...]" = ()
    refused: "tuple[Step, ...]" = ()

    async def play(self, act: Acting) -> None:
        call: Json = {"toolCallId": act.new_tool_call_id(), "title": self.title, "kind": self.kind}
        await act.update({"sessionUpdate": "tool_call", **call, "status": "pending"})
        question = {"sessionId": act.session, "toolCall": call, "options": list(self.options)}
        answer = await act.call("session/request_permission", question)
        allows = self._allows(answer)
        await act.play(self.allowed if allows else self.refused)
        status = "completed" if allows else "failed"
        await act.update(
            {"sessionUpdate": "tool_call_update", "toolCallId": call["toolCallId"], "status": status}
        )

    def _allows(self, answer: Json) -> bool:
        try:
            chosen = answer["result"]["outcome"]["optionId"]
        except (KeyError, TypeError):
            return False
        kinds = {option["optionId"]: option["kind"] for option in self.options}
        return str(kinds.get(chosen, "")).startswith("allow")


class _Call(_Step, frozen=True, tag="call"):
    method: str
    params: Json

    async def play(self, act: Acting) -> None:
        await act.call(self.method, _in_session(act, self.params))


class _SayAnswers(_Step, frozen=True, tag="say_answers"):
    before: str

    async def play(self, act: Acting) -> None:
        text = self.before + msgspec.json.encode(act.answers).decode()
        await say(text).play(act)


class _Notify(_Step, frozen=True, tag="notify"):
    method: str
    params: Json

    async def play(self, act: Acting) -> None:
        await act.notify(self.method, _in_session(act, self.params))


class _Wait(_Step, frozen=True, tag="wait"):
    seconds: float | None = None

    async def play(self, act: Acting) -> None:
        await act.wait(self.seconds)


class _End(_Step, frozen=True, tag="end"):
    answer: Json

    async def play(self, act: Acting) -> None:
        raise End(self.answer)


class _Raw(_Step, frozen=True, tag="raw"):
    data: bytes

    async def play(self, act: Acting) -> None:
        await act.write(self.data)


class _Garbage(_Step, frozen=True, tag="garbage"):
    size: int
    seed: int

    async def play(self, act: Acting) -> None:
        dice = random.Random(self.seed)
        for start in range(0, self.size, 1 << 16):
            await act.write(dice.randbytes(min(1 << 16, self.size - start)))
        await act.write(b"\n")


class _Stderr(_Step, frozen=True, tag="stderr"):
    text: str
    times: int

    async def play(self, act: Acting) -> None:
        for _ in range(self.times):
            await act.write_stderr(self.text)


class _Stall(_Step, frozen=True, tag="stall"):
    async def play(self, act: Acting) -> None:
        await act.stall()


class _Crash(_Step, frozen=True, tag="crash"):
    code: int

    async def play(self, act: Acting) -> None:
        await act.crash(self.code)


class _Repeat(_Step, frozen=True, tag="repeat"):
    times: int
    steps: "tuple[Step, ...]"

    async def play(self, act: Acting) -> None:
        for _ in range(self.times):
            await act.play(self.steps)


Step: TypeAlias = (
    _Update
    | _Tool
    | _Ask
    | _Call
    | _SayAnswers
    | _Notify
    | _Wait
    | _End
    | _Raw
    | _Garbage
    | _Stderr
    | _Stall
    | _Crash
    | _Repeat
)
"""One thing that a scripted agent does. Made by functions such as `say` and `ask`."""


def _in_session(act: Acting, params: Json) -> Json:
    return {"sessionId": act.session, **params} if act.session else params


# -- what scripts are written with ---------------------------------------------------------------------


def say(text: str) -> Step:
    """Say something: a chunk of the agent's message."""
    return update("agent_message_chunk", content={"type": "text", "text": text})


def think(text: str) -> Step:
    """Think something: a chunk of the agent's thoughts."""
    return update("agent_thought_chunk", content={"type": "text", "text": text})


def plan(*entries: str) -> Step:
    """Show a plan with these entries, none of them done."""
    listed = [{"content": entry, "priority": "medium", "status": "pending"} for entry in entries]
    return update("plan", entries=listed)


def update(kind: str, /, **fields: Any) -> Step:
    """Send any `session/update`; `fields` are named as on the wire."""
    return _Update(fields={"sessionUpdate": kind, **fields})


def tool(
    title: str,
    *steps: Step,
    kind: str = "other",
    status: Literal["completed", "failed"] = "completed",
    **fields: Any,
) -> Step:
    """Show a tool call that runs `steps` and ends with `status`; `fields` go with its end."""
    return _Tool(title=title, kind=kind, status=status, fields=fields, steps=steps)


def ask(
    title: str,
    *,
    kind: str = "edit",
    options: tuple[Json, ...] = OPTIONS,
    allowed: tuple[Step, ...] = (),
    refused: tuple[Step, ...] = (),
) -> Step:
    """Ask the user for permission, then go on with `allowed` or `refused`."""
    return _Ask(title=title, kind=kind, options=options, allowed=allowed, refused=refused)


def call(method: str, /, **params: Any) -> Step:
    """Call the client, such as `call("fs/read_text_file", path="/a.txt")`, and wait for its answer.

    The answer is in `ScriptedAgent.received`; an agent in another process can `say_answers`. The session is
    added.
    """
    return _Call(method=method, params=params)


def say_answers(before: str = "") -> Step:
    """Say, after some words, what the client has answered in this turn: a JSON list of results and errors."""
    return _SayAnswers(before=before)


def notify(method: str, /, **params: Any) -> Step:
    """Send the client a notification; the session is added."""
    return _Notify(method=method, params=params)


def wait(seconds: float | None = None) -> Step:
    """Do nothing for some seconds; without a number, until the client cancels the turn."""
    return _Wait(seconds=seconds)


def stop(reason: str = "end_turn") -> Step:
    """End the turn now, for this reason."""
    return _End(answer={"result": {"stopReason": reason}})


def reply(**result: Any) -> Step:
    """Answer the request with this result."""
    return _End(answer={"result": result})


def fail(message: str, *, code: int = -32603, **data: Any) -> Step:
    """Answer the request with an error."""
    error = {"code": code, "message": message, **({"data": data} if data else {})}
    return _End(answer={"error": error})


def raw(data: str | bytes) -> Step:
    """Write this unchanged; a complete message needs a newline at its end."""
    return _Raw(data=data if isinstance(data, bytes) else data.encode())


def garbage(size: int = 1024, *, seed: int = 0) -> Step:
    """Write random bytes and a newline."""
    return _Garbage(size=size, seed=seed)


def stderr(text: str, *, times: int = 1) -> Step:
    """Write to stderr, `times` times for a flood. Without effect unless the agent is a process."""
    return _Stderr(text=text, times=times)


def stall() -> Step:
    """Read nothing and say nothing from now on."""
    return _Stall()


def crash(code: int = 1) -> Step:
    """End at once without an answer. A process exits with this code; otherwise the connection ends."""
    return _Crash(code=code)


def repeat(times: int, *steps: Step) -> Step:
    """Carry out some steps several times."""
    return _Repeat(times=times, steps=steps)
