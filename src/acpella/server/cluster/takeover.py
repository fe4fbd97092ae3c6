"""Goes on with a connection whose home is gone: its streams, its agent's end, what was interrupted."""

import asyncio
import logging
from contextlib import aclosing

import msgspec

from acpella.agent.connection import UNAVAILABLE
from acpella.agent.interrupted import LOOK_BACK, missing_prompt
from acpella.rpc.message import UNREADABLE, id_key, write_error, write_notification, write_request
from acpella.rpc.relay import UPDATE_HEAD, Frame, read_frame
from acpella.server.connection.messages import Message, NotAMessage, read_message
from acpella.sessions import Cluster, ClusterCommand, Cursor, Event, Lease, StoreError, StoreUnavailable

from .home import ClusterHome
from .kept_outbox import KeptOutbox
from .records import ClientSent, Frames, decode

__all__ = ["INTERRUPTED", "recover"]

log: logging.Logger = logging.getLogger(__name__)

INTERRUPTED = -32603
"""The code of the error; its data have the reason."""

WHY = "the node that ran this is gone, so it was interrupted; nothing of it runs again by itself"


async def recover(cluster: Cluster, home: ClusterHome, lease: Lease, seq: int) -> None:
    """Make a connection what it was at its last home. Raises `AcpellaError`."""
    connection = home.connection
    home.log.lease, home.log.seq = lease, seq
    pending = await cluster.pending(lease)
    _know_messages(home, await cluster.command_ids(lease))
    answered = await _restore_streams(cluster, home, lease)
    for session in home.facts.sessions:
        connection.streams.know(session)
    for command in pending:
        if command.state == "running":
            await _write_prompt(cluster, home, command)
    await connection.restore(_greeting(home))
    await _reopen_sessions(home)
    for question, session in home.facts.questions.items():
        cancel = write_notification("$/cancel_request", {"requestId": msgspec.Raw(question.encode())})
        connection.streams.stream_for(session).put((cancel,))
    home.facts.questions.clear()
    for command in pending:
        if command.state == "running":
            _interrupt(home, command, answered)
    home.log.write_facts()
    home.run(lease, home.log.seq)


def _know_messages(home: ClusterHome, names: list[str]) -> None:
    """Note which messages were taken, so that none is taken again."""
    numbers = {
        kind: [int(name[1:]) for name in names if name[:1] == kind and name[1:].isdigit()] for kind in "mw"
    }
    home.connection.know_numbers(sorted(numbers["m"]))
    home.connection.messages_received = max(home.facts.received, *numbers["w"], 0)


async def _restore_streams(cluster: Cluster, home: ClusterHome, lease: Lease) -> set[bytes]:
    """Fill the outboxes with what is kept; returns the ids of the requests that were answered."""
    frames_by_stream: dict[str | None, tuple[int, list[bytes]]] = {}
    entries: list[tuple[int, int, str | None, int]] = []
    answered: set[bytes] = set()
    async for events in cluster.kept(lease):
        for event in events:
            if str(event.kind) != "frames":
                home.log.restored(event.seq, len(event.body), None, 0)
                continue
            frames = Frames.unpack(event.body)
            first, messages = frames_by_stream.setdefault(frames.session, (frames.first, []))
            if first + len(messages) != frames.first:  # a gap: what is before it is of no use
                first, messages = frames_by_stream[frames.session] = (frames.first, [])
            messages += frames.messages
            last = frames.first + len(frames.messages) - 1
            entries.append((event.seq, len(event.body), frames.session, last))
            for message in frames.messages:
                if not message.startswith(UPDATE_HEAD):
                    frame = read_frame(message)
                    if frame.kind == "response" and frame.id is not None:
                        answered.add(id_key(frame.id))
    streams = home.connection.streams
    for session, (first, messages) in frames_by_stream.items():
        outbox = streams.main if session is None else streams.of_session(session)
        assert isinstance(outbox, KeptOutbox)
        outbox.restore(first - 1, messages, taken=home.facts.taken.get(session or ""))
    for seq, size, session, last in entries:
        outbox = streams.by_session.get(session)
        home.log.restored(seq, size, outbox if isinstance(outbox, KeptOutbox) else None, last)
    return answered


