"""A provider of models for tests: real HTTP, the event shapes of both APIs, and a script instead of a model.

    async with FakeProvider([{"tools": [{"name": "list_files", "arguments": {}}]}, "Done"]) as provider:
        ... ask http://127.0.0.1:PORT (provider.url) by Anthropic's or OpenAI's API ...
        assert provider.requests[0].body["model"] == "test"

or as a process, which prints its URL and serves until it is ended:

    python tests/coder/fake_provider.py --script turns.json --port 0 [--record requests.jsonl]

A script is a list of turns; each request takes the next one (the first left whose `when` is in the request).
A turn is a text, or an object with any of

    thinking, text    what the model says: a string, or a list of pieces
    signature         of the thought (Anthropic)
    tools             [{"name", "arguments": {...} or JSON as text, "id"?}]
    stop              "end", "tool_use", "max_tokens", "refusal", or a reason of the API; by default what fits
    usage             {"input", "output", "cached"}
    status, headers, error, kind     answer with this HTTP status and error instead
    body              answer with this text (and `type`, the content type) instead of a stream
    then              after the content, instead of the end: "cut" (close), "hang" (until the client goes),
                      or {"error": message, "kind": type} (an error event)
    chunks            strings that are sent as the stream, just so, instead of the content
    piece             bytes in one write (1 splits characters), by default whole events
    crlf, comments    other line ends; comments and pings between the events
    done              false: no [DONE] (OpenAI)
    when              only for a request whose JSON contains this text

GET /v1/models lists `models`.
"""

