"""The codec of a connection, chosen by the version that the editor's `initialize` asks for."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

import msgspec

from acpella._protocol_versions import choose_version, version_in
from acpella.rpc import Method

from ..definition import Definition
from .base import Codec

__all__ = ["CodecTable", "Negotiation"]

CodecTable: TypeAlias = Mapping[int, Callable[[Definition], Codec]]
"""What makes the codec of each protocol version."""


class Negotiation:
    """Chooses the codec while the first `initialize` is read, so whatever follows is read by that codec.

    It is the vocabulary of its connection. Until a codec is chosen, the newest one defines the methods, and
    reports what is wrong with an `initialize` that cannot be read.
    """

    def __init__(
        self, definition: Definition, codecs: CodecTable, *, on_choice: Callable[[Codec], None]
    ) -> None:
        """The connection begins with the newest codec; `on_choice` is called if another one is chosen."""
        self._definition = definition
        self._codecs = codecs
        self._on_choice = on_choice
        self._chosen = False
        self._version = max(codecs)
        self._use(codecs[self._version](definition))

    def _use(self, codec: Codec) -> None:
        self.codec: Codec = codec
        vocabulary = codec.vocabulary
        self.requests: Mapping[str, Method[Any, Any]] = MappingProxyType(
            {**vocabulary.requests, "initialize": _Initialize(self)}
        )
        self.notifications: Mapping[str, Method[Any, Any]] = vocabulary.notifications
        self.stream: Method[Any, Any] | None = vocabulary.stream
        self.encoder: msgspec.json.Encoder = vocabulary.encoder
        self.decode_hook: Callable[[type, Any], Any] = vocabulary.decode_hook

    def read_initialize(self, raw: bytes | msgspec.Raw | memoryview) -> Any:
        """The params of `initialize`, read by the codec of the version that they ask for.

        The choice holds for the whole connection; params that cannot be read choose nothing.
        """
        version = self._version if self._chosen else choose_version(version_in(raw), self._codecs)
        codec = self.codec if version == self._version else self._codecs[version](self._definition)
        params = codec.vocabulary.requests["initialize"].read_params(raw)
        self._chosen = True
        if codec is not self.codec:
            self._version = version
            self._use(codec)
            self._on_choice(codec)
        return params


class _Initialize:
    """The method whose params choose."""

    name: str = "initialize"
    params: type[Any] = object

    def __init__(self, negotiation: Negotiation) -> None:
        self.read_params: Callable[[bytes | msgspec.Raw | memoryview], Any] = negotiation.read_initialize

    def read_result(self, raw: bytes | msgspec.Raw) -> Any:
        raise NotImplementedError  # agents receive it