def _greeting(home: ClusterHome) -> Message:
    params = read_message(home.facts.initialize).frame.envelope.params
    return read_message(write_request(b'"acpella-initialize"', "initialize", bytes(params)))


async def _reopen_sessions(home: ClusterHome) -> None:
    """Tell the agent which sessions are open. One that it cannot open is for the client to load again."""
    connection = home.connection
    for number, (session, workplace) in enumerate(list(home.facts.sessions.items())):
        try:
            params = {"sessionId": session, **msgspec.json.decode(workplace, type=dict[str, object])}
        except UNREADABLE:
            continue
        pending: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        message = read_message(write_request(b'"acpella-resume-%d"' % number, "session/resume", params))
        connection.pending.forward(message, pending.set_result)
        try:
            async with asyncio.timeout(30):
                response = await pending
        except TimeoutError:
            log.warning("connection %s: a session does not open again", connection.label)
            continue
        if response.is_error:
            if home.is_lost or _is_passing(response):
                raise StoreUnavailable("the store is away, or the lease is lost; try again in a moment")
            log.warning(
                "connection %s: a session was not opened again: %s", connection.label, response.data[:500]
            )
            del home.facts.sessions[session]


class _Reason(msgspec.Struct):
    reason: object = None


class _Failure(msgspec.Struct):
    data: _Reason | msgspec.UnsetType = msgspec.UNSET


class _FailedResponse(msgspec.Struct):
    error: _Failure


def _is_passing(response: Frame) -> bool:
    """Whether a session may open in a moment. If not, the client has to load it again."""
    try:
        data = msgspec.json.decode(response.data, type=_FailedResponse).error.data
    except UNREADABLE:  # of another shape: not ours
        return False
    return isinstance(data, _Reason) and data.reason == UNAVAILABLE


class _Prompt(msgspec.Struct):
    prompt: list[msgspec.Raw]


async def _write_prompt(cluster: Cluster, home: ClusterHome, command: ClusterCommand) -> None:
    """See to it that a prompt is in its session's log: its node may have ended before it wrote anything.

    Raises `StoreUnavailable`.
    """
    message = _message_of(command)
    if message is None or message.method != "session/prompt" or message.session is None:
        return
    session, principal = message.session, home.principal
    try:
        prompt = msgspec.json.decode(message.frame.envelope.params, type=_Prompt).prompt
        if (await cluster.stream(session, principal=principal)).node is not None:
            return  # somebody has opened it meanwhile, and closed the turn
        lease = await cluster.take(session, principal=principal)
        try:
            last = (await cluster.stream(session, principal=principal)).last_seq
            after = max(0, last - LOOK_BACK)
            entries: list[Event] = []
            if last > after:
                cursor = Cursor(cluster.gen, after)
                async with aclosing(cluster.tail(session, cursor, principal=principal)) as tail:
                    async for events in tail:
                        entries += events
                        if entries[-1].seq >= last:
                            break
            if missing := missing_prompt(entries, prompt):
                await cluster.put(lease, last, missing)
        finally:
            await cluster.give_back(lease)
    except StoreUnavailable:
        raise
    except (StoreError, *UNREADABLE) as error:  # it is gone, open elsewhere, or kept by the agent itself
        log.info("connection %s: a prompt is not added to its session: %s", home.connection.label, error)


def _message_of(command: ClusterCommand) -> Message | None:
    try:
        return read_message(decode(command.body, ClientSent).data)
    except (NotAMessage, msgspec.MsgspecError):
        return None


def _interrupt(home: ClusterHome, command: ClusterCommand, answered: set[bytes]) -> None:
    """Close what ran when its node went away."""
    message = _message_of(command)
    if message is not None and message.is_request and message.id is not None:
        if id_key(message.id) not in answered:
            error = write_error(message.id, INTERRUPTED, WHY, {"reason": "interrupted"})
            streams = home.connection.streams
            alone = message.method in ("session/new", "session/load")
            (streams.main if alone else streams.stream_for(message.session)).put((error,))
    home.log.settle(command.id, forget=command.id.startswith("x"))
