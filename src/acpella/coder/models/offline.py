"""A model that needs no key and no network: it follows plain requests, and says what it is."""

import asyncio
import re
from collections.abc import AsyncGenerator, Iterator
from typing import Literal

import msgspec

from .base import (
    AssistantMessage,
    ContextOverflow,
    Message,
    ModelEvent,
    ModelRequest,
    ModelUsage,
    Stop,
    Text,
    TextDelta,
    ThinkingDelta,
    ToolMessage,
    ToolUse,
    ToolUseStarted,
    UserMessage,
)
from .history import paired
from .plain_requests import PlainStep, understand

__all__ = ["NOTICE", "OfflineModel"]

NOTICE = (
    "_This is the offline model: for a real one, set ACPELLA_MODEL (such as `anthropic:claude-sonnet-5`) "
    "and its key (such as ANTHROPIC_API_KEY)._"
)

HELP = """I follow plain requests:

- `read README.md lines 1-20`, `list src`, `find *.py`, `search for TODO in src`
- `replace "old" by "new" in notes.txt`, `create notes.txt with hello`
- `run make test`, `fetch https://example.org`, `plan: first this, then that`

Several of them can be joined with "and then"."""

WINDOW = 128_000

MAX_QUOTE = 1500
"""Characters of a tool's result in an answer; the user sees all of it with the tool call."""

MAX_ANSWER = 8000

# They do not change anything, so those that stand together are asked for together.
_READING = frozenset({"read_file", "list_files", "find_files", "search", "fetch"})

_REFUSED = re.compile(r"reject|denied|deny|refus|not allowed|permission|declin|forbidden", re.IGNORECASE)


