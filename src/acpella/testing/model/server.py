"""The HTTP server of the fake model.

It runs in threads of its own: a test that blocks its event loop, or has none, is answered all the same.
"""

import asyncio
import contextlib
import json
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self, cast

from .chat import ChatCompletions
from .gemini import GenerateContent
from .messages import Messages
from .orders import follow_orders
from .prompts import Json, ModelAnswer, ModelPrompt, ServerEvent, WireShape
from .responses import Responses

__all__ = ["FakeModel", "ModelRequest"]

_MAX_BODY = 256 * 1024 * 1024
"""The most bytes of a request. An agent that sends more is broken, and would fill the memory of the tests."""

_POLL_SECONDS = 0.05
"""How soon the server notices that it should end."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What an agent sent to the model."""

    path: str
    body: Json = field(repr=False)


class FakeModel:
    """A model provider on this machine that does what the prompt says.

    `with FakeModel() as model:` or `async with`. Real agents talk to `model.url` as they would to OpenAI,
    Anthropic or Gemini; `model.requests` is what they sent. `answer` replaces the orders in prompts with a
    function of your own; it runs in a thread.

    Lines of a prompt that start with an order are carried out one after the other:

    ```text
    !say TEXT                  says TEXT
    !think TEXT                thinks TEXT, then goes on
    !read PATH                 uses the agent's tool that reads files
    !write PATH TEXT           uses the tool that writes files
    !edit PATH OLD => NEW      uses the tool that edits files
    !run COMMAND               uses the tool that runs commands
    !plan STEP; STEP           uses the tool that keeps a plan
    !call NAME {"a": 1}        uses the tool of that name with these arguments
    !slow [SECONDS]            counts aloud, twenty numbers a second, for a minute unless told otherwise
    !fail [STATUS] [TEXT]      answers with an HTTP error, 500 unless told otherwise
    ```

    A path with spaces stands in double quotes, and `\\n` in a text is a new line. A prompt without an order
    is answered with "You said: …". After the last tool the model says "The tool said: …".
    """

    def __init__(
        self, answer: Callable[[ModelPrompt], ModelAnswer] = follow_orders, *, port: int = 0
    ) -> None:
        self.requests: list[ModelRequest] = []
        """What agents sent so far, in order of arrival."""
        self.hung_up: threading.Event = threading.Event()
        """Set when an agent stops listening in the middle of an answer, as it does after a cancel."""
        self._answer = answer
        self._port = port
        self._server: _Server | None = None

    @property
    def url(self) -> str:
        """Where it listens. Settings that want a version in the path get `model.url + "/v1"`."""
        if self._server is None:
            raise RuntimeError("the fake model has not been started: use it with `with` or `async with`")
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def answer_to(self, prompt: ModelPrompt) -> ModelAnswer:
        """What the model says to a prompt."""
        return self._answer(prompt)

    def __enter__(self) -> Self:
        self._server = _Server(self, self._port)
        self._server.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._server is not None:
            self._server.stop()
            self._server = None

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(self, *error: object) -> None:
        await asyncio.to_thread(self.__exit__, *error)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, model: FakeModel, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.model = model
        self.stopping = threading.Event()
        self._connections: set[socket.socket] = set()
        self._accepting = threading.Thread(
            target=self.serve_forever, args=(_POLL_SECONDS,), name="fake model", daemon=True
        )

    def start(self) -> None:
        self._accepting.start()

    def stop(self) -> None:
        """Stop listening, and cut answers that are still under way."""
        self.stopping.set()
        self.shutdown()
        self._accepting.join()
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.server_close()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore connections broken by agents that were killed; anything else is a bug and is shown."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """One connection of an agent."""

    protocol_version = "HTTP/1.1"
    server: _Server  # pyright: ignore[reportIncompatibleVariableOverride] - nothing else starts it

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: tests read `requests`."""

    def do_HEAD(self) -> None:
        self._send({})

    def do_GET(self) -> None:
        model = {"id": "fake-model", "object": "model", "owned_by": "nobody", "created": 0}
        self._send({"object": "list", "data": [model], "models": []})

    def do_POST(self) -> None:
        path = self.path.partition("?")[0]
        body = self._read_body()
        if body is None:
            return
        model = self.server.model
        model.requests.append(ModelRequest(path, body))
        if path.endswith(("/count_tokens", ":countTokens")):
            self._send({"input_tokens": 11, "totalTokens": 11})
            return
        shape = _shape_of(path, body)
        if shape is None:
            self._send_error(404, f"the fake model has nothing at {path}")
            return
        answer = replace(model.answer_to(shape.prompt), pause=self._pause)
        if answer.status != 200:
            self._send_error(answer.status, answer.text)
        elif shape.streamed:
            self._stream(shape.stream(answer))
        else:
            self._send(shape.whole(answer))

    def _read_body(self) -> Json | None:
        """The JSON object in the request; None if there is none, after answering with an error."""
        length = self.headers.get("content-length", "")
        if not length.isdecimal():
            self.close_connection = True
            self._send_error(411, "the request needs a Content-Length")
            return None
        if int(length) > _MAX_BODY:
            self.close_connection = True
            self._send_error(413, f"the request is longer than {_MAX_BODY} bytes")
            return None
        try:
            body: object = json.loads(self.rfile.read(int(length)))
        except ValueError:
            body = None
        if not isinstance(body, dict):
            self._send_error(400, "the body is not a JSON object")
            return None
        return cast(Json, body)

    def _pause(self, seconds: float) -> None:
        if self.server.stopping.wait(seconds):
            raise ConnectionAbortedError

    def _send_error(self, status: int, text: str) -> None:
        error = {"code": status, "type": "api_error", "status": "ERROR", "message": text}
        self._send({"type": "error", "error": error}, status)

    def _send(self, value: Json, status: int = 200) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _stream(self, events: Iterator[ServerEvent]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("cache-control", "no-cache")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            for name, data in events:
                if not isinstance(data, str):
                    data = json.dumps({"type": name, **data} if name else data)
                head = f"event: {name}\n" if name else ""
                self.wfile.write(f"{head}data: {data}\n\n".encode())
        except OSError:
            if not self.server.stopping.is_set():
                self.server.model.hung_up.set()


def _shape_of(path: str, body: Json) -> WireShape | None:
    if path.endswith("/chat/completions"):
        return ChatCompletions(body)
    if path.endswith("/responses"):
        return Responses(body)
    if path.endswith("/messages"):
        return Messages(body)
    if path.endswith(("generateContent", "GenerateContent")):
        return GenerateContent(body, streamed="streamGenerateContent" in path)
    return None
