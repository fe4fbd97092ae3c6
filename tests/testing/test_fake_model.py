"""The fake model: every provider's shape, streamed and whole, and the orders in a prompt."""

import json
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from acpella.testing import FakeModel, ModelAnswer, ModelPrompt, ToolUse

Json = dict[str, Any]


@pytest.fixture
def model() -> Iterator[FakeModel]:
    with FakeModel() as model:
        yield model


def post(url: str, body: Any) -> tuple[int, str]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def events(text: str) -> list[Json]:
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


BASH: Json = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}


class Chat:
    """How a program that speaks chat completions would ask, and read the answers."""

    path = "/v1/chat/completions"

    def body(self, prompt: str, results: list[str], *, stream: bool) -> Json:
        messages: list[Json] = [{"role": "system", "content": "!say no"}, {"role": "user", "content": prompt}]
        messages += [{"role": "tool", "tool_call_id": "c", "content": text} for text in results]
        function = {"name": "bash", "parameters": BASH}
        tools = [{"type": "function", "function": function}]
        return {"model": "m", "messages": messages, "tools": tools, "stream": stream}

    def read(self, text: str, *, stream: bool) -> tuple[str, str, Any]:
        choices = [choice for event in events(text) for choice in event["choices"]]
        messages = (
            [choice["delta"] for choice in choices] if stream else [json.loads(text)["choices"][0]["message"]]
        )
        said = "".join(message.get("content") or "" for message in messages)
        thought = "".join(message.get("reasoning_content") or "" for message in messages)
        calls = [call["function"] for message in messages for call in message.get("tool_calls", [])]
        return said, thought, [(call["name"], json.loads(call["arguments"])) for call in calls]


class Responses:
    path = "/v1/responses"

    def body(self, prompt: str, results: list[str], *, stream: bool) -> Json:
        items: list[Json] = [{"role": "user", "content": [{"type": "input_text", "text": prompt}]}]
        items += [{"type": "function_call_output", "call_id": "c", "output": text} for text in results]
        tools = [{"type": "function", "name": "shell", "parameters": BASH}]
        return {"model": "m", "input": items, "tools": tools, "stream": stream}

    def read(self, text: str, *, stream: bool) -> tuple[str, str, Any]:
        response = events(text)[-1]["response"] if stream else json.loads(text)
        said, thought, calls = "", "", list[Any]()
        for item in response["output"]:
            if item["type"] == "message":
                said += item["content"][0]["text"]
            elif item["type"] == "reasoning":
                thought += item["summary"][0]["text"]
            else:
                calls.append((item["name"], json.loads(item["arguments"])))
        if stream:
            deltas = [e["delta"] for e in events(text) if e["type"] == "response.output_text.delta"]
            assert "".join(deltas) == said
        return said, thought, calls