class OfflineModel:
    """Deterministic: the same conversation gets the same answer."""

    @property
    def name(self) -> str:
        return "offline"

    @property
    def context_window(self) -> int:
        return WINDOW

    @property
    def accepts(self) -> frozenset[Literal["image", "audio"]]:
        return frozenset()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        length = _tokens(request)
        if length > WINDOW:
            raise ContextOverflow(f"the conversation is too long for the offline model: {length} tokens")
        reply = _reply(request)
        written = 0
        if request.thinking != "off" and reply.thought:
            for piece in _small(reply.thought):
                yield ThinkingDelta(piece)
                await asyncio.sleep(0)
        limit = request.max_tokens * 4
        for piece in _small(reply.text[:limit]):
            written += len(piece)
            yield TextDelta(piece)
            await asyncio.sleep(0)
        for use in reply.uses:
            written += 40
            yield ToolUseStarted(use.id, use.name)
            yield use
        yield ModelUsage(length, max(1, written // 4))
        yield Stop("max_tokens" if len(reply.text) > limit else "tool_use" if reply.uses else "end")


class _Reply(msgspec.Struct, frozen=True):
    text: str
    uses: list[ToolUse] = []
    thought: str = ""


def _reply(request: ModelRequest) -> _Reply:
    messages = paired(request.messages)
    last_prompt = max(
        (i for i, message in enumerate(messages) if isinstance(message, UserMessage)), default=-1
    )
    if last_prompt < 0:
        return _Reply(f"{HELP}\n\n{NOTICE}")
    words = _words(messages[last_prompt])
    if not request.tools and (chore := _chore(request.system, words, messages[:last_prompt])):
        return chore
    steps = [step for part in words for step in understand(part)]
    done = _done(messages[last_prompt + 1 :])
    offered = {tool.name for tool in request.tools}
    failed = any(result.is_error for _, result in done)
    following = [] if failed else _next(steps[len(done) :], offered)
    if following:
        return _start(steps, following, before=sum(_uses(message) for message in messages), first=not done)
    return _Reply("\n\n".join([*_report(steps, done, offered), NOTICE]))


def _start(steps: list[PlainStep], following: list[PlainStep], *, before: int, first: bool) -> _Reply:
    uses = [
        ToolUse(f"offline_{before + n}", step.tool, step.arguments) for n, step in enumerate(following, 1)
    ]
    text = " ".join(_intention(use) for use in uses)
    thought = ""
    if first:
        thought = "The request has these steps:\n" + "\n".join(
            f"{n}. {step.tool or 'beyond me'}: {step.said}" for n, step in enumerate(steps, 1)
        )
    return _Reply(text, uses, thought)


def _next(steps: list[PlainStep], offered: set[str]) -> list[PlainStep]:
    """The next step, with those that read and stand beside it."""
    group: list[PlainStep] = []
    for step in steps:
        if step.tool not in offered:
            break
        if group and (step.after or step.tool not in _READING or group[-1].tool not in _READING):
            break
        group.append(step)
    return group


# -- what was said and done before --------------------------------------------------------------------


def _words(message: Message) -> list[str]:
    """What the user typed. Files that an editor writes into the text are marked up."""
    texts = [part.text.strip() for part in message.content if isinstance(part, Text) and not part.attached]
    typed = [text for text in texts if text and not text.startswith("<")]
    return typed or texts


def _done(messages: list[Message]) -> list[tuple[ToolUse, ToolMessage]]:
    results = {message.tool_use_id: message for message in messages if isinstance(message, ToolMessage)}
    return [
        (part, results[part.id])
        for message in messages
        if isinstance(message, AssistantMessage)
        for part in message.content
        if isinstance(part, ToolUse)
    ]


def _uses(message: Message) -> int:
    return sum(isinstance(part, ToolUse) for part in message.content)


# -- what is said -------------------------------------------------------------------------------------


def _subject(use: ToolUse) -> str:
    """What a tool is used on, in a few words."""
    arguments = use.arguments
    if use.name == "plan":
        return f"{len(arguments.get('entries', []))} entries"
    for key in ("command", "url", "pattern", "path"):
        if key in arguments:
            return f"`{arguments[key]}`" + (
                f" in `{arguments['path']}`" if key == "pattern" and "path" in arguments else ""
            )
    return "`.`"


_INTENTIONS = {
    "read_file": "I read {}.",
    "list_files": "I list {}.",
    "find_files": "I look for files {}.",
    "search": "I search for {}.",
    "run": "I run {}.",
    "edit_file": "I edit {}.",
    "write_file": "I write {}.",
    "fetch": "I fetch {}.",
    "plan": "I make a plan of {}.",
}


def _intention(use: ToolUse) -> str:
    return _INTENTIONS.get(use.name, "I use {}.").format(_subject(use))


def _report(
    steps: list[PlainStep], done: list[tuple[ToolUse, ToolMessage]], offered: set[str]
) -> Iterator[str]:
    room = MAX_ANSWER
    for use, result in done:
        summary = _result(use, result, min(MAX_QUOTE, max(200, room)))
        room -= len(summary)
        yield summary
    left = steps[len(done) :]
    if done and done[-1][1].is_error or any(result.is_error for _, result in done):
        if left:
            yield f"I stopped there; not tried: {_quoted(left)}."
        return
    if left and left[0].tool:
        yield (
            f"I cannot do this now: {_quoted(left[:1])} needs the tool `{left[0].tool}`, which I was not "
            "given; the mode may forbid it."
        )
    elif left:
        yield f"I cannot do this: {_quoted(left[:1])}. It needs a real model.\n\n{HELP}"
    elif not done:
        yield HELP
    if len(left) > 1:
        yield f"Not tried: {_quoted(left[1:])}."


def _result(use: ToolUse, result: ToolMessage, room: int) -> str:
    text = "\n".join(part.text for part in result.content if isinstance(part, Text)).strip("\n")
    if result.is_error:
        what = "was not allowed" if _REFUSED.search(text) else "failed"
        return f"`{use.name}` {_subject(use)} {what}: {_cut(text, 500) or 'no reason was given'}"
    head = f"`{use.name}` {_subject(use)}"
    if use.name == "plan":
        return f"The plan has {_subject(use)}."
    if not text:
        return f"{head}: done, nothing to show."
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return f"{head}:\n{fence}\n{_cut(text, room)}\n{fence}"


def _quoted(steps: list[PlainStep]) -> str:
    return ", ".join(f"“{_cut(step.said, 100)}”" for step in steps)


def _cut(text: str, room: int) -> str:
    if len(text) <= room:
        return text
    return f"{text[:room].rstrip()}\n… ({len(text) - room} more characters)"


# -- requests of the program itself, which come without tools -------------------------------------------


def _chore(system: str, words: list[str], before: list[Message]) -> _Reply | None:
    """A title or a summary of the conversation, made of what was said."""
    everything = " ".join([*words, system[:500]]).lower()
    request = re.search(r"\b(title|summar\w+|compact\w*)\b", everything)
    if request is None or not re.search(r"\b(?:conversation|session|chat|history|so far)\b", everything):
        return None
    requests = [" ".join(_words(message)) for message in before if isinstance(message, UserMessage)]
    if request[1] == "title":
        first = " ".join((requests or words)[0].split())
        return _Reply(first[:60].rstrip() or "Conversation")
    if not requests:
        return None
    lines = [f"- asked: {_cut(' '.join(text.split()), 200)}" for text in requests[-20:]]
    used = [part for message in before for part in message.content if isinstance(part, ToolUse)]
    lines += [f"- done: {use.name} {_subject(use)}" for use in used[-30:]]
    return _Reply("So far in this conversation:\n" + "\n".join(lines) + f"\n\n{NOTICE}")


def _small(text: str) -> list[str]:
    """Pieces of a few words, as a real model's answer comes."""
    return re.findall(r"\s*\S+\s*(?:\S+\s*){0,2}", text)


def _tokens(request: ModelRequest) -> int:
    """About four characters a token; what this model does not look at, such as images, is free."""
    parts = [part for message in request.messages for part in message.content]
    texts = sum(len(part.text) for part in parts if isinstance(part, Text))
    uses = sum(len(str(part.arguments)) for part in parts if isinstance(part, ToolUse))
    tools = sum(len(tool.description) + len(str(tool.parameters)) for tool in request.tools)
    return (len(request.system) + texts + uses + tools) // 4
