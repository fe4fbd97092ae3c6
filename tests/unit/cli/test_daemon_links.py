"""What passes between a kept session and its peers, where it cannot be read."""

import json
from typing import Any

import pytest

from acpella.cli.daemon import links
from acpella.cli.daemon.links import AgentLink, ClientLink
from acpella.rpc.message import write_request, write_result
from acpella.rpc.relay import Frame, read_frame


class WrittenTo:
    """As much of a channel as a link needs to write."""

    def __init__(self) -> None:
        self.messages: list[Any] = []

    def write(self, data: bytes) -> None:
        self.messages.append(json.loads(data))


def agent_link(channel: Any) -> AgentLink:
    def ignore(what: object) -> None: ...

    return AgentLink(
        channel,
        on_update=ignore,
        on_request=ignore,
        on_notification=ignore,
        on_noise=ignore,
        on_lost=ignore,
    )


def client_link(channel: Any) -> ClientLink:
    return ClientLink(channel, on_frame=lambda *_: None, on_lost=lambda _: None)


def test_messages_of_an_agent_that_are_too_long_leave_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """They were skipped: whoever had sent the prompt waited for ever, and so did the agent."""
    monkeypatch.setattr(links, "MAX_FRAME", 1000)
    channel, got = WrittenTo(), list[Frame]()
    link = agent_link(channel)
    link.side.forward(read_frame(write_request(b"7", "session/prompt", {})), got.append)
    link.received(write_result(b"0", "x" * 5000) + b"\n")
    (answer,) = got
    assert answer.id == b"7" and b"at most 1000 bytes" in answer.data
    link.received(write_request(b"3", "fs/write_text_file", {"content": "x" * 5000}) + b"\n")
    assert (channel.messages[-1]["id"], channel.messages[-1]["error"]["code"]) == (3, -32600)


def test_the_answer_of_a_client_that_cannot_be_read_ends_the_wait_for_it() -> None:
    """The client was told, but the agent waited until the client left."""
    channel, got = WrittenTo(), list[Frame]()
    link = client_link(channel)
    link.side.forward(read_frame(write_request(b"7", "session/request_permission", {})), got.append)
    channel.messages.clear()
    link.received(b'{"jsonrpc":"2.0","id":7,"result":{"outcome":NaN}}\n')
    assert [answer.is_error for answer in got] == [True]
    assert channel.messages == []


def test_a_prompt_that_is_too_long_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was skipped, and its client waited for ever."""
    monkeypatch.setattr(links, "MAX_FRAME", 1000)
    channel = WrittenTo()
    client_link(channel).received(write_request(b"7", "session/prompt", {"prompt": "x" * 5000}) + b"\n")
    assert [message["id"] for message in channel.messages] == [7]
