"""A model provider on this machine, for real agents: speaks their HTTP dialects, with scripted answers.

    python tests/interop/fake_models.py [PORT]      # 0 or nothing: a free one; prints the URL

Dialects: OpenAI chat completions and responses, Anthropic messages, Gemini generateContent; streamed or
whole. What it answers depends on the last thing the user said:

    !run COMMAND          calls the agent's tool that runs commands
    !write PATH TEXT      calls the tool that writes files
    !slow                 a word every 50 ms for a minute, unless the agent hangs up
    anything else         "You said: …"

After the result of a tool it says "The tool said: …".
"""

import json
import re
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

RUNNERS = re.compile(
    r"^(bash|shell|exec_command|run_shell_command|shell_command|execute|terminal)$", re.IGNORECASE
)
WRITERS = re.compile(r"^(write|write_file|create_file|write_text_file)$", re.IGNORECASE)

Tool = tuple[str, dict[str, Any]]
"""A tool's name and the schema of its parameters."""

USED = {"prompt_tokens": 11, "completion_tokens": 4, "total_tokens": 15}


class Answer:
    """What the model does next: says words, or calls a tool."""

    def __init__(self, text: str = "", call: tuple[str, dict[str, Any]] | None = None, *, slow: bool = False):
        self.text = text
        self.call = call
        self._slow = slow

    def words(self) -> Iterator[str]:
        """The text in pieces, slowly if asked to."""
        if self._slow:
            for number in range(1200):
                time.sleep(0.05)
                yield f"{number} "
        elif self.text:
            yield from re.findall(r"\S+\s*", self.text)


def answer_to(said: str, tool_result: str | None, tools: list[Tool]) -> Answer:
    """What the script says to the last thing of the conversation."""
    if tool_result is not None:
        return Answer(f"The tool said: {tool_result.strip()[:200]}")
    order = re.search(r"!(run|write|slow)\b[ \t]*([^\n<]*)", said)
    if order is None:
        plain = re.sub(r"<(system-reminder|environment_context)>.*?</\1>", "", said, flags=re.DOTALL).strip()
        return Answer(f"You said: {plain[-200:]}")
    what, rest = order[1], order[2].strip()
    if what == "slow":
        return Answer(slow=True)
    pattern = RUNNERS if what == "run" else WRITERS
    found = next(((name, schema) for name, schema in tools if pattern.match(name)), None)
    if found is None:
        return Answer(f"No tool for {what}; there are: {', '.join(name for name, _ in tools)}")
    name, schema = found
    return Answer(call=(name, _arguments(schema, what, rest)))


def _arguments(schema: dict[str, Any], what: str, rest: str) -> dict[str, Any]:
    """The parameters of a tool, guessed from their names."""
    path, _, text = rest.partition(" ")
    filled: dict[str, Any] = {}
    properties = schema.get("properties") or {}
    needed = schema.get("required") or list(properties)
    for name, kind in properties.items():
        if what == "run" and name in ("command", "cmd", "script"):
            filled[name] = ["bash", "-lc", rest] if kind.get("type") == "array" else rest
        elif what == "write" and name in ("path", "file_path", "filePath", "filename", "absolute_path"):
            filled[name] = path
        elif what == "write" and name in ("content", "contents", "text", "file_text"):
            filled[name] = text + "\n"
        elif name in ("sandbox_permissions", "with_escalated_permissions"):
            enum = kind.get("enum") or []
            filled[name] = "require_escalated" if "require_escalated" in enum or not enum else enum[-1]
            if kind.get("type") == "boolean":
                filled[name] = True
        elif name in needed or name == "justification":
            filled[name] = _filler(kind)
    return filled


def _filler(kind: dict[str, Any]) -> Any:
    match kind.get("type"):
        case "boolean":
            return False
        case "integer" | "number":
            return kind.get("minimum", 1)
        case "array":
            return []
        case "object":
            return {}
        case _:
            return (kind.get("enum") or ["Needed for the task"])[0]


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(part.get("text") or "" for part in parts if isinstance(part, dict))


class Chat:
    """OpenAI's chat completions."""

    def __init__(self, body: dict[str, Any]) -> None:
        messages = body.get("messages") or []
        self.model = body.get("model", "fake")
        last = messages[-1] if messages else {}
        self.result = _text_of(last.get("content")) if last.get("role") == "tool" else None
        users = [_text_of(m.get("content")) for m in messages if m.get("role") == "user"]
        self.said = users[-1] if users else ""
        functions = [t.get("function") or {} for t in body.get("tools") or []]
        self.tools = [(f.get("name", ""), f.get("parameters") or {}) for f in functions]

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": self.model,
            "choices": [choice],
        }

    def stream(self, answer: Answer) -> Iterator[tuple[str, Any]]:
        yield "", self._chunk({"role": "assistant", "content": ""})
        for word in answer.words():
            yield "", self._chunk({"content": word})
        if answer.call is not None:
            function = {"name": answer.call[0], "arguments": json.dumps(answer.call[1])}
            call = {"index": 0, "id": f"call_{time.time_ns()}", "type": "function", "function": function}
            yield "", self._chunk({"tool_calls": [call]})
        yield "", self._chunk({}, "tool_calls" if answer.call else "stop")
        yield "", {**self._chunk({}), "choices": [], "usage": USED}
        yield "", "[DONE]"

    def whole(self, answer: Answer) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": "".join(answer.words())}
        if answer.call is not None:
            function = {"name": answer.call[0], "arguments": json.dumps(answer.call[1])}
            message["tool_calls"] = [
                {"id": f"call_{time.time_ns()}", "type": "function", "function": function}
            ]
        choice = {
            "index": 0,
            "message": message,
            "finish_reason": "tool_calls" if answer.call else "stop",
        }
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": self.model,
            "choices": [choice],
            "usage": USED,
        }


