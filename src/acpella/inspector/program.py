"""A recorded conversation as a Python program that has it again."""

import os
from typing import Any

from acpella._plain_json import as_dict, as_list, as_str
from acpella.recording import Begin, Frame, read

__all__ = ["as_program"]


def as_program(path: str | os.PathLike[str], *, connection: int = 1) -> str:
    """The program: connect, open the same sessions, send the same prompts, print the answers.

    Raises:
        ValueError: the recording has no such connection, or it holds no prompt.
        OSError: it cannot be read.
    """
    command: list[str] = []
    prompts: list[tuple[str, Any]] = []
    count = 0
    for item in read(path):
        if isinstance(item, Begin):
            count += 1
            if count == connection:
                command = [str(word) for word in as_list(as_dict(item.info.get("agent")).get("command"))]
        elif isinstance(item, Frame) and item.direction == "out" and max(count, 1) == connection:
            message = as_dict(item.message)
            params = as_dict(message.get("params"))
            if message.get("method") == "session/prompt":
                prompts.append((as_str(params.get("sessionId")), params.get("prompt")))
    if max(count, 1) < connection:
        raise ValueError(f"{path} holds {count} connections, not {connection}")
    if not prompts:
        raise ValueError(f"{path} holds no prompt to send again")
    sessions = list(dict.fromkeys(session for session, _ in prompts))
    lines = [
        f"# The conversation of {os.path.basename(path)!r}, once more.",
        "",
        "import asyncio",
        "",
        "import acpella",
        "",
        "",
        "async def main() -> None:",
        f"    async with acpella.connect({command or ['my-agent']!r}) as agent:",
    ]
    for number, session in enumerate(sessions, 1):
        lines.append(f'        session_{number} = await agent.new_session(cwd=".")')
        for owner, blocks in prompts:
            if owner == session:
                lines.append(f"        result = await session_{number}.prompt({_prompt(blocks)})")
                lines.append("        print(result.text, result.stop_reason)")
    lines += ["", "", "asyncio.run(main())", ""]
    return "\n".join(lines)


def _prompt(blocks: Any) -> str:
    """Text alone as a string; other blocks are named, since their bytes belong in a file."""
    texts: list[str] = []
    for block in as_list(blocks):
        fields = as_dict(block)
        texts.append(as_str(fields.get("text")) or f"[{fields.get('type')} {fields.get('uri', '')}]")
    return repr("\n".join(texts))
