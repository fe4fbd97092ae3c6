"""Protocol versions, as codecs beside each other over one session core.

A codec turns what an editor sends into operations (`agent/operations.py`) and what sessions and turns do into
messages. It holds no connection and awaits nothing. Another protocol version is another module here that
implements `Codec`, and one more line in `codec_for`; nothing above this package mentions a version. Today the
codec is chosen before `initialize` is read, so a second version has to move that choice behind it.
"""

from ..definition import Definition
from .base import Codec, EditorCapabilities, Route
from .v1 import CodecV1

__all__ = ["Codec", "EditorCapabilities", "Route", "codec_for"]


def codec_for(definition: Definition) -> Codec:
    """The codec of a new connection. There is one; with two, what `initialize` asks for would choose."""
    return CodecV1(definition)
