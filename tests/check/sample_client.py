# ruff: noqa: E501 - a table with a defect a line
"""A client that does everything right, except for one requirement if one is given.

It opens a session with the agent at the other end, sends the prompt `all`, and goes.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent_defects import drop, put, twice
from endpoint import Endpoint, Json, RpcFailure

from acpella.rpc import Channel

Change = Callable[[Json], Any]

FULL: Json = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": True,
    "elicitation": {"form": {}, "url": {}},
    "session": {"configOptions": {"boolean": {}}},
}


def also(extra: Any) -> Change:
    return lambda message: (message, extra)


def first(extra: Any) -> Change:
    return lambda message: (extra, message)


def note(method: str, params: Any) -> Json:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def ask(id: Any, method: str, params: Any) -> Json:
    return {"jsonrpc": "2.0", "id": id, **note(method, params)}


S = "the-session"  # replaced by the id of the session
HERE = {"sessionId": S}

SENT: dict[str, tuple[str, Change]] = {
    "client.messages.json": ("call session/prompt", first(b"hello")),
    "client.messages.utf8": ("call session/prompt", first(b'{"jsonrpc":"2.0","method":"_x/\xff"}')),
    "client.messages.object": ("call session/prompt", first([])),
    "client.messages.version-field": ("call session/cancel", drop("jsonrpc")),
    "client.messages.kind": ("call session/prompt", first({"jsonrpc": "2.0", "id": "what"})),
    "client.messages.result-or-error": ("error _acpella.check/fence", put("result", None)),
    "client.messages.error-object": ("error _acpella.check/fence", put("error.code", "x")),
    "client.messages.error-message": ("error _acpella.check/fence", put("error.message", "")),
    "client.messages.known-id": ("call session/prompt", first({"jsonrpc": "2.0", "id": "nobody", "result": {}})),
    "client.messages.one-answer": ("answer session/request_permission", twice),
    "client.messages.id-type": ("call session/list", put("id", 1.5)),
    "client.messages.id-null": ("call session/list", put("id", None)),
    "client.messages.id-unique": ("call session/list", twice),
    "client.messages.method-known": ("call session/prompt", first(note("sample/thing", {}))),
    "client.messages.extra-fields": ("call session/prompt", put("params.sample", 1)),
    "client.messages.meta": ("call session/cancel", put("params._meta", 5)),
    "client.messages.trace-context": ("call session/prompt", put("params._meta", {"traceparent": "x"})),
    "client.messages.empty-object": ("answer fs/write_text_file", put("result", None)),
    "client.messages.cancel-request": ("call session/prompt", first(note("$/cancel_request", {"requestId": 99}))),
    "client.messages.unknown-method": ("error acpella/does_not_exist", put("error.code", -32603)),
    "client.messages.custom-request-code": ("error _acpella.check/unknown", put("error.code", -32603)),
    "client.initialize.initialize-schema": ("call initialize", put("params.clientCapabilities.terminal", "yes")),
    "client.initialize.first": ("call initialize", first(note("_sample/early", {}))),
    "client.initialize.once": ("call session/prompt", first(ask("x", "initialize", {"protocolVersion": 1, "clientCapabilities": FULL, "clientInfo": {"name": "c", "version": "1"}}))),
    "client.initialize.info": ("call initialize", drop("params.clientInfo")),
    "client.initialize.version-kept": ("call initialize", put("params.protocolVersion", 0)),
    "client.initialize.logout-gate": ("call session/prompt", first(ask("x", "logout", {}))),
    "client.initialize.login-listed": ("call session/prompt", first(ask("x", "authenticate", {"methodId": "nobody"}))),
    "client.sessions.new-schema": ("call session/new", put("params.mcpServers", [{"name": "x", "command": "/x"}])),
    "client.sessions.load-schema": ("call session/load", drop("params.mcpServers")),
    "client.sessions.list-schema": ("call session/list", put("params.cwd", 7)),
    "client.sessions.close-schema": ("call session/close", put("params.sessionId", 7)),
    "client.sessions.resume-gate": ("call session/prompt", first(ask("x", "session/resume", {"sessionId": "other", "cwd": "/"}))),
    "client.sessions.delete-gate": ("call session/prompt", first(ask("x", "session/delete", {"sessionId": "other"}))),
    "client.sessions.fork-gate": ("call session/prompt", first(ask("x", "session/fork", {**HERE, "cwd": "/"}))),
    "client.sessions.cwd-absolute": ("call session/load", put("params.cwd", "some/where")),
    "client.sessions.directories-gate": ("call session/load", put("params.additionalDirectories", ["/x"])),
    "client.sessions.mcp-gate": ("call session/load", put("params.mcpServers", [{"type": "http", "name": "x", "url": "http://x", "headers": []}])),
    "client.sessions.mcp-absolute": ("call session/load", put("params.mcpServers", [{"name": "x", "command": "x", "args": [], "env": []}])),
    "client.sessions.list-cursor": ("call session/list", put("params.cursor", "made-up")),
    "client.prompt.prompt-schema": ("call session/prompt", lambda m: put("params.prompt", [{"type": "text", "text": "all"}, {"type": "text"}])(m)),
    "client.prompt.cancel-schema": ("call session/cancel", put("params.sessionId", 7)),
    "client.prompt.set-mode-schema": ("call session/set_mode", drop("params.modeId")),
    "client.prompt.set-option-schema": ("call session/set_config_option", drop("params.value")),
    "client.prompt.session-known": ("call session/cancel", lambda m: (m, ask("x", "session/prompt", {"sessionId": "nobody", "prompt": [{"type": "text", "text": "hi"}]}))),
    "client.prompt.not-closed": ("call session/close", lambda m: m),
    "client.prompt.one-at-a-time": ("call session/prompt", lambda m: (m, {**m, "id": "second", "params": {**m["params"], "prompt": [{"type": "text", "text": "hi"}]}})),
    "client.prompt.image-gate": ("call session/prompt", lambda m: put("params.prompt", [{"type": "text", "text": "all"}, {"type": "image", "data": "", "mimeType": "image/png"}])(m)),
    "client.prompt.audio-gate": ("call session/prompt", lambda m: put("params.prompt", [{"type": "text", "text": "all"}, {"type": "audio", "data": "", "mimeType": "audio/wav"}])(m)),
    "client.prompt.embedded-gate": ("call session/prompt", lambda m: put("params.prompt", [{"type": "text", "text": "all"}, {"type": "resource", "resource": {"uri": "x:y", "text": ""}}])(m)),
    "client.prompt.cancel-known": ("call session/cancel", put("params.sessionId", "nobody")),
    "client.prompt.mode-offered": ("call session/set_mode", put("params.modeId", "dream")),
    "client.prompt.option-offered": ("call session/set_config_option", put("params.value", "dream")),
    "client.permission.request-answer-schema": ("answer session/request_permission", put("result", {"outcome": "yes"})),
    "client.permission.offered": ("answer session/request_permission", put("result.outcome.optionId", "nobody")),
    "client.permission.answers": ("answer session/request_permission", lambda m: {"jsonrpc": "2.0", "id": m["id"], "error": {"code": -32603, "message": "no"}}),
    "client.files.read-answer-schema": ("answer fs/read_text_file", put("result.content", None)),
    "client.files.write-answer-schema": ("answer fs/write_text_file", put("result", "ok")),
    "client.terminals.create-answer-schema": ("answer terminal/create", put("result.terminalId", 7)),
    "client.terminals.output-answer-schema": ("answer terminal/output", drop("result.truncated")),
    "client.terminals.wait-answer-schema": ("answer terminal/wait_for_exit", put("result.signal", 9)),
    "client.terminals.kill-answer-schema": ("answer terminal/kill", put("result", "ok")),
    "client.terminals.release-answer-schema": ("answer terminal/release", put("result", "ok")),
    "client.elicitation.create-answer-schema": ("answer elicitation/create", put("result", {"action": 7})),
}  # fmt: skip

IGNORED = {
    # requirement: the request that is not answered
    "client.messages.custom-request": b"_acpella.check/unknown",
    "client.messages.string-id": b"_acpella.check/string",
    "client.messages.many-requests": b'"n":33',
}

FATAL: dict[str, bytes] = {
    # requirement: text in a line after which one request is not read
    "client.messages.stray-response": b"acpella-stray",
    "client.messages.cancel-unknown": b"987654321",
    "client.messages.blank-lines": b"",
    "client.messages.not-json": b"Debug:",
    "client.messages.long-line": b"check/long",
    "client.updates.message": b'"words',
    "client.updates.thought": b'"thinking',
    "client.updates.plan": b'"plan"',
    "client.updates.tool-call": b'"seen"',
    "client.updates.unknown-tool-call": b"never-seen",
    "client.updates.diff": b'"diff"',
    "client.updates.commands": b"available_commands_update",
    "client.updates.mode": b"current_mode_update",
    "client.updates.unknown-kind": b"acpella_unknown_update",
    "client.updates.malformed": b'"title":7',
    "client.updates.unknown-session": b"acpella-nobody",
    "client.updates.unknown-option-type": b"acpella_dial",
    "client.updates.flood": b'"text":"."',
}


def start(words: list[str], file: str, env: dict[str, str], cwd: str) -> "subprocess.Popen[bytes]":
    with open(file, "wb") as out:
        return subprocess.Popen(words, stdout=out, env=env, cwd=cwd)


class SampleClient:
    """One conversation with an agent."""

    def __init__(self, defect: str, cwd: str, *, bare: bool = False, prompt: str = "all") -> None:
        self.defect, self.cwd, self.prompt = defect, cwd, prompt
        self.caps: Json = {} if bare else FULL
        self.terminals: dict[str, Any] = {}
        self.session = ""
        self.numbers = iter(range(1000))
        self.deaf = False
        self.fatal_seen = 0

    def breaks(self, id: str) -> bool:
        return self.defect == f"client.{id}"

    async def run_on(self, channel: Channel) -> None:
        end = self.end = Endpoint(channel, self.change)
        end.drop = self.skip
        end.on_garbage = self.garbage
        for method, handler in {
            "session/request_permission": self.permit,
            "fs/read_text_file": self.read,
            "fs/write_text_file": self.write,
            "terminal/create": self.create,
            "terminal/output": self.output,
            "terminal/wait_for_exit": self.wait,
            "terminal/kill": self.kill,
            "terminal/release": self.release,
            "elicitation/create": self.elicit,
        }.items():
            end.requests[method] = handler
        end.on_unknown = self.unknown
        await end.open()
        params = {
            "protocolVersion": 1,
            "clientCapabilities": self.caps,
            "clientInfo": {"name": "sample", "version": "1"},
        }
        starting = asyncio.ensure_future(end.call("initialize", params))
        await asyncio.sleep(0)
        if not self.breaks("initialize.waits"):
            await starting
        self.session = (await end.call("session/new", {"cwd": self.cwd, "mcpServers": []}))["sessionId"]
        await starting
        here = {"sessionId": self.session}
        await self.quietly("session/set_mode", {**here, "modeId": "other"})
        await self.quietly("session/set_config_option", {**here, "configId": "depth", "value": "few"})
        await self.quietly("session/list", {"cwd": self.cwd})
        await end.call("session/prompt", {**here, "prompt": [{"type": "text", "text": self.prompt}]})
        end.notify("session/cancel", here)
        await self.quietly("session/load", {**here, "cwd": self.cwd, "mcpServers": []})
        await self.quietly("session/close", here)
        if self.breaks("prompt.not-closed"):
            await end.call("session/prompt", {**here, "prompt": [{"type": "text", "text": "hi"}]})
        await self.quietly("_sample/done", {})
        for process in self.terminals.values():
            process.kill()
            process.wait()
        await end.close()

    async def quietly(self, method: str, params: Json) -> None:
        try:
            async with asyncio.timeout(2):
                await self.end.call(method, params)
        except (RpcFailure, TimeoutError):
            pass

    def change(self, message: Json, method: str) -> Any:
        if self.defect not in SENT:
            return message
        what, change = SENT[self.defect]
        kind, _, name = what.partition(" ")
        chosen = {
            "call": message.get("method") == name,
            "answer": "result" in message and method == name,
            "error": "error" in message and method == name,
        }[kind]
        if not chosen:
            return message
        import json

        text = json.dumps(message)
        changed = change(json.loads(text))
        many = changed if isinstance(changed, tuple) else (changed,)
        return tuple(
            one if not isinstance(one, dict) else json.loads(json.dumps(one).replace(S, self.session or S))
            for one in many
        )

    def skip(self, line: bytes) -> bool:
        if self.deaf and b"_acpella.check/fence" in line:
            self.deaf = False
            return True
        if self.defect in IGNORED and IGNORED[self.defect] in line:
            return True
        mark = FATAL.get(self.defect)
        if mark and mark in line:
            self.go_deaf()
            return True
        return False

    def go_deaf(self) -> None:
        self.deaf = True

    def garbage(self, line: bytes) -> None:
        if self.breaks("messages.blank-lines") and not line.strip():
            self.go_deaf()

    def unknown(self, method: str) -> None:
        wanted = {
            "messages.unknown-notification": "acpella/does_not_exist",
            "messages.custom-notification": "_acpella.check/unknown",
        }
        for id, name in wanted.items():
            if self.breaks(id) and method == name:
                self.end.send({"id": None, "error": {"code": -32601, "message": "no"}})

    # -- what the agent asks for -----------------------------------------------------------------

    async def permit(self, params: Json) -> Json:
        options = params["options"]
        if self.breaks("permission.odd-options") and len(options) == 5:
            raise RpcFailure(-32603, "too many")
        if self.breaks("permission.unannounced") and params["toolCall"]["toolCallId"] == "never-announced":
            raise RpcFailure(-32602, "no such call")
        chosen = next((o for o in options if o["kind"] == "allow_once"), options[0])
        if params["toolCall"].get("title") == "Cancel the turn now" and not self.breaks("prompt.cancel"):
            self.end.notify("session/cancel", {"sessionId": self.session})
            if not self.breaks("permission.cancelled"):
                return {"outcome": {"outcome": "cancelled"}}
        return {"outcome": {"outcome": "selected", "optionId": chosen["optionId"]}}

    async def read(self, params: Json) -> Json:
        if not self.caps and not self.breaks("files.read-not-offered"):
            raise RpcFailure(-32601, "Method not found")
        path = params["path"]
        inside = path.startswith(self.cwd) or self.breaks("files.outside")
        if not inside and not (self.breaks("files.relative") and not path.startswith("/")):
            raise RpcFailure(-32602, "outside")
        try:
            text = Path(path).read_text(encoding="utf-8")  # noqa: ASYNC240 - a test
        except OSError:
            if (
                self.breaks("files.read-missing")
                or self.breaks("files.relative")
                or self.breaks("files.read-not-offered")
            ):
                return {"content": ""}
            raise RpcFailure(-32002, "Resource not found") from None
        start = max(params.get("line", 1) - (0 if self.breaks("files.read-lines") else 1), 0)
        lines = text.splitlines(keepends=True)[start : start + params.get("limit", 1000)]
        content = "".join(lines)
        return {"content": content.upper() if self.breaks("files.read") else content}

    async def write(self, params: Json) -> Json:
        if not self.caps and not self.breaks("files.write-not-offered"):
            raise RpcFailure(-32601, "Method not found")
        if not self.breaks("files.write") and self.caps:
            Path(params["path"]).write_text(params["content"], encoding="utf-8")  # noqa: ASYNC240 - a test
        return {}

    async def create(self, params: Json) -> Json:
        if not self.caps and not self.breaks("terminals.not-offered"):
            raise RpcFailure(-32601, "Method not found")
        id = f"t{next(self.numbers)}"
        env = (
            {}
            if self.breaks("terminals.environment")
            else {e["name"]: e["value"] for e in params.get("env", [])}
        )
        file = os.path.join(self.cwd, f"out-{id}")
        process = start([params["command"], *params.get("args", [])], file, {**os.environ, **env}, self.cwd)
        process.limit, process.file = params.get("outputByteLimit"), file  # type: ignore[attr-defined]
        self.terminals[id] = process
        if self.breaks("terminals.at-once") and params.get("args", [""])[-1].endswith("sleep(15)"):
            await asyncio.sleep(10.5)
        return {"terminalId": id}

    def terminal(self, params: Json) -> Any:
        id = params["terminalId"]
        if id not in self.terminals:
            if self.breaks("terminals.unknown") and id == "acpella-does-not-exist":
                return self.terminals[next(iter(self.terminals))] if self.terminals else None
            raise RpcFailure(-32002, "Resource not found")
        return self.terminals[id]

    async def output(self, params: Json) -> Json:
        if self.breaks("terminals.unknown") and params["terminalId"] == "acpella-does-not-exist":
            return {"output": "", "truncated": False}
        process = self.terminal(params)
        data = Path(process.file).read_bytes()  # noqa: ASYNC240 - a test
        limit, cut = process.limit, False
        if limit is not None and len(data) > limit and not self.breaks("terminals.limit"):
            data, cut = data[-limit:], True
        text = data.decode("utf-8", "replace" if self.breaks("terminals.whole-characters") else "ignore")
        if self.breaks("terminals.output"):
            text = ""
        result: Json = {"output": text, "truncated": cut}
        if process.poll() is not None or self.breaks("terminals.running"):
            result["exitStatus"] = {"exitCode": max(process.returncode or 0, 0), "signal": None}
        return result

    async def wait(self, params: Json) -> Json:
        process = self.terminal(params)
        if process is None:
            raise RpcFailure(-32002, "gone")
        while process.poll() is None:  # noqa: ASYNC110 - processes have no events
            await asyncio.sleep(0.02)
        code = process.returncode
        if self.breaks("terminals.exit-code"):
            code = 0
        return {"exitCode": code if code >= 0 else None, "signal": None if code >= 0 else "SIGKILL"}

    async def kill(self, params: Json) -> Json:
        process = self.terminal(params)
        process.kill()
        if self.breaks("terminals.kill"):
            process.wait()
            del self.terminals[params["terminalId"]]
        return {}

    async def release(self, params: Json) -> Json:
        process = self.terminal(params)
        process.kill()
        process.wait()
        if not self.breaks("terminals.release"):
            del self.terminals[params["terminalId"]]
        return {}

    async def elicit(self, params: Json) -> Json:
        if params["mode"] not in ("form", "url"):
            if self.breaks("elicitation.unknown-mode"):
                return {"action": "accept"}
            raise RpcFailure(-32602, "unknown mode")
        if not self.caps and not self.breaks("elicitation.form-not-offered"):
            raise RpcFailure(-32602, "not offered")
        return {"action": "perhaps" if self.breaks("elicitation.form") else "decline"}


async def main() -> None:
    """`python sample_client.py AGENT...`: lead a client through `acpella check --client`."""
    from acpella.transport import ProcessChannel

    await SampleClient("", os.getcwd()).run_on(ProcessChannel(sys.argv[1:], eof_grace=10))


if __name__ == "__main__":
    asyncio.run(main())
