"""Event streams of the HTTP client: what was seen before a cut is not delivered again."""

import asyncio
from typing import Any

import pytest

from acpella.errors import TransportError
from acpella.transport._http_requests import HttpRequests
from acpella.transport._http_streams import EventStream
from acpella.transport._resume import ACK_MESSAGES
from acpella.transport._sse import ServerSentEvent, SseParser
from acpella.transport.endpoint import Endpoint

pytestmark = pytest.mark.anyio

UPDATE = b'{"jsonrpc":"2.0","method":"session/update","params":{}}'
OTHER = b'{"jsonrpc":"2.0","id":1,"result":{}}'


class NoOwner:
    """Hears nothing."""

    is_over = False

    def __init__(self) -> None:
        self.readable = asyncio.Event()

    def on_events(self, stream: EventStream, events: list[ServerSentEvent]) -> None: ...

    def on_link(self, stream: EventStream, *, up: bool) -> None: ...

    def on_session_lost(self, stream: EventStream) -> None: ...

    def on_connection_lost(self, error: TransportError) -> None: ...


def stream_of(generation: str = "gen") -> EventStream:
    endpoint = Endpoint.of("http://127.0.0.1:1/acp")
    requests = HttpRequests(endpoint)
    requests.generation = generation
    return EventStream(None, requests, endpoint, NoOwner())


def events(*messages: bytes, first: int = 1, more: str = "") -> list[ServerSentEvent]:
    text = b"".join(b"id: gen-%d\ndata: %b\n\n" % (n, data) for n, data in enumerate(messages, first))
    return SseParser(max_event=1000).feed(text + more.encode())


def everything(data: bytes) -> bool:
    return True


async def test_what_was_seen_before_a_cut_is_skipped() -> None:
    stream = stream_of()
    assert stream.accept(events(UPDATE, OTHER), everything).messages == [UPDATE, OTHER]
    assert stream.last_id == b"gen-2"
    accepted = stream.accept(events(UPDATE, OTHER, UPDATE), everything)
    assert (accepted.messages, accepted.lost) == ([UPDATE], False)
    assert stream.last_id == b"gen-3"


async def test_only_what_is_no_plain_update_is_looked_at() -> None:
    noted: list[Any] = []

    def hold_back(data: bytes) -> bool:
        noted.append(data)
        return False

    assert stream_of().accept(events(UPDATE, OTHER, b"noise"), hold_back).messages == [UPDATE]
    assert noted == [OTHER]


async def test_a_resync_tells_that_something_is_lost() -> None:
    accepted = stream_of().accept(events(UPDATE, more="event: resync\ndata: {}\n\n"), everything)
    assert (accepted.messages, accepted.lost) == ([UPDATE], True)


async def test_a_server_that_can_resume_is_told_how_far_we_are() -> None:
    stream = stream_of()
    many = [UPDATE] * (ACK_MESSAGES - 1)
    assert not stream.accept(events(*many), everything).ack_due
    assert stream.accept(events(UPDATE, first=ACK_MESSAGES), everything).ack_due
    assert not stream.accept(events(UPDATE, first=ACK_MESSAGES + 1), everything).ack_due, "counted anew"
    assert not stream_of("").accept(events(*many, UPDATE), everything).ack_due
