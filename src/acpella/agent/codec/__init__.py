"""Protocol versions, as codecs beside each other over one session core.

A codec turns what an editor sends into operations (`agent/operations.py`) and what sessions and turns do into
messages. It holds no connection and awaits nothing. Another protocol version is another module here that
implements `Codec`, and one more line in `CODECS`: what sessions and turns do names no version. Files,
terminals and forms, which an agent asks its client for, still use the names of version 1. What the editor
asks for in `initialize` chooses (`negotiation.py`).
"""

from collections.abc import Callable

from ..definition import Definition
from .base import Codec, EditorCapabilities, Route
from .negotiation import Negotiation
from .v1 import CodecV1

__all__ = ["CODECS", "Codec", "EditorCapabilities", "Negotiation", "Route"]

CODECS: dict[int, Callable[[Definition], Codec]] = {1: CodecV1}
"""The protocol versions that an agent speaks."""