class Responses:
    """OpenAI's responses."""

    def __init__(self, body: dict[str, Any]) -> None:
        given = body.get("input") or []
        items = [{"role": "user", "content": given}] if isinstance(given, str) else given
        self.model = body.get("model", "fake")
        last = items[-1] if items else {}
        output = last.get("output")
        is_result = last.get("type") in ("function_call_output", "custom_tool_call_output")
        self.result = (output if isinstance(output, str) else _text_of(output)) if is_result else None
        users = [_text_of(i.get("content")) for i in items if i.get("role") == "user"]
        self.said = users[-1] if users else ""
        self.tools = [
            (t.get("name", ""), t.get("parameters") or {})
            for t in body.get("tools") or []
            if t.get("type") == "function"
        ]

    def _output(self, answer: Answer, text: str) -> list[dict[str, Any]]:
        if answer.call is None:
            part = {"type": "output_text", "text": text, "annotations": []}
            return [
                {
                    "type": "message",
                    "id": "msg_1",
                    "role": "assistant",
                    "status": "completed",
                    "content": [part],
                }
            ]
        return [
            {
                "type": "function_call",
                "id": "fc_1",
                "call_id": f"call_{time.time_ns()}",
                "name": answer.call[0],
                "arguments": json.dumps(answer.call[1]),
                "status": "completed",
            }
        ]

    def _response(self, output: list[dict[str, Any]], status: str) -> dict[str, Any]:
        usage = {
            "input_tokens": 11,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 4,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 15,
        }
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": int(time.time()),
            "model": self.model,
            "status": status,
            "output": output,
            "usage": usage if status == "completed" else None,
        }

    def stream(self, answer: Answer) -> Iterator[tuple[str, Any]]:
        yield "response.created", {"response": self._response([], "in_progress")}
        text = ""
        if answer.call is None:
            item = {**self._output(answer, "")[0], "content": [], "status": "in_progress"}
            yield "response.output_item.added", {"output_index": 0, "item": item}
            for word in answer.words():
                text += word
                place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
                yield "response.output_text.delta", {**place, "delta": word}
        output = self._output(answer, text)
        if answer.call is not None:
            yield "response.output_item.added", {"output_index": 0, "item": {**output[0], "arguments": ""}}
            place, words = {"item_id": "fc_1", "output_index": 0}, output[0]["arguments"]
            yield "response.function_call_arguments.delta", {**place, "delta": words}
            yield "response.function_call_arguments.done", {**place, "arguments": words}
        yield "response.output_item.done", {"output_index": 0, "item": output[0]}
        yield "response.completed", {"response": self._response(output, "completed")}

    def whole(self, answer: Answer) -> dict[str, Any]:
        return self._response(self._output(answer, "".join(answer.words())), "completed")


class Messages:
    """Anthropic's messages."""

    def __init__(self, body: dict[str, Any]) -> None:
        messages = [m for m in body.get("messages") or [] if m.get("role") != "system"]
        self.model = body.get("model", "fake")
        content = messages[-1].get("content") if messages else ""
        blocks = content if isinstance(content, list) else []
        results = [b for b in blocks if b.get("type") == "tool_result"]
        self.result = None
        if results:
            inner = results[-1].get("content")
            self.result = inner if isinstance(inner, str) else _text_of(inner)
        texts = [b for b in blocks if b.get("type") == "text"]
        self.said = texts[-1].get("text", "") if texts else _text_of(content)
        self.tools = [(t.get("name", ""), t.get("input_schema") or {}) for t in body.get("tools") or []]

    def _message(self, content: list[dict[str, Any]], stop: str | None) -> dict[str, Any]:
        return {
            "id": f"msg_{time.time_ns()}",
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": {"input_tokens": 11, "output_tokens": 4},
        }

    def stream(self, answer: Answer) -> Iterator[tuple[str, Any]]:
        yield "message_start", {"message": self._message([], None)}
        if answer.call is None:
            yield "content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}
            for word in answer.words():
                yield "content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": word}}
        else:
            block = {
                "type": "tool_use",
                "id": f"toolu_{time.time_ns()}",
                "name": answer.call[0],
                "input": {},
            }
            yield "content_block_start", {"index": 0, "content_block": block}
            piece = {"type": "input_json_delta", "partial_json": json.dumps(answer.call[1])}
            yield "content_block_delta", {"index": 0, "delta": piece}
        yield "content_block_stop", {"index": 0}
        stop = {"stop_reason": "tool_use" if answer.call else "end_turn", "stop_sequence": None}
        yield "message_delta", {"delta": stop, "usage": {"output_tokens": 4}}
        yield "message_stop", {}

    def whole(self, answer: Answer) -> dict[str, Any]:
        if answer.call is None:
            return self._message([{"type": "text", "text": "".join(answer.words())}], "end_turn")
        name, given = answer.call
        block = {"type": "tool_use", "id": f"toolu_{time.time_ns()}", "name": name, "input": given}
        return self._message([block], "tool_use")


