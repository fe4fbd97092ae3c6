"""A recorded conversation as a Python program that repeats it, or as a test that expects the same answers."""

import os
from dataclasses import dataclass
from typing import Any

from acpella._counted import counted
from acpella._plain_json import as_dict, as_list, as_str
from acpella.recording import Begin, RecordedFrame, read

__all__ = ["as_program", "as_test"]

EXPECTED = 200
"""Characters of an answer that a test looks for: its beginning, as a person would write it down."""


@dataclass(slots=True)
class _Prompt:
    session: str
    blocks: Any
    request: Any
    """The id of the request."""
    text: str = ""
    """What the agent said, as far as it was recorded."""
    stop_reason: str = ""


@dataclass(slots=True)
class _Question:
    session: str
    request: Any
    """The id of the request."""
    answer: str | None = None
    """The option that was chosen; None if none was."""


@dataclass(frozen=True, slots=True)
class _Talk:
    command: list[str]
    prompts: list[_Prompt]
    questions: list[_Question]

    @property
    def sessions(self) -> list[str]:
        return list(dict.fromkeys(prompt.session for prompt in self.prompts))

    @property
    def answers(self) -> list[str | None]:
        """What the agent's questions were answered with, in the order in which it will ask again."""
        return [each.answer for name in self.sessions for each in self.questions if each.session == name]


def as_program(path: str | os.PathLike[str], *, connection: int = 1, last: int = 0) -> str:
    """The program: connect, open the same sessions, send the same prompts, answer the agent's questions as it
    was done then, print the answers.

    With `last`, it ends with the turn that this row belongs to.

    Raises:
        ValueError: the recording has no such connection, or it holds no prompt.
        OSError: it cannot be read.
    """
    talk = _talk(path, connection, last)
    lines = [
        f"# The conversation of {os.path.basename(path)!r}, once more.",
        "",
        "import asyncio",
        "",
        "import acpella",
        "",
        "",
        "async def main() -> None:",
        *_answers(talk),
        f"    async with acpella.connect({talk.command or ['my-agent']!r}{_permissions(talk)}) as agent:",
    ]
    for number, session in enumerate(talk.sessions, 1):
        lines.append(f'        session_{number} = await agent.new_session(cwd=".")')
        for prompt in talk.prompts:
            if prompt.session == session:
                lines.append(f"        result = await session_{number}.prompt({_prompt(prompt.blocks)})")
                lines.append("        print(result.text, result.stop_reason)")
    lines += ["", "", "asyncio.run(main())", ""]
    return "\n".join(lines)


def as_test(path: str | os.PathLike[str], *, connection: int = 1, last: int = 0) -> str:
    """The test, with the fixtures of acpella's pytest plugin: the same prompts lead to the same answers. The
    agent is the recorded one, unless `pytest --acp-agent` names another.

    Raises as `as_program`.
    """
    talk = _talk(path, connection, last)
    option = 'pytestconfig.getoption("--acp-agent")'
    agent = f"{option} or {talk.command!r}" if talk.command else option
    lines = [
        f'"""The conversation of {_harmless(os.path.basename(path))}, as a test. Run it with pytest."""',
        *(["", "import acpella"] if talk.answers else []),
        "",
        "",
        "def test_the_conversation_goes_as_recorded(acp_agent, pytestconfig, tmp_path):",
        *_answers(talk),
        f"    with acp_agent({agent}{_permissions(talk)}) as agent:",
    ]
    for number, session in enumerate(talk.sessions, 1):
        lines.append(f"        session_{number} = agent.new_session(cwd=tmp_path)")
        for prompt in talk.prompts:
            if prompt.session == session:
                lines.append(f"        result = session_{number}.prompt({_prompt(prompt.blocks)})")
                if prompt.stop_reason:
                    lines.append(f"        assert result.stop_reason == {prompt.stop_reason!r}")
                if expected := prompt.text.strip()[:EXPECTED]:
                    lines.append(f"        assert {expected!r} in result.text")
    return "\n".join([*lines, ""])


def _talk(path: str | os.PathLike[str], connection: int, last: int) -> _Talk:
    command: list[str] = []
    prompts: list[_Prompt] = []
    questions: list[_Question] = []
    count = 0
    for number, item in enumerate(read(path), 1):
        if isinstance(item, Begin):
            count += 1
            if count == connection:
                command = [str(word) for word in as_list(as_dict(item.info.get("agent")).get("command"))]
        elif isinstance(item, RecordedFrame) and max(count, 1) == connection:
            message = as_dict(item.message)
            if item.direction == "out" and message.get("method") == "session/prompt":
                if last and number > last:
                    break  # this prompt and everything after it belong to a later turn
                params = as_dict(message.get("params"))
                session = as_str(params.get("sessionId"))
                prompts.append(_Prompt(session, params.get("prompt"), message.get("id")))
            elif item.direction == "in" and message.get("method") == "session/request_permission":
                session = as_str(as_dict(message.get("params")).get("sessionId"))
                questions.append(_Question(session, message.get("id")))
            elif item.direction == "in":
                _take(prompts, message)
            elif item.direction == "out" and "result" in message:
                _answer(questions, message)
    if max(count, 1) < connection:
        raise ValueError(f"{path} holds {counted(count, 'connection')}, not {connection}")
    if not prompts:
        raise ValueError(f"{os.path.basename(path)} holds no prompt to send again up to here")
    return _Talk(command, prompts, questions)


def _answer(questions: list[_Question], message: dict[str, Any]) -> None:
    for question in reversed(questions):
        if question.request == message.get("id"):
            outcome = as_dict(as_dict(message["result"]).get("outcome"))
            question.answer = as_str(outcome.get("optionId")) or None
            return


def _answers(talk: _Talk) -> list[str]:
    return [f"    answers = iter({talk.answers!r})"] if talk.answers else []


def _permissions(talk: _Talk) -> str:
    ask = ", permissions=acpella.Permissions(ask=lambda request: next(answers))"
    return ask if talk.answers else ""


def _take(prompts: list[_Prompt], message: dict[str, Any]) -> None:
    """Add what the agent said to the prompt that it answers."""
    if message.get("method") == "session/update":
        params = as_dict(message.get("params"))
        update = as_dict(params.get("update"))
        if update.get("sessionUpdate") == "agent_message_chunk":
            text = as_str(as_dict(update.get("content")).get("text"))
            for prompt in reversed(prompts):
                if prompt.session == params.get("sessionId"):
                    prompt.text += "" if prompt.stop_reason else text
                    return
    elif "result" in message:
        for prompt in prompts:
            if prompt.request == message.get("id") and not prompt.stop_reason:
                prompt.stop_reason = as_str(as_dict(message.get("result")).get("stopReason"))


def _harmless(name: str) -> str:
    """A file name without the characters that could end a docstring."""
    return "".join(c if c.isprintable() and c not in '"\\' else "_" for c in name)


def _prompt(blocks: Any) -> str:
    """Text alone as a string; other blocks are named, since their bytes belong in a file."""
    texts: list[str] = []
    for block in as_list(blocks):
        fields = as_dict(block)
        texts.append(as_str(fields.get("text")) or f"[{fields.get('type')} {fields.get('uri', '')}]")
    return repr("\n".join(texts))
