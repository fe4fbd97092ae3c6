"""`acpella replay`: a recording as an agent that any editor can start, or as a client for any agent."""

import argparse
import asyncio
import contextlib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, BinaryIO

from acpella._counted import counted

from .. import exits
from ..command_words import split_command
from ..file_errors import RECORDING, explain
from ..terminal.output import say, show

if TYPE_CHECKING:
    from acpella.recording import Damaged
    from acpella.recording.replay import ReplayedClient
    from acpella.recording.stored import StoredFrames

__all__ = ["declare", "parse", "run"]

NOT_AS_RECORDED = 1

_EPILOG = """\
As an agent, each request is answered as it was answered then. It is found by its method and by what its
parameters mean; ids, sessions, terminals and directories are those of now.

  --match exact    the parameters must be the same
  --match shape    first those that mean the same, then the next of that method (default)
  --match order    the next of that method, whatever it says

A request that was not recorded gets an error that shows the nearest one and where they differ.
The exit code is 1 if something was not as recorded.

examples:
  acpella run -a "acpella replay talk.jsonl" "hello"
  acpella replay talk.jsonl --as client -- my-agent
  acpella replay talk.jsonl --as client --update -- my-agent     what it says now is right
"""


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = "Play a recorded conversation again."
    parser.usage = (
        "acpella replay FILE [--as agent] [options]\n"
        "       acpella replay FILE --as client [options] -- AGENT [ARG...]"
    )
    parser.epilog = _EPILOG
    add = parser.add_argument
    add("file", metavar="FILE", help="the recording")
    add("--as", dest="role", choices=("agent", "client"), default="agent", help="which side to play")
    add("--match", choices=("exact", "shape", "order"), default="shape", help="how requests are found")
    add(
        "--speed",
        type=_speed,
        default=0.0,
        metavar="N",
        help="1 as it was, 4 four times as fast, 0 at once (default)",
    )
    add(
        "--connection",
        type=int,
        default=1,
        metavar="N",
        help="which one, if the file holds several; default: 1",
    )
    add("--cwd", default=".", metavar="PATH", help="with --as client: the directory that sessions are about")
    add("--update", action="store_true", help="with --as client: put what is said now into the file")
    add("--timeout", type=float, default=60.0, metavar="SECONDS", help="with --as client: for each answer")


def _speed(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a speed; choose 0, 1 or 4")
    return value


def parse(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.Namespace:
    """Options, then `--` and the agent."""
    options, command = split_command(words)
    arguments = parser.parse_args(options)
    if arguments.role == "client" and not command:
        parser.error(
            "--as client needs an agent to talk to: acpella replay FILE --as client -- AGENT [ARG...]"
        )
    if arguments.update and arguments.role != "client":
        parser.error("--update needs an agent to talk to: acpella replay FILE --as client --update -- AGENT")
    if arguments.update and arguments.connection != 1:
        parser.error("--update writes the file anew, so it takes recordings of one connection")
    if arguments.role == "agent" and command:
        parser.error("an agent is played to whoever started this command; --as client talks to another agent")
    return argparse.Namespace(command=command, **vars(arguments))


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    from acpella.errors import AcpellaError

    try:
        with open(arguments.file, "rb") as file:
            damaged: list[int] = []
            conversations = _read(file, damaged)
            if damaged and arguments.update:
                say(f"{file.name} stays as it was: {_unread(damaged)}; record it anew")
                return NOT_AS_RECORDED
            code = _run(arguments, conversations)
            if damaged and arguments.role == "client":
                say(f"not all was played: {_unread(damaged)}")
                return code or NOT_AS_RECORDED
            return code
    except KeyboardInterrupt:
        return exits.CANCELLED
    except (OSError, ValueError, AcpellaError) as error:
        say(explain(error, missing=RECORDING))
        return exits.code_for(error)


def _run(arguments: argparse.Namespace, conversations: "list[StoredFrames]") -> int:
    if not 0 < arguments.connection <= len(conversations):
        raise ValueError(
            f"{arguments.file} holds {counted(len(conversations), 'connection')}, not {arguments.connection}"
        )
    place: int = arguments.connection - 1
    if arguments.update and len(conversations) > 1:
        raise ValueError(
            f"{arguments.file} holds {len(conversations)} connections; --update takes recordings of one"
        )
    others = [each for number, each in enumerate(conversations) if number != place]
    return asyncio.run(_play(arguments, conversations[place], others, os.path.abspath(arguments.cwd)))


def _unread(damaged: list[int]) -> str:
    return f"{counted(len(damaged), 'line')} of the recording cannot be read"


def _read(file: BinaryIO, damaged: list[int]) -> "list[StoredFrames]":
    """The conversations, as far as they can be read. The numbers of other lines are added to `damaged`."""
    from acpella.recording.stored import stored_conversations

    def leave_out(item: "Damaged") -> None:
        damaged.append(item.line)
        say(f"{file.name}, line {item.line} is left out: {item.reason}")

    conversations = stored_conversations(file, leave_out)
    nonempty = [conversation for conversation in conversations if conversation]
    if not nonempty:
        raise ValueError(f"{file.name} holds no conversation")
    return nonempty


async def _play(
    arguments: argparse.Namespace, chosen: "StoredFrames", others: "list[StoredFrames]", cwd: str
) -> int:
    from acpella.recording.replay import ReplayedAgent, ReplayedClient
    from acpella.transport import ProcessChannel, StdioChannel

    from ..session.recorded_program import started_as

    if arguments.role == "agent":
        agent = ReplayedAgent(chosen, match=arguments.match, speed=arguments.speed, more=others, tell=say)
        await agent.serve_on(StdioChannel())
        return NOT_AS_RECORDED if agent.failures else exits.DONE
    client = ReplayedClient(
        chosen,
        cwd=cwd,
        match=arguments.match,
        speed=arguments.speed,
        patience=arguments.timeout,
        tell=say,
    )
    if not client.requests:
        raise ValueError(f"the client of {arguments.file} sent no request, so there is nothing to play")
    if arguments.update:
        return await _update(client, arguments)
    await client.run_on(ProcessChannel(started_as(arguments.command)))
    if client.failures:
        return NOT_AS_RECORDED
    show(f"The agent did as recorded: {counted(client.requests, 'request')}, each answered as then.")
    say("what it said and did meanwhile is not compared here; `acpella record diff` does that")
    return exits.DONE


async def _update(client: "ReplayedClient", arguments: argparse.Namespace) -> int:
    """Put the conversation of now into the place of the recorded one; a failed attempt changes nothing."""
    from acpella.recording.channel import RecordedChannel
    from acpella.transport import ProcessChannel

    from ..session.recorded_program import started_as

    new = f"{arguments.file}.new"
    recorded: RecordedChannel | None = None

    def hear(data: bytes) -> None:
        if recorded is not None:
            recorded.stderr(data)

    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new)  # of an attempt that was killed: a recording that exists would be continued
        channel = ProcessChannel(started_as(arguments.command), on_stderr=hear)
        recorded = RecordedChannel(channel, new, agent=os.path.basename(arguments.command[0]))
        await client.run_on(recorded)
        if client.incomplete:
            say(f"{arguments.file} stays as it was: the conversation did not come to its end")
            return NOT_AS_RECORDED
        os.replace(new, arguments.file)
        show(f"{arguments.file} now holds the conversation of this run.")
        return exits.DONE
    finally:
        with contextlib.suppress(OSError):
            os.unlink(new)