class Messages:
    path = "/v1/messages"

    def body(self, prompt: str, results: list[str], *, stream: bool) -> Json:
        reminder = {"type": "text", "text": "<system-reminder>!say no</system-reminder>"}
        said: list[Json] = [reminder, {"type": "text", "text": prompt}]
        messages: list[Json] = [{"role": "user", "content": said}]
        for text in results:
            result = {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": text}]}
            messages.append({"role": "user", "content": [result]})
        tools = [{"name": "Bash", "input_schema": BASH}]
        return {"model": "m", "messages": messages, "tools": tools, "stream": stream}

    def read(self, text: str, *, stream: bool) -> tuple[str, str, Any]:
        if not stream:
            blocks = json.loads(text)["content"]
            said = "".join(block["text"] for block in blocks if block["type"] == "text")
            thought = "".join(block["thinking"] for block in blocks if block["type"] == "thinking")
            return said, thought, [(b["name"], b["input"]) for b in blocks if b["type"] == "tool_use"]
        deltas = [event["delta"] for event in events(text) if event["type"] == "content_block_delta"]
        said = "".join(delta.get("text", "") for delta in deltas)
        thought = "".join(delta.get("thinking", "") for delta in deltas)
        starts = [event["content_block"] for event in events(text) if event["type"] == "content_block_start"]
        names = [block["name"] for block in starts if block["type"] == "tool_use"]
        inputs = [json.loads(delta["partial_json"]) for delta in deltas if "partial_json" in delta]
        return said, thought, list(zip(names, inputs, strict=True))


class Gemini:
    path = "/v1beta/models/fake:"

    def body(self, prompt: str, results: list[str], *, stream: bool) -> Json:
        contents: list[Json] = [{"role": "user", "parts": [{"text": prompt}]}]
        for text in results:
            response = {"functionResponse": {"name": "run_shell_command", "response": {"output": text}}}
            contents.append({"role": "user", "parts": [response]})
        declared = {"name": "run_shell_command", "parametersJsonSchema": BASH}
        return {"contents": contents, "tools": [{"functionDeclarations": [declared]}]}

    def read(self, text: str, *, stream: bool) -> tuple[str, str, Any]:
        answers = events(text) if stream else [json.loads(text)]
        parts = [part for answer in answers for part in answer["candidates"][0]["content"]["parts"]]
        said = "".join(part.get("text", "") for part in parts if not part.get("thought"))
        thought = "".join(part["text"] for part in parts if part.get("thought"))
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        return said, thought, [(call["name"], call["args"]) for call in calls]


Ask = Callable[..., tuple[str, str, Any]]


@pytest.fixture(params=[Chat, Responses, Messages, Gemini])
def shape(request: pytest.FixtureRequest) -> Any:
    return request.param()


@pytest.fixture(params=[True, False], ids=["streamed", "whole"])
def ask(shape: Any, request: pytest.FixtureRequest, model: FakeModel) -> Ask:
    stream: bool = request.param

    def send(prompt: str, *results: str) -> tuple[str, str, Any]:
        path: str = shape.path
        if path.endswith(":"):
            path += "streamGenerateContent?alt=sse" if stream else "generateContent"
        status, text = post(model.url + path, shape.body(prompt, list(results), stream=stream))
        assert status == 200, text
        said, thought, uses = shape.read(text, stream=stream)
        return said.strip(), thought, uses

    return send


def test_a_prompt_without_an_order_is_repeated(ask: Ask) -> None:
    assert ask("hello\nworld") == ("You said: hello\nworld", "", [])


def test_orders_are_carried_out_in_turn(ask: Ask) -> None:
    prompt = "!think hard\n!say first\n!run echo 1\n!say second\n!run echo 2\n!say last"
    said, thought, ((_, arguments),) = ask(prompt)
    assert (said, thought, arguments) == ("first", "hard", {"command": "echo 1"})
    said, thought, ((_, arguments),) = ask(prompt, "1")
    assert (said, thought, arguments) == ("second", "", {"command": "echo 2"})
    assert ask(prompt, "1", "2") == ("last", "", [])


def test_the_last_result_is_repeated_when_nothing_else_is_to_be_said(ask: Ask) -> None:
    said, _, uses = ask("!run true", "the result")
    assert said.startswith("The tool said: ") and "the result" in said
    assert uses == []


def test_slow_answers_count(ask: Ask) -> None:
    assert ask("!slow 0.1")[0] == "0 1"


def test_a_failure_is_an_http_error(model: FakeModel, shape: Any) -> None:
    path = shape.path + ("generateContent" if shape.path.endswith(":") else "")
    status, text = post(model.url + path, shape.body("!fail 429 too much", [], stream=False))
    assert status == 429
    assert json.loads(text)["error"]["message"] == "too much"


TOOLS: dict[str, Json] = {
    "read_file": {"properties": {"absolute_path": {"type": "string"}, "limit": {"type": "integer"}}},
    "Write": {"properties": {"file_path": {"type": "string"}, "content": {"type": "string"}}},
    "edit": {
        "properties": {
            "filePath": {"type": "string"},
            "oldString": {"type": "string"},
            "newString": {"type": "string"},
            "replaceAll": {"type": "boolean"},
        },
        "required": ["filePath", "oldString", "newString", "replaceAll"],
    },
    "update_plan": {
        "properties": {
            "plan": {
                "type": "array",
                "items": {
                    "properties": {
                        "step": {"type": "string"},
                        "status": {"type": "string", "enum": ["done", "pending"]},
                    }
                },
            }
        }
    },
    "shell": {"properties": {"command": {"type": "array", "items": {"type": "string"}}}},
}


def use(model: FakeModel, prompt: str, tools: dict[str, Json]) -> tuple[str, Any]:
    body = {"messages": [{"role": "user", "content": prompt}]}
    offered = [{"function": {"name": name, "parameters": schema}} for name, schema in tools.items()]
    status, text = post(f"{model.url}/v1/chat/completions", {**body, "tools": offered})
    assert status == 200
    message = json.loads(text)["choices"][0]["message"]
    if "tool_calls" not in message:
        return "", message["content"]
    function = message["tool_calls"][0]["function"]
    return function["name"], json.loads(function["arguments"])


@pytest.mark.parametrize(
    "prompt, expected",
    [
        ("!read a.txt", ("read_file", {"absolute_path": "a.txt"})),
        ('!write "a b.txt" one\\ntwo', ("Write", {"file_path": "a b.txt", "content": "one\ntwo\n"})),
        (
            "!edit a.txt old words => new words",
            (
                "edit",
                {
                    "filePath": "a.txt",
                    "oldString": "old words",
                    "newString": "new words",
                    "replaceAll": False,
                },
            ),
        ),
        ("!run ls -l", ("shell", {"command": ["bash", "-lc", "ls -l"]})),
        (
            "!plan look; do it",
            (
                "update_plan",
                {"plan": [{"step": "look", "status": "pending"}, {"step": "do it", "status": "pending"}]},
            ),
        ),
    ],
)
def test_an_order_finds_the_tool_of_the_agent(model: FakeModel, prompt: str, expected: Any) -> None:
    assert use(model, prompt, TOOLS) == expected


def test_an_agent_without_file_tools_reads_and_writes_by_commands(model: FakeModel) -> None:
    tools = {"shell": {"properties": {"command": {"type": "string"}}}}
    assert use(model, "!read a.txt", tools) == ("shell", {"command": "cat a.txt"})
    _, arguments = use(model, "!write a.txt it's", tools)
    assert arguments == {"command": "printf '%s\\n' 'it'\"'\"'s' > a.txt"}


def test_a_tool_of_any_name_is_called(model: FakeModel) -> None:
    tools = [{"name": "add_note", "input_schema": {"type": "object"}}]

    def ask(prompt: str) -> Any:
        message = {"role": "user", "content": prompt}
        status, text = post(f"{model.url}/v1/messages", {"messages": [message], "tools": tools})
        assert status == 200
        return json.loads(text)["content"][-1]

    use = ask('!call add_note {"text": "buy milk"}')
    assert (use["name"], use["input"]) == ("add_note", {"text": "buy milk"})
    assert ask("!call add_note not JSON")["input"] == {}
    assert "Its tools: add_note" in ask("!call other {}")["text"]


def test_an_order_without_a_tool_says_which_there_are(model: FakeModel) -> None:
    assert use(model, "!run ls", {"dance": {}, "sing": {}}) == (
        "",
        "The agent offers no tool to run with. Its tools: dance, sing",
    )


def test_a_patch_tool_that_takes_plain_text_gets_a_patch(model: FakeModel) -> None:
    body = {"input": "!write a.txt one", "tools": [{"type": "custom", "name": "apply_patch"}]}
    _, text = post(f"{model.url}/v1/responses", body)
    (item,) = json.loads(text)["output"]
    assert item["input"] == "*** Begin Patch\n*** Add File: a.txt\n+one\n*** End Patch\n"


@pytest.mark.parametrize(
    "path, body, status, words",
    [
        ("/v1/messages", b"{", 400, "not a JSON object"),
        ("/v1/messages", b"[]", 400, "not a JSON object"),
        ("/v1/messages", b"\xff\xfe", 400, "not a JSON object"),
        ("/v1/nonsense", b"{}", 404, "nothing at /v1/nonsense"),
    ],
)
def test_a_bad_request_is_told_what_is_wrong(
    model: FakeModel, path: str, body: bytes, status: int, words: str
) -> None:
    answer = post(model.url + path, body)
    assert answer[0] == status and words in answer[1]


@pytest.mark.parametrize(
    "path", ["/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/m:generateContent"]
)
@pytest.mark.parametrize(
    "body", [{}, {"messages": 1, "input": 1, "contents": 1, "tools": 1}, {"messages": [1, {"content": [1]}]}]
)
def test_a_request_of_an_odd_shape_is_answered_all_the_same(model: FakeModel, path: str, body: Json) -> None:
    status, _ = post(model.url + path, body)
    assert status == 200


def test_an_answer_of_your_own(shape: Any) -> None:
    def answer(prompt: ModelPrompt) -> ModelAnswer:
        assert prompt.said == "anything"
        return ModelAnswer("mine", "deep", ToolUse("c7", prompt.tools[0].name, {"command": "x"}))

    with FakeModel(answer) as model:
        path = shape.path + ("generateContent" if shape.path.endswith(":") else "")
        _, text = post(model.url + path, shape.body("anything", [], stream=False))
        said, thought, ((_, arguments),) = shape.read(text, stream=False)
        assert (said, thought, arguments) == ("mine", "deep", {"command": "x"})
        assert [request.path for request in model.requests] == [path]


def test_an_agent_that_hangs_up_is_noticed(model: FakeModel) -> None:
    host, port = model.url.removeprefix("http://").split(":")
    body = json.dumps({"stream": True, "messages": [{"role": "user", "content": "!slow"}]})
    with socket.create_connection((host, int(port))) as connection:
        head = f"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall((head + body).encode())
        assert b"200" in connection.recv(100)
        assert not model.hung_up.is_set()
    assert model.hung_up.wait(10)


def test_the_end_of_the_server_cuts_answers_that_are_under_way() -> None:
    with FakeModel() as model:
        body = json.dumps({"stream": True, "messages": [{"role": "user", "content": "!slow"}]}).encode()
        answer = urllib.request.urlopen(f"{model.url}/v1/messages", body, timeout=10)
        answer.readline()
    with answer:
        assert b"message_stop" not in answer.read()
    assert not model.hung_up.is_set()


def test_its_address_is_known_once_it_runs() -> None:
    with pytest.raises(RuntimeError, match="has not been started"):
        _ = FakeModel().url


def test_it_runs_as_a_program() -> None:
    command = [sys.executable, "-m", "acpella.testing.model"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            assert "You said: hi" in post(f"{url}/v1/messages", Messages().body("hi", [], stream=False))[1]
        finally:
            process.terminate()
    ran = subprocess.run([*command, "nonsense"], capture_output=True, text=True)
    assert ran.returncode == 1 and "usage: " in ran.stderr


def test_no_two_answers_have_the_same_id(model: FakeModel) -> None:
    """Claude Code takes messages of one id for parts of one message."""
    body = Messages().body("hi", [], stream=False)
    ids = [json.loads(post(f"{model.url}/v1/messages", body)[1])["id"] for _ in range(3)]
    assert len(set(ids)) == 3


def test_words_beside_the_result_of_a_tool_are_a_new_prompt(model: FakeModel) -> None:
    result = {"type": "tool_result", "tool_use_id": "c", "content": "done"}
    content = [result, {"type": "text", "text": "and now?"}]
    body = {"messages": [{"role": "user", "content": "!run ls"}, {"role": "user", "content": content}]}
    assert "You said: and now?" in post(f"{model.url}/v1/messages", body)[1]