import argparse
import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Asked:
    """A request that the provider received."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class FakeProvider:
    def __init__(self, turns: list[Any] | None = None, *, models: list[str] | None = None) -> None:
        self.turns = [turn if isinstance(turn, dict) else {"text": turn} for turn in turns or []]
        self.models = models or ["test"]
        self.requests: list[Asked] = []
        self.url = ""
        self.hanging = asyncio.Event()
        """Set when a request is being kept waiting by "hang"."""
        self.disconnected = asyncio.Event()
        """Set when the client of a waiting request went away."""
        self.record: Path | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self, port: int = 0) -> None:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", port)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def close(self) -> None:
        self._server.close()
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def __aenter__(self) -> "FakeProvider":
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # -- HTTP ---------------------------------------------------------------------------------------

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            asked = await _read_request(reader)
            self.requests.append(asked)
            if self.record is not None:
                with self.record.open("a", encoding="utf-8") as out:
                    out.write(json.dumps({"path": asked.path, "body": asked.body}) + "\n")
            await self._answer(asked, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            self.disconnected.set()
        except asyncio.CancelledError:
            pass  # the server is closed
        finally:
            writer.close()
            self._connections.discard(task)

    async def _answer(self, asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if asked.method == "GET":
            known = {"data": [{"id": name, "object": "model"} for name in self.models]}
            return _whole(writer, 200, json.dumps(known), "application/json")
        if not asked.path.endswith(("/messages", "/chat/completions")):
            return _whole(writer, 404, "<html>Not Found</html>", "text/html")
        api = _anthropic if asked.path.endswith("/messages") else _openai
        turn = self._turn(asked)
        headers = turn.get("headers", {})
        if "status" in turn:
            error = turn.get("error", "it went wrong")
            text = (
                error if isinstance(error, str) and error.startswith("<") else json.dumps(_error(api, turn))
            )
            return _whole(
                writer, turn["status"], turn.get("body", text), turn.get("type", "application/json"), headers
            )
        if "body" in turn:
            return _whole(writer, 200, turn["body"], turn.get("type", "application/json"), headers)
        writer.write(
            _head(200, {"content-type": "text/event-stream; charset=utf-8", **headers}, chunked=True)
        )
        await writer.drain()
        async for piece in _pieces(turn, api(turn)):
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
        then = turn.get("then")
        if then == "cut":
            return
        if then == "hang":
            self.hanging.set()
            await reader.read()  # until the client closes
            self.disconnected.set()
            return
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    def _turn(self, asked: Asked) -> dict[str, Any]:
        said = json.dumps(asked.body, ensure_ascii=False)
        for turn in self.turns:
            if turn.get("when", "") in said:
                self.turns.remove(turn)
                return turn
        return {"status": 400, "error": "the script has no more turns", "kind": "invalid_request_error"}


async def _read_request(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.split("\r\n")
    method, path, _ = first.split(" ")
    headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(method, path, headers, json.loads(body) if body else {})


def _head(status: int, headers: dict[str, str], *, chunked: bool = False, length: int = 0) -> bytes:
    framing = {"transfer-encoding": "chunked"} if chunked else {"content-length": str(length)}
    fields = {"connection": "close", **framing, **headers}
    lines = [f"HTTP/1.1 {status} OK", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
    return "\r\n".join(lines).encode()


def _whole(
    writer: asyncio.StreamWriter, status: int, text: str, kind: str, headers: dict[str, str] | None = None
) -> None:
    body = text.encode()
    writer.write(_head(status, {"content-type": kind, **(headers or {})}, length=len(body)) + body)


def _error(api: Any, turn: dict[str, Any]) -> Any:
    """An error in the format of the API, unless the script gives the whole error."""
    error = turn.get("error", "it went wrong")
    if not isinstance(error, str):
        return error
    kind = turn.get("kind", "api_error" if api is _anthropic else "server_error")
    if api is _anthropic:
        return {"type": "error", "error": {"type": kind, "message": error}, "request_id": "req_1"}
    return {"error": {"message": error, "type": kind, "param": None, "code": turn.get("code")}}


# -- streams ------------------------------------------------------------------------------------------


async def _pieces(turn: dict[str, Any], events: Iterator[str]) -> AsyncIterator[bytes]:
    for event in turn.get("chunks") or events:
        data = event.encode()
        if turn.get("comments"):
            data = b": keep-alive\n\n" + data
        if turn.get("crlf"):
            data = data.replace(b"\n", b"\r\n")
        size = turn.get("piece") or len(data)
        for start in range(0, len(data), size):
            yield data[start : start + size]
            await asyncio.sleep(0)


def _list(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value or [])


def _arguments(tool: dict[str, Any]) -> list[str]:
    """JSON in pieces of three characters: within words, escapes and numbers."""
    given = tool.get("arguments", {})
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=tool.get("ascii", False))
    return [text[i : i + 3] for i in range(0, len(text), 3)]


def _anthropic(turn: dict[str, Any]) -> Iterator[str]:
    def event(kind: str, **fields: Any) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields}, ensure_ascii=False)}\n\n"

    usage = turn.get("usage", {})
    cached = usage.get("cached", 0)
    counted = {
        "input_tokens": usage.get("input", 10) - cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached,
        "output_tokens": 1,
    }
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "test"}
    yield event("message_start", message={**message, "stop_reason": None, "usage": counted})
    if turn.get("comments"):
        yield event("ping")
    index = 0

    def block(start: dict[str, Any], deltas: list[dict[str, Any]]) -> Iterator[str]:
        nonlocal index
        yield event("content_block_start", index=index, content_block=start)
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
        index += 1

    if thoughts := _list(turn.get("thinking")):
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in thoughts]
        signature = {"type": "signature_delta", "signature": turn.get("signature", "c2lnbmVk")}
        yield from block({"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signature])
    if data := turn.get("redacted"):
        yield from block({"type": "redacted_thinking", "data": data}, [])
    if texts := _list(turn.get("text")):
        yield from block(
            {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in texts]
        )
    for number, tool in enumerate(turn.get("tools", [])):
        start = {
            "type": "tool_use",
            "id": tool.get("id", f"toolu_{number}"),
            "name": tool["name"],
            "input": {},
        }
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *_arguments(tool)]]
        yield from block(start, deltas)
    if isinstance(then := turn.get("then"), dict):
        error = {"type": then.get("kind", "api_error"), "message": then["error"]}
        yield event("error", error=error)
        return
    if turn.get("then"):
        return
    usual = "tool_use" if turn.get("tools") else "end_turn"
    stop = {"end": "end_turn"}.get(turn.get("stop", ""), turn.get("stop", usual))
    delta = {"stop_reason": stop, "stop_sequence": None}
    yield event("message_delta", delta=delta, usage={"output_tokens": usage.get("output", 5)})
    yield event("message_stop")


def _openai(turn: dict[str, Any]) -> Iterator[str]:
    def chunk(delta: dict[str, Any] | None, finish: str | None = None, **fields: Any) -> str:
        choices = (
            [] if delta is None else [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]
        )
        value = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "test"}
        return f"data: {json.dumps({**value, 'choices': choices, **fields}, ensure_ascii=False)}\n\n"

    yield chunk({"role": "assistant", "content": "", "refusal": None})
    for piece in _list(turn.get("thinking")):
        yield chunk({turn.get("thinking_field", "reasoning_content"): piece})
    for piece in _list(turn.get("text")):
        yield chunk({"refusal" if turn.get("stop") == "refusal" else "content": piece})
    started: list[tuple[int, list[str]]] = []
    for index, tool in enumerate(turn.get("tools", [])):
        function = {"name": tool["name"], "arguments": ""}
        id = tool.get("id", f"call_{index}")
        yield chunk({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]})
        started.append((index, _arguments(tool)))
    while any(pieces for _, pieces in started):  # the calls grow side by side
        for index, pieces in started:
            if pieces:
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": pieces.pop(0)}}]})
    if isinstance(then := turn.get("then"), dict):
        error = {"message": then["error"], "type": then.get("kind", "server_error"), "code": then.get("code")}
        yield f"data: {json.dumps({'error': error})}\n\n"
        return
    if turn.get("then"):
        return
    usual = "tool_calls" if turn.get("tools") else "stop"
    names = {"end": "stop", "tool_use": "tool_calls", "max_tokens": "length", "refusal": "stop"}
    stop = names.get(turn.get("stop", ""), turn.get("stop", usual))
    yield chunk({}, stop)
    usage = turn.get("usage", {})
    counted = {
        "prompt_tokens": usage.get("input", 10),
        "completion_tokens": usage.get("output", 5),
        "total_tokens": usage.get("input", 10) + usage.get("output", 5),
        "prompt_tokens_details": {"cached_tokens": usage.get("cached", 0)},
    }
    yield chunk(None, usage=counted)
    if turn.get("done", True):
        yield "data: [DONE]\n\n"


# -- as a process -------------------------------------------------------------------------------------


async def _serve(turns: list[Any], port: int, record: Path | None) -> None:
    provider = FakeProvider(turns)
    provider.record = record
    await provider.start(port)
    print(provider.url, flush=True)
    try:
        await asyncio.Event().wait()
    finally:
        await provider.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="serve scripted answers of a model")
    parser.add_argument("--script", type=Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--record", type=Path)
    arguments = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        turns = json.loads(arguments.script.read_text(encoding="utf-8"))
        asyncio.run(_serve(turns, arguments.port, arguments.record))


if __name__ == "__main__":
    sys.exit(main())
