"""The protocol versions that a client speaks, and the `initialize` that chooses one of them.

Another version is one more entry of `CODECS`. The client offers the newest; the agent's answer decides.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from acpella._protocol_versions import version_in
from acpella.rpc import Vocabulary
from acpella.schema import ClientCapabilities, Implementation, InitializeRequest, InitializeResponse, methods

__all__ = ["CODECS", "ClientCodec", "ClientCodecV1", "Greeting", "UnknownVersion", "newest"]


class ClientCodec(Protocol):
    """One protocol version, as a client speaks it."""

    @property
    def vocabulary(self) -> Vocabulary:
        """What the agent may ask and tell, read into the Structs that sessions and turns know."""
        ...

    def greeting(self, capabilities: ClientCapabilities, info: Implementation) -> Any:
        """The params of `initialize`."""
        ...

    def read_hello(self, raw: bytes | msgspec.Raw) -> InitializeResponse:
        """The agent's answer."""
        ...


class ClientCodecV1:
    """Protocol version 1."""

    vocabulary: Vocabulary = methods.CLIENT

    def greeting(self, capabilities: ClientCapabilities, info: Implementation) -> InitializeRequest:
        return InitializeRequest(protocol_version=1, client_capabilities=capabilities, client_info=info)

    def read_hello(self, raw: bytes | msgspec.Raw) -> InitializeResponse:
        return methods.INITIALIZE.read_result(raw)


CODECS: dict[int, ClientCodec] = {1: ClientCodecV1()}
"""The protocol versions that a client speaks."""


def newest(codecs: Mapping[int, ClientCodec]) -> ClientCodec:
    """The version to begin with."""
    return codecs[max(codecs)]


class UnknownVersion(msgspec.Struct, frozen=True):
    """The agent answered with a version that is not in the table."""

    version: int


class Greeting:
    """The `initialize` of one connection: offers the newest version, and takes the one in the answer.

    The version is chosen while the answer is read, so that everything after it is read by the right codec.
    """

    name: str = "initialize"
    params: type[Any] = object

    def __init__(
        self, codecs: Mapping[int, ClientCodec], *, on_choice: Callable[[ClientCodec], None]
    ) -> None:
        """The connection begins with the newest codec; `on_choice` is called if the answer chose another."""
        self._codecs = codecs
        self._newest = newest(codecs)
        self._on_choice = on_choice

    @property
    def spoken(self) -> str:
        """The versions in the table, for people."""
        return ", ".join(map(str, sorted(self._codecs)))

    def request(self, capabilities: ClientCapabilities, info: Implementation) -> Any:
        return self._newest.greeting(capabilities, info)

    def read_params(self, raw: bytes | msgspec.Raw | memoryview, /) -> Any:
        raise NotImplementedError  # clients send it

    def read_result(self, raw: bytes | msgspec.Raw, /) -> InitializeResponse | UnknownVersion:
        version = version_in(raw)
        if version is None:
            return self._newest.read_hello(raw)  # tells what is wrong with it
        codec = self._codecs.get(version)
        if codec is None:
            return UnknownVersion(version)
        hello = codec.read_hello(raw)
        if codec is not self._newest:
            self._on_choice(codec)
        return hello
