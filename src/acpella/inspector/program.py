"""A recorded conversation as a Python program that repeats it, or as a test that expects the same answers."""

import os
from dataclasses import dataclass
from typing import Any

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


@dataclass(frozen=True, slots=True)
class _Talk:
    command: list[str]
    prompts: list[_Prompt]

    @property
    def sessions(self) -> list[str]:
        return list(dict.fromkeys(prompt.session for prompt in self.prompts))


def as_program(path: str | os.PathLike[str], *, connection: int = 1, last: int = 0) -> str:
    """The program: connect, open the same sessions, send the same prompts, print the answers.

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
        f"    async with acpella.connect({talk.command or ['my-agent']!r}) as agent:",
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
    """The test, with the fixtures of acpella's pytest plugin: the same prompts lead to the same answers.

    Raises as `as_program`.
    """
    talk = _talk(path, connection, last)
    agent = repr(talk.command) if talk.command else ""
    lines = [
        f'"""The conversation of {_harmless(os.path.basename(path))}, as a test. Run it with pytest."""',
        "",
        "",
        "def test_the_conversation_goes_as_recorded(acp_agent, tmp_path):",
        f"    with acp_agent({agent}) as agent:",
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
            elif item.direction == "in":
                _take(prompts, message)
    if max(count, 1) < connection:
        raise ValueError(f"{path} holds {count} connections, not {connection}")
    if not prompts:
        raise ValueError(f"{os.path.basename(path)} holds no prompt to send again up to here")
    return _Talk(command, prompts)


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
