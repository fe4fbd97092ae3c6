"""The tree of errors: who must act, and what people read."""

import copy
import pickle

import pytest

import acpella.errors as errors
from acpella.errors import (
    AcpellaError,
    ConnectionClosed,
    LocalProtocolError,
    ProtocolError,
    RemoteProtocolError,
    RpcError,
    TransportError,
)

BY_CODE = {
    -32700: errors.ParseError,
    -32600: errors.InvalidRequest,
    -32601: errors.MethodNotFound,
    -32602: errors.InvalidParams,
    -32603: errors.InternalError,
    -32000: errors.AuthRequired,
    -32001: errors.Overloaded,
    -32002: errors.ResourceNotFound,
    -32800: errors.RequestCancelled,
}

CLASSES = [name for name in errors.__all__ if isinstance(getattr(errors, name), type)]


def test_everything_that_is_raised_has_one_root() -> None:
    for name in CLASSES:
        assert issubclass(getattr(errors, name), AcpellaError)
    assert issubclass(LocalProtocolError, ProtocolError)
    assert issubclass(RemoteProtocolError, ProtocolError)


def test_the_tree_in_the_docstring_names_every_class() -> None:
    assert errors.__doc__ is not None
    for name in CLASSES:
        assert name in errors.__doc__


@pytest.mark.parametrize(("code", "kind"), BY_CODE.items())
def test_an_error_from_the_wire_has_the_class_of_its_code(code: int, kind: type[RpcError]) -> None:
    error = RpcError.from_wire(code, "text", {"a": 1})
    assert type(error) is kind
    assert (error.code, error.message, error.data) == (code, "text", {"a": 1})
    assert kind().code == code


@pytest.mark.parametrize("code", [0, 1, 400, 401, -1, -33000, 2**31, 10**30])
def test_any_other_code_is_carried_through(code: int) -> None:
    """R-050"""
    error = RpcError.from_wire(code, "text")
    assert type(error) is RpcError
    assert error.code == code


def test_an_error_without_a_message_has_the_usual_one() -> None:
    assert RpcError.from_wire(-32000, "").message == "Authentication required"
    assert str(errors.MethodNotFound()) == "Method not found (-32601)"
    assert str(RpcError("no", data="because", code=7)) == "no: because (7)"
    assert str(RpcError("no", data={"a": 1}, code=7)) == "no (7)"
    assert str(RpcError("no", data={"details": "because"}, code=7)) == "no: because (7)"
    assert str(RpcError("no", data={"details": {"a": 1}}, code=7)) == "no (7)"
    assert str(RpcError("no such", data={"message": "no"}, code=7)) == "no such (7)"
    assert len(str(RpcError("no", data="x" * 100_000, code=7))) < 600


def test_the_end_is_told_with_the_last_words_of_the_process() -> None:
    tail = "\n".join(f"line {n}" for n in range(50)) + "\n\n"
    closed = ConnectionClosed("agent exited with code 1", exit_code=1, stderr_tail=tail)
    text = str(closed)
    assert text.startswith("agent exited with code 1\n")
    assert "line 49" in text and "line 40" in text and "line 39" not in text
    assert str(ConnectionClosed("closed")) == "closed"


def test_the_same_news_for_another_listener_is_another_object() -> None:
    closed = ConnectionClosed(
        "gone", clean=True, exit_code=3, signal="SIGKILL", stderr_tail="oops", frames=("-> {}",)
    )
    again = closed.again()
    assert again is not closed
    assert vars(again) == vars(closed)


def test_a_transport_error_tells_the_last_words_too() -> None:
    assert "Traceback" in str(TransportError("did not start", stderr_tail="Traceback"))
    assert str(TransportError("did not start")) == "did not start"


@pytest.mark.parametrize(
    "error",
    [
        RpcError("no", data={"a": 1}, code=7),
        errors.AuthRequired("log in"),
        ConnectionClosed("gone", exit_code=1, stderr_tail="x"),
        TransportError("no", stderr_tail="x"),
    ],
)
def test_errors_survive_copying_and_pickling(error: AcpellaError) -> None:
    """Process pools and test runners do both."""
    for twin in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert type(twin) is type(error)
        assert str(twin) == str(error)
        assert vars(twin) == vars(error)
