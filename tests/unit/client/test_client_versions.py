"""A client offers the newest protocol version that it speaks, and takes the one in the answer."""

from typing import Any

import msgspec
import pytest

from acpella._protocol_versions import choose_version, version_in
from acpella.client.codec import CODECS, ClientCodec, ClientCodecV1, Greeting, UnknownVersion
from acpella.rpc import Vocabulary
from acpella.schema import ClientCapabilities, Implementation, InitializeResponse, encode
from acpella.schema.methods import Vocabulary as MethodTable

ME = Implementation(name="me", version="1")


class ToyCodec:
    """Version 99: says hello in other words."""

    vocabulary: Vocabulary = MethodTable(requests={}, notifications={})

    def greeting(self, capabilities: ClientCapabilities, info: Implementation) -> Any:
        return {"protocolVersion": 99, "iAm": info.name}

    def read_hello(self, raw: bytes | msgspec.Raw) -> InitializeResponse:
        name = msgspec.json.decode(raw)["iAm"]
        return InitializeResponse(protocol_version=99, agent_info=Implementation(name=name, version=""))


class Greeted:
    """A greeting, and the codecs that it changed to."""

    def __init__(self, codecs: dict[int, ClientCodec]) -> None:
        self.changes: list[ClientCodec] = []
        self.greeting = Greeting(codecs, on_choice=self.changes.append)

    def answer(self, **result: Any) -> InitializeResponse | UnknownVersion:
        return self.greeting.read_result(msgspec.json.encode(result))


BOTH: dict[int, ClientCodec] = {1: ClientCodecV1(), 99: ToyCodec()}


def test_the_newest_version_is_offered() -> None:
    offer = Greeted(BOTH).greeting.request(ClientCapabilities(), ME)
    assert offer == {"protocolVersion": 99, "iAm": "me"}
    today = Greeted(CODECS).greeting.request(ClientCapabilities(), ME)
    assert msgspec.json.decode(encode(today))["protocolVersion"] == 1


def test_an_answer_in_the_newest_version_is_read_by_its_codec() -> None:
    greeted = Greeted(BOTH)
    hello = greeted.answer(protocolVersion=99, iAm="toy")
    assert isinstance(hello, InitializeResponse) and hello.agent_info is not None
    assert (hello.agent_info.name, greeted.changes) == ("toy", [])


def test_an_agent_that_knows_only_the_older_version_is_spoken_to_in_that() -> None:
    greeted = Greeted(BOTH)
    hello = greeted.answer(protocolVersion=1, agentInfo={"name": "old", "version": "1"})
    assert isinstance(hello, InitializeResponse) and hello.agent_info is not None
    assert (hello.agent_info.name, greeted.changes) == ("old", [BOTH[1]])


def test_a_version_that_is_not_in_the_table_ends_it() -> None:
    greeted = Greeted(BOTH)
    assert greeted.answer(protocolVersion=2, anything=True) == UnknownVersion(2)
    assert (greeted.greeting.spoken, greeted.changes) == ("1, 99", [])


@pytest.mark.parametrize("text", ['{"protocolVersion":"one"}', "5", "[]", '{"protocolVersion":1.5}'])
def test_an_answer_without_a_version_is_told_apart_by_the_newest_codec(text: str) -> None:
    with pytest.raises(msgspec.DecodeError):
        Greeting(CODECS, on_choice=lambda codec: None).read_result(text.encode())


@pytest.mark.parametrize(
    "text, version",
    [
        ('{"protocolVersion":1}', 1),
        ('{"protocolVersion":"1"}', 1),
        ('{"protocolVersion":1.0,"more":[]}', 1),
        ('{"protocolVersion":1.5}', None),
        ('{"protocolVersion":"one"}', None),
        ('{"protocolVersion":1e999}', None),
        ('{"protocolVersion":true}', None),
        ('{"protocolVersion":null}', None),
        ("{}", None),
        ("null", None),
        ("{", None),
    ],
)
def test_the_version_is_read_as_peers_write_it(text: str, version: int | None) -> None:
    assert version_in(text.encode()) == version


@pytest.mark.parametrize(
    "requested, spoken, chosen",
    [(1, [1], 1), (1, [1, 2], 1), (2, [1], 1), (2, [1, 2], 2), (2, [2], 2), (1, [2], 2), (3, [1, 2], 2)]
    + [(0, [1, 2], 2), (None, [1, 2], 2)],
)
def test_an_agent_answers_with_the_newest_that_both_know(
    requested: int | None, spoken: list[int], chosen: int
) -> None:
    """R-102"""
    assert choose_version(requested, spoken) == chosen