class Gemini:
    """Google's generateContent."""

    def __init__(self, body: dict[str, Any]) -> None:
        contents = body.get("contents") or []
        parts = contents[-1].get("parts") or [] if contents else []
        results = [p["functionResponse"] for p in parts if "functionResponse" in p]
        self.result = json.dumps(results[-1].get("response")) if results else None
        self.said = _text_of(parts)
        self._json = (body.get("generationConfig") or {}).get("responseMimeType") == "application/json"
        declared = [d for t in body.get("tools") or [] for d in t.get("functionDeclarations") or []]
        self.tools = [
            (d.get("name", ""), d.get("parametersJsonSchema") or d.get("parameters") or {}) for d in declared
        ]

    def _part(self, part: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": [part]}}
        if finish:
            candidate["finishReason"] = finish
        return {
            "candidates": [candidate],
            "usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 4, "totalTokenCount": 15},
            "modelVersion": "fake",
        }

    def stream(self, answer: Answer) -> Iterator[tuple[str, Any]]:
        for word in answer.words():
            yield "", self._part({"text": word})
        if answer.call is not None:
            call = {"name": answer.call[0], "args": answer.call[1]}
            yield "", self._part({"functionCall": call}, "STOP")
        else:
            yield "", self._part({"text": ""}, "STOP")

    def whole(self, answer: Answer) -> dict[str, Any]:
        if self._json:  # a question of the agent to itself, such as which model or who speaks next
            text = {
                "reasoning": "none",
                "next_speaker": "user",
                "model_choice": "flash",
                "complexity_score": 1,
            }
            return self._part({"text": json.dumps(text)}, "STOP")
        return self._part({"text": "".join(answer.words())}, "STOP")


Dialect = Chat | Responses | Messages | Gemini


def dialect_of(path: str, body: dict[str, Any]) -> tuple[Dialect, bool] | None:
    """How a request is to be read, and whether its answer is streamed; None for a path that nobody knows."""
    streamed = bool(body.get("stream"))
    if path.endswith("/chat/completions"):
        return Chat(body), streamed
    if path.endswith("/responses"):
        return Responses(body), streamed
    if path.endswith("/messages"):
        return Messages(body), streamed
    if "enerateContent" in path:
        return Gemini(body), "streamGenerateContent" in path
    return None


class Handler(BaseHTTPRequestHandler):
    """One request for words."""

    protocol_version = "HTTP/1.1"
    server: "FakeModels"

    def log_message(self, format: str, *args: Any) -> None:
        pass  # tests read what they need from `asked`

    def do_HEAD(self) -> None:
        self._json({})

    def do_GET(self) -> None:
        names = [{"id": "fake-model", "object": "model", "owned_by": "nobody", "created": 0}]
        self._json({"object": "list", "data": names, "models": []})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            body = {}
        path = self.path.split("?")[0]
        self.server.asked.append((path, body))
        if path.endswith(("/count_tokens", ":countTokens")):
            self._json({"input_tokens": 11, "totalTokens": 11})
            return
        found = dialect_of(path, body)
        if found is None:
            self._json({"error": {"message": f"no such path {path}"}}, 404)
            return
        dialect, streamed = found
        answer = answer_to(dialect.said, dialect.result, dialect.tools)
        if streamed:
            self._stream(dialect, answer)
        else:
            self._json(dialect.whole(answer))

    def _json(self, value: Any, status: int = 200) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _stream(self, dialect: Dialect, answer: Answer) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("cache-control", "no-cache")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            for event, data in dialect.stream(answer):
                named = f"event: {event}\n" if event else ""
                text = (
                    data if isinstance(data, str) else json.dumps({"type": event, **data} if event else data)
                )
                self.wfile.write(f"{named}data: {text}\n\n".encode())
                self.wfile.flush()
        except OSError:
            self.server.hung_up.set()  # the agent has heard enough, as it does when it is cancelled


class FakeModels(ThreadingHTTPServer):
    """The server: `with FakeModels() as models:` gives `models.url`, and `models.asked` what was asked."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.hung_up = threading.Event()
        self._thread = threading.Thread(target=self.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self) -> "FakeModels":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.shutdown()
        self.server_close()


if __name__ == "__main__":
    with FakeModels(int(sys.argv[1]) if len(sys.argv) > 1 else 0) as server:
        print(server.url, flush=True)
        threading.Event().wait()
