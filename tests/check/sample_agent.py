"""An agent that does everything right, except for one requirement if one is given.

    python sample_agent.py [REQUIREMENT]     # the requirement that it breaks

Sessions live as long as the process; in the directory SAMPLE_SESSIONS, where that is set, they outlive it.

The agent carries out the orders in a prompt: see `acpella.testing.FakeModel`. There are also `!plan`, which
sends every kind of update, and `!elicit`.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from agent_defects import install
from endpoint import Endpoint, Json, RpcFailure

from acpella.rpc import Channel

MODES = [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}]
KEPT: dict[str, Json] = {}
"""Sessions outlive connections, like sessions on a disk."""


class StoredSessions(dict[str, Json]):
    """Sessions that are files of a directory."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self._directory = directory
        for file in directory.glob("*.json"):
            with suppress(FileNotFoundError):  # another process has deleted it meanwhile
                self[file.stem] = json.loads(file.read_text("utf-8"))

    def save(self) -> None:
        for id, session in self.items():
            new = self._directory / f".{id}.{os.getpid()}"
            new.write_text(json.dumps(session), encoding="utf-8")
            new.replace(self._directory / f"{id}.json")

    def pop(self, id: str, *default: Any) -> Any:
        (self._directory / f"{id}.json").unlink(missing_ok=True)
        return super().pop(id, *default)


def chunk(kind: str, text: str, **more: Any) -> Json:
    return {"sessionUpdate": kind, "content": {"type": "text", "text": text}, **more}


def read_file(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


def write_file(path: str, text: str) -> None:
    Path(path).write_text(text, encoding="utf-8")


class SampleAgent:
    """One connection."""

    name = "sample"

    def __init__(self, defect: str = "", kept: dict[str, Json] | None = None) -> None:
        self.defect = defect
        self.kept = KEPT if kept is None else kept
        self.open: dict[str, Json] = {}
        self.turns: dict[str, asyncio.Task[Any]] = {}
        self.client: Json = {}
        self.count = len(self.kept)
        self.initialized = False
        self.needs_choice = False

    def breaks(self, id: str) -> bool:
        return self.defect == id

    async def serve_on(self, channel: Channel) -> None:
        end = self.end = Endpoint(channel)
        install(self.defect, self, end)
        for name in dir(self):
            if name.startswith("on_"):
                end.requests[getattr(self, name).__doc__] = self.saved(getattr(self, name))
        end.notifications["session/cancel"] = self.cancel
        end.notifications["$/cancel_request"] = self.cancel_request
        await end.open()
        if self.breaks("messages.starts-silent"):
            end.notify("_sample/hello", {})
        await end.over.wait()
        for turn in self.turns.values():
            turn.cancel()
        if self.breaks("messages.exit-at-end"):
            await asyncio.sleep(60)
        await end.close()

    def saved(self, handler: Callable[[Json], Awaitable[Any]]) -> Callable[[Json], Awaitable[Any]]:
        """The handler, wrapped so that its changes are on the disk before its answer goes out."""
        if not isinstance(kept := self.kept, StoredSessions):
            return handler

        async def handle(params: Json) -> Any:
            try:
                return await handler(params)
            finally:
                kept.save()

        return handle

    # -- initialize and login --------------------------------------------------------------------

    async def on_initialize(self, params: Json) -> Json:
        """initialize"""
        version = params["protocolVersion"]
        if not self.breaks("initialize.wrong-params"):
            assert isinstance(version, int)
        if self.breaks("initialize.few-words"):
            params["clientCapabilities"]
        if self.breaks("initialize.null-info") and "clientInfo" in params:
            params["clientInfo"]["name"]
        self.client = params.get("clientCapabilities") or {}
        if self.breaks("initialize.unknown-capabilities"):
            assert "acpellaUnknown" not in self.client
        if self.breaks("initialize.null-capabilities"):
            assert None not in self.client.values()
        if self.breaks("initialize.twice") and self.initialized:
            await self.end.close()
        self.initialized = True
        logins: list[Json] = [{"id": "agent", "name": "Log in"}]
        if self.can("auth", "terminal") or self.breaks("login.terminal-gate"):
            logins.append({"id": "terminal", "name": "In a terminal", "type": "terminal", "args": ["login"]})
        caps: Json = {
            "loadSession": True,
            "promptCapabilities": {"image": True, "audio": True, "embeddedContext": True},
            "auth": {"logout": {}, "status": {}},
            "sessionCapabilities": {
                name: {}
                for name in (
                    "list",
                    "delete",
                    "resume",
                    "close",
                    "additionalDirectories",
                    "fork",
                    "title",
                    "status",
                    "archive",
                )
            },
        }
        answer = version if self.breaks("initialize.newer-version") else 1
        if self.breaks("initialize.version-1") and "#first" in self.kept:
            answer = 2
        self.kept["#first"] = {}
        return {
            "protocolVersion": answer,
            "agentCapabilities": caps,
            "authMethods": logins,
            "agentInfo": {"name": "sample", "version": "1.0"},
        }

    def can(self, *path: str) -> bool:
        value: Any = self.client
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return value is True or isinstance(value, dict)

    async def on_authenticate(self, params: Json) -> Json:
        """authenticate"""
        if params["methodId"] != "agent" and not self.breaks("login.unknown-method"):
            raise RpcFailure(-32602, "no such login")
        return {}

    async def on_logout(self, params: Json) -> Json:
        """logout"""
        return {}

    async def on_auth_status(self, params: Json) -> Json:
        """auth/status"""
        if self.breaks("login.status"):
            raise RpcFailure(-32000, "Authentication required")
        self.count += 1
        odd = self.breaks("login.status-changes-nothing") and self.count % 2
        return {"state": "unauthenticated" if odd else "authenticated"}

    # -- sessions --------------------------------------------------------------------------------

    def choices(self, session: Json) -> Json:
        select = [{"value": "a", "name": "A"}, {"value": "b", "name": "B"}]
        modes = [{"value": mode["id"], "name": mode["name"]} for mode in MODES]
        options: list[Json] = [
            {
                "id": "mode",
                "name": "Mode",
                "category": "mode",
                "type": "select",
                "currentValue": session["mode"],
                "options": modes,
            },
            {
                "id": "model",
                "name": "Model",
                "category": "model",
                "type": "select",
                "currentValue": session["model"],
                "options": select,
            },
        ]
        if self.can("session", "configOptions", "boolean") or self.breaks("options.boolean-gate"):
            options.append({"id": "fast", "name": "Fast", "type": "boolean", "currentValue": False})
        return {
            "modes": {"currentModeId": session["mode"], "availableModes": MODES},
            "configOptions": options,
        }

    def make(self, params: Json, told: list[Json]) -> str:
        if not self.breaks("sessions.missing-cwd"):
            cwd = params["cwd"]
            assert isinstance(cwd, str)
            if not cwd.startswith("/") and not self.breaks("sessions.relative-cwd"):
                raise RpcFailure(-32602, "cwd is not absolute")
        for path in params.get("additionalDirectories") or []:
            if self.breaks("sessions.more-directories"):
                raise RpcFailure(-32602, "no")
            if not path.startswith("/") and not self.breaks("sessions.relative-directory"):
                raise RpcFailure(-32602, "not absolute")
        if self.breaks("sessions.null-servers"):
            assert params["mcpServers"] is not None
        if self.breaks("robust.extra-fields"):
            assert "acpellaUnknown" not in params
        self.count += 1
        id = f"session-{os.urandom(4).hex()}"
        if self.breaks("sessions.id-new"):
            id = f"session-{self.count % 2}"
        if self.breaks("sessions.id-not-empty") and not self.open:
            id = ""
        self.open[id] = self.kept[id] = {
            "cwd": params.get("cwd", "/"), "told": told, "mode": "ask", "model": "a",
            "used": False, "calls": 0,
        }  # fmt: skip
        for server in params.get("mcpServers") or []:
            if not self.breaks("sessions.mcp-stdio"):
                asyncio.get_running_loop().create_task(self.start(server))
        return id

    async def start(self, server: Json) -> None:
        command = [server["command"], *server["args"]]
        await asyncio.to_thread(subprocess.run, command, input=b"", stdout=subprocess.DEVNULL)

    async def on_new(self, params: Json) -> Json:
        """session/new"""
        if not self.initialized:
            if self.breaks("initialize.too-early"):
                await self.end.close()
            raise RpcFailure(-32600, "initialize first")
        if self.breaks("prompt.others-while-busy") and self.turns:
            await asyncio.wait(self.turns.values())
        if self.breaks("messages.custom-params"):
            assert "_meta" not in params
        id = self.make(params, [])
        self.update(id, {"sessionUpdate": "available_commands_update", "availableCommands": [
            {"name": "help", "description": "Help", "input": {"hint": "what"}}]})  # fmt: skip
        return {"sessionId": id, **self.choices(self.open[id])}

    def update(self, session: str, update: Json) -> None:
        self.end.notify("session/update", {"sessionId": session, "update": update})

    def stored(self, params: Json, lenient: str) -> Json:
        session = self.kept.get(params["sessionId"])
        if session is None:
            if self.breaks(lenient):
                return {"cwd": "/", "told": [], "mode": "ask", "model": "a", "used": True, "calls": 0}
            raise RpcFailure(-32002, "Resource not found")
        return session

    async def on_load(self, params: Json) -> Json:
        """session/load"""
        id = params["sessionId"]
        known = id in self.open
        if self.breaks("stored.load") or (self.breaks("stored.load-after-restart") and not known):
            raise RpcFailure(-32603, "no")
        session = self.stored(params, "stored.load-unknown")
        told = list(session["told"])
        if self.breaks("stored.load-order"):
            told.reverse()
        late: list[Json] = []
        for update in told:
            kind = update["sessionUpdate"]
            if self.breaks("stored.load-user") and kind == "user_message_chunk":
                continue
            if self.breaks("stored.load-agent") and kind == "agent_message_chunk":
                continue
            if self.breaks("stored.load-late"):
                late.append(update)
            self.update(id, update)
        if self.breaks("stored.notice-replayed") and self.can("session", "notices"):
            self.update(id, {"sessionUpdate": "notice", "severity": "info", "title": "old"})
        self.open[id] = session
        if late:
            asyncio.get_running_loop().call_later(0.05, lambda: self.update(id, late[-1]))
        if self.breaks("stored.load-prompt"):
            session["dead"] = True
        return self.choices(session)

    async def on_resume(self, params: Json) -> Json:
        """session/resume"""
        if self.breaks("stored.resume"):
            raise RpcFailure(-32603, "no")
        id = params["sessionId"]
        session = self.open[id] = self.stored(params, "stored.resume-unknown")
        if self.breaks("stored.resume-silent"):
            for update in session["told"]:
                self.update(id, update)
        self.update(id, {"sessionUpdate": "session_info_update", "title": "resumed"})
        if self.breaks("stored.resume-prompt"):
            session["dead"] = True
        return self.choices(session)

    async def on_list(self, params: Json) -> Json:
        """session/list"""
        if params.get("cursor") == "acpella-made-this-up" and not self.breaks("stored.list-cursor"):
            raise RpcFailure(-32602, "no such cursor")
        cwd = params.get("cwd")
        if self.breaks("stored.list-filter"):
            cwd = None
        found = [
            {
                "sessionId": id,
                "cwd": session["cwd"],
                "title": "A session",
                "updatedAt": "2026-01-01T00:00:00Z",
                "archived": False,
            }
            for id, session in self.kept.items()
            if session.get("used") and not id.startswith("#") and (cwd is None or session["cwd"] == cwd)
        ]
        if self.breaks("stored.list-filter") and params.get("cwd"):
            found.append({"sessionId": "elsewhere", "cwd": "/elsewhere"})
            found = (
                [f for f in found if f["cwd"] in (params["cwd"], "/elsewhere")]
                if self.kept_in(params["cwd"])
                else []
            )
        if self.breaks("stored.list-has-it"):
            found = []
        if self.breaks("stored.list-empty") and not found:
            raise RpcFailure(-32002, "none")
        self.count += 1
        if self.breaks("stored.list-changes-nothing") and found:
            found = [*found, {**found[0], "sessionId": f"new-{self.count}"}]
        if self.breaks("stored.list-once") and found:
            found = [*found, found[0]]
        if self.breaks("stored.list") and found:
            return {"sessions": found[:1], "nextCursor": "1"}
        return {"sessions": found}

    def kept_in(self, cwd: str) -> bool:
        return any(s.get("used") and s.get("cwd") == cwd for s in self.kept.values())

    async def on_close(self, params: Json) -> Json:
        """session/close"""
        if self.breaks("stored.close"):
            raise RpcFailure(-32603, "no")
        session = self.open.pop(params["sessionId"], None)
        if session is None:
            raise RpcFailure(-32002, "Resource not found")
        turn = self.turns.get(params["sessionId"])
        if turn is not None and not self.breaks("stored.close-cancels"):
            turn.cancel()
        elif turn is not None:
            session["stop"] = True
        return {}

    async def on_delete(self, params: Json) -> Json:
        """session/delete"""
        if self.breaks("stored.delete"):
            raise RpcFailure(-32603, "no")
        if params["sessionId"] not in self.kept and self.breaks("stored.delete-unknown"):
            raise RpcFailure(-32002, "Resource not found")
        if not self.breaks("stored.delete-unlists"):
            self.kept.pop(params["sessionId"], None)
        return {}

    async def on_fork(self, params: Json) -> Json:
        """session/fork"""
        if self.breaks("stored.fork"):
            raise RpcFailure(-32603, "no")
        source = self.stored(params, "")
        id = self.make(params, list(source["told"]))
        return {"sessionId": id, **self.choices(self.open[id])}

    async def on_title(self, params: Json) -> Json:
        """session/set_title"""
        return {"title": "" if self.breaks("stored.title") else params["title"]}

    async def on_status(self, params: Json) -> Json:
        """session/status"""
        return {"status": "open"}

    async def on_archive(self, params: Json) -> Json:
        """session/archive"""
        return {}

    # -- choices ---------------------------------------------------------------------------------

    async def on_set_mode(self, params: Json) -> Json:
        """session/set_mode"""
        if self.breaks("modes.set") and params["modeId"] == "code":
            raise RpcFailure(-32603, "no")
        if params["modeId"] not in ("ask", "code"):
            if not self.breaks("modes.unknown"):
                raise RpcFailure(-32602, "no such mode")
        else:
            self.open[params["sessionId"]]["mode"] = params["modeId"]
        return {}

    async def on_set_option(self, params: Json) -> Json:
        """session/set_config_option"""
        session = self.open[params["sessionId"]]
        session["chosen"] = True
        id, value = params["configId"], params["value"]
        values = {"mode": ("ask", "code"), "model": ("a", "b"), "fast": (True, False)}
        if id not in values:
            if not self.breaks("options.unknown"):
                raise RpcFailure(-32602, "no such option")
        elif value not in values[id]:
            if not self.breaks("options.wrong-value"):
                raise RpcFailure(-32602, "no such value")
        elif not self.breaks("options.set"):
            session[id] = value
        options = self.choices(session)["configOptions"]
        if self.breaks("options.complete"):
            options = [option for option in options if option["id"] == id]
        self.update(
            params["sessionId"],
            {
                "sessionUpdate": "config_option_update",
                "configOptions": self.choices(session)["configOptions"],
            },
        )
        return {"configOptions": options}

    # -- turns -----------------------------------------------------------------------------------

    def cancel(self, params: Json) -> None:
        id = params.get("sessionId")
        if self.breaks("cancel.unknown-session") and isinstance(id, str) and id not in self.open:
            self.end.send({"id": None, "error": {"code": -32002, "message": "no such session"}})
        if self.breaks("messages.bad-notification") and not isinstance(id, str):
            self.end.send({"id": None, "error": {"code": -32602, "message": "Invalid params"}})
        if self.breaks("cancel.idle") and id in self.open and id not in self.turns:
            self.open[id]["cancelled"] = True
        targets = list(self.turns) if self.breaks("cancel.only-one") else [id]
        for target in targets:
            if target in self.turns:
                self.open.get(target, {})["cancels"] = self.open.get(target, {}).get("cancels", 0) + 1
                self.turns[target].cancel()

    def cancel_request(self, params: Json) -> None:
        id = params["requestId"]
        known = [turn for turn in self.turns.values() if turn.get_name() == str(id)]
        if self.breaks("cancel.request-unknown") and id == 987_654_321:
            self.end.send({"id": None, "error": {"code": -32800, "message": "Request cancelled"}})
        if self.breaks("cancel.request-finished") and not known and id != 987_654_321:
            asyncio.get_running_loop().create_task(self.end.close())
        for turn in known:
            turn.cancel()

    async def on_prompt(self, params: Json) -> Json:
        """session/prompt"""
        id, blocks = params["sessionId"], params["prompt"]
        request = params[""]
        assert isinstance(id, str) and isinstance(blocks, list), "types"
        if self.breaks("messages.custom-params"):
            assert "_meta" not in params
        session = self.open.get(id)
        if session is None and self.breaks("sessions.unknown-session"):
            return {"stopReason": "end_turn"}
        if session is None or session.get("dead"):
            raise RpcFailure(-32002, "Resource not found")
        text = await self.read_blocks(id, session, blocks)
        if id in self.turns:
            if self.breaks("prompt.second-while-busy"):
                await asyncio.sleep(3600)
            raise RpcFailure(-32600, "a turn is running")
        if self.needs_choice and not session.get("chosen"):
            raise RpcFailure(-32603, "choose first")
        if self.breaks("prompt.again") and session["used"] and not session.get("cancels"):
            raise RpcFailure(-32603, "only one prompt")
        if self.breaks("sessions.two-at-once") and self.turns:
            raise RpcFailure(-32603, "busy")
        turn = self.turns[id] = asyncio.get_running_loop().create_task(
            self.work(id, session, text), name=str(request)
        )
        try:
            reason = await turn
        except asyncio.CancelledError:
            reason = await self.after_cancel(id, session, request)
        finally:
            self.turns.pop(id, None)
        if session.pop("stop", False):
            reason = "end_turn"
        if self.breaks("prompt.text"):
            raise RpcFailure(-32603, "no")
        return {"stopReason": reason}

    async def read_blocks(self, id: str, session: Json, blocks: list[Json]) -> str:
        text = ""
        for block in blocks:
            kind = block["type"]
            if kind == "text":
                text += block["text"]
            simple = {"image": "image", "audio": "audio", "resource_link": "resource-link"}
            if kind in simple and self.breaks(f"prompt.{simple[kind]}"):
                raise RpcFailure(-32602, f"no {kind}")
            if kind == "resource":
                blob = "blob" in block["resource"]
                if self.breaks("prompt.embedded-blob" if blob else "prompt.embedded-text"):
                    raise RpcFailure(-32602, "no resource")
            if kind == "acpella_unknown":
                if self.breaks("prompt.unknown-block"):
                    session["dead"] = True
                raise RpcFailure(-32602, "unknown content")
            if "annotations" in block and self.breaks("prompt.annotations"):
                raise RpcFailure(-32602, "no annotations")
        if not blocks and self.breaks("prompt.empty"):
            session["dead"] = True
        if "\u2028" in text and self.breaks("prompt.unicode"):
            raise RpcFailure(-32603, "cannot read that")
        if len(text) > 900_000 and self.breaks("prompt.large"):
            await self.end.close()
        return text

    async def after_cancel(self, id: str, session: Json, request: Any) -> str:
        if self.breaks("cancel.no-error"):
            raise RpcFailure(-32603, "aborted")
        if self.breaks("cancel.soon"):
            await asyncio.sleep(5.2)
        if self.breaks("cancel.goes-on"):
            session["dead"] = True
        if self.breaks("cancel.twice") and session.get("cancels", 0) > 1:
            session["dead"] = True
        if self.breaks("prompt.late-after-cancel"):
            asyncio.get_running_loop().call_later(
                0.01, lambda: self.update(id, chunk("agent_message_chunk", "late"))
            )
        if self.breaks("cancel.request-running") and session.get("cancels", 0) == 0:
            raise RpcFailure(-32603, "aborted")
        if self.breaks("cancel.while-asking") and session.get("asking"):
            return "end_turn"
        return "end_turn" if self.breaks("cancel.mid-turn") else "cancelled"

    async def work(self, id: str, session: Json, text: str) -> str:
        session["used"] = True
        session["told"].append(chunk("user_message_chunk", text, messageId=f"u{len(session['told'])}"))
        if session.pop("cancelled", False):
            return "cancelled"
        for line in text.splitlines() or [""]:
            order, _, rest = line.partition(" ")
            worker = getattr(self, f"do_{order[1:]}", None) if order.startswith("!") else None
            reason = await (worker or self.do_say)(id, session, rest if worker else line)
            if reason:
                return reason
        return "end_turn"

    async def do_say(self, id: str, session: Json, rest: str) -> str | None:
        if self.breaks("prompt.says-something"):
            return None
        said = chunk("agent_message_chunk", f"You said: {rest}", messageId=f"a{len(session['told'])}")
        if self.breaks("prompt.message-id"):
            said["messageId"] = session["told"][-1]["messageId"]
            self.update(id, session["told"][-1])
        session["told"].append(said)
        self.update(id, said)
        if self.breaks("prompt.late"):
            asyncio.get_running_loop().call_later(
                0.02, lambda: self.update(id, chunk("agent_message_chunk", "late"))
            )
        return None

    async def do_think(self, id: str, session: Json, rest: str) -> str | None:
        self.update(id, chunk("agent_thought_chunk", rest))
        return None

    async def do_slow(self, id: str, session: Json, rest: str) -> str | None:
        session["cancels"] = 0
        session["asking"] = False
        self.update(id, chunk("agent_message_chunk", "slowly"))
        for _ in range(4000):
            if session.get("stop"):
                return "end_turn"
            await asyncio.sleep(0.005)
        return None

    async def do_plan(self, id: str, session: Json, rest: str) -> str | None:
        entry = {"content": "do it", "priority": "high", "status": "pending"}
        self.update(id, {"sessionUpdate": "plan", "entries": [entry]})
        self.update(
            id,
            {
                "sessionUpdate": "usage_update",
                "used": 1,
                "size": 2,
                "cost": {"amount": 0.1, "currency": "USD"},
            },
        )
        self.update(
            id,
            {"sessionUpdate": "session_info_update", "title": "A title", "updatedAt": "2026-01-01T00:00:00Z"},
        )
        session["mode"] = "code"
        self.update(id, {"sessionUpdate": "current_mode_update", "currentModeId": "code"})
        self.update(
            id,
            {
                "sessionUpdate": "config_option_update",
                "configOptions": self.choices(session)["configOptions"],
            },
        )
        if self.can("session", "notices") or self.breaks("prompt.notice-gate"):
            self.update(id, {"sessionUpdate": "notice", "severity": "info", "title": "Hi"})
        if self.can("session", "compaction") or self.breaks("prompt.compaction-gate"):
            self.update(
                id, {"sessionUpdate": "compaction_update", "compactionId": "c1", "status": "in_progress"}
            )
            self.update(
                id,
                {
                    "sessionUpdate": "compaction_summary_chunk",
                    "compactionId": "c1",
                    "content": {"type": "text", "text": "short"},
                },
            )
            self.update(
                id, {"sessionUpdate": "compaction_update", "compactionId": "c1", "status": "completed"}
            )
            if self.breaks("prompt.compaction-order"):
                self.update(
                    id, {"sessionUpdate": "compaction_update", "compactionId": "c1", "status": "in_progress"}
                )
        if self.can("plan") or self.breaks("prompt.plan-gate"):
            self.update(
                id,
                {
                    "sessionUpdate": "plan_update",
                    "plan": {"type": "items", "planId": "p", "entries": [entry]},
                },
            )
            self.update(id, {"sessionUpdate": "plan_removed", "planId": "p"})
        if self.can("subagents") or self.breaks("prompt.subagent-gate"):
            self.update(id, {"sessionUpdate": "subagent_update", "sessionId": "child", "title": "Child"})
            self.update(id, {"sessionUpdate": "session_message", "messageId": "m1"})
        self.end.notify("auth/status_update", {"state": "authenticated"})
        return None

    async def do_elicit(self, id: str, session: Json, rest: str) -> str | None:
        form = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        try:
            if self.can("elicitation", "form") or self.breaks("elicitation.form-gate"):
                ask = {"sessionId": id, "mode": "form", "message": "Who?", "requestedSchema": form}
                answer = await self.end.call("elicitation/create", ask)
                said = {"decline": "declined", "cancel": "cancelled"}.get(answer["action"], "")
                if self.breaks(f"elicitation.{said}"):
                    raise RpcFailure(-32603, "no answer")
            if self.can("elicitation", "url") or self.breaks("elicitation.url-gate"):
                page = f"page-{os.urandom(2).hex()}" if not self.breaks("elicitation.page-id") else "page"
                ask = {
                    "sessionId": id,
                    "mode": "url",
                    "message": "Look",
                    "elicitationId": page,
                    "url": "https://example.com/x",
                }
                asked = [self.end.call("elicitation/create", ask)]
                if self.breaks("elicitation.page-id"):
                    asked.append(self.end.call("elicitation/create", ask))
                await asyncio.gather(*asked)
                self.end.notify("elicitation/complete", {"elicitationId": page})
        except RpcFailure:
            if (
                self.breaks("elicitation.failed")
                or self.breaks("elicitation.declined")
                or self.breaks("elicitation.cancelled")
            ):
                raise
        return None

    # -- tools -----------------------------------------------------------------------------------

    def begin_tool(self, id: str, session: Json, title: str, kind: str, **more: Any) -> str:
        session["calls"] += 1
        call = f"call-{session['calls']}" if not self.breaks("tools.unique-id") else "call"
        self.update(
            id,
            {
                "sessionUpdate": "tool_call",
                "toolCallId": call,
                "title": title,
                "kind": kind,
                "status": "pending",
                **more,
            },
        )
        self.update(id, {"sessionUpdate": "tool_call_update", "toolCallId": call, "status": "in_progress"})
        return call

    def end_tool(self, id: str, call: str, status: str, **more: Any) -> None:
        self.update(id, {"sessionUpdate": "tool_call_update", "toolCallId": call, "status": status, **more})

    async def do_read(self, id: str, session: Json, rest: str) -> str | None:
        call = self.begin_tool(id, session, f"Read {rest}", "read", locations=[{"path": rest, "line": 1}])
        try:
            if self.can("fs", "readTextFile") or self.breaks("files.read-gate"):
                ask = {"sessionId": id, "path": rest, "line": 1, "limit": 100}
                text = (await self.end.call("fs/read_text_file", ask))["content"]
            else:
                text = read_file(rest)
        except (RpcFailure, OSError):
            self.end_tool(id, call, "failed")
            if self.breaks("files.missing"):
                raise RpcFailure(-32603, "missing") from None
            return await self.do_say(id, session, "missing")
        self.end_tool(
            id, call, "completed", content=[{"type": "content", "content": {"type": "text", "text": text}}]
        )
        return await self.do_say(id, session, text)

    async def do_write(self, id: str, session: Json, rest: str) -> str | None:
        path, _, text = rest.partition(" ")
        call = self.begin_tool(id, session, f"Write {path}", "edit")
        if self.can("fs", "writeTextFile") or self.breaks("files.write-gate"):
            try:
                await self.end.call("fs/write_text_file", {"sessionId": id, "path": path, "content": text})
            except RpcFailure:
                pass
        else:
            write_file(path, text)
        self.end_tool(id, call, "completed", content=[{"type": "diff", "path": path, "newText": text}])
        return None

    async def do_run(self, id: str, session: Json, rest: str) -> str | None:
        call = self.begin_tool(id, session, rest, "execute", rawInput={"command": rest})
        session["asking"] = True
        try:
            allowed = await self.permit(id, call)
        finally:
            pass
        session["asking"] = False
        if not allowed:
            self.end_tool(id, call, "failed")
            if self.breaks("permission.reject-goes-on"):
                raise RpcFailure(-32603, "refused")
            return None
        if self.breaks("permission.allow"):
            self.end_tool(id, call, "completed")
            return None
        cwd = session["cwd"] if not self.breaks("sessions.cwd") else os.path.dirname(session["cwd"])
        if self.can("terminal") or self.breaks("terminals.gate"):
            await self.run_in_terminal(id, call, rest, cwd)
        else:
            await asyncio.to_thread(subprocess.run, rest, shell=True, cwd=cwd, stdout=subprocess.DEVNULL)
        self.end_tool(id, call, "completed")
        return None

    async def permit(self, id: str, call: str) -> bool:
        options = [
            {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
            {"optionId": "no", "name": "No", "kind": "reject_once"},
        ]
        ask = {"sessionId": id, "toolCall": {"toolCallId": call, "title": "Run"}, "options": options}
        try:
            outcome = (await self.end.call("session/request_permission", ask))["outcome"]
        except RpcFailure:
            return self.breaks("permission.failed-question")
        chosen = outcome.get("optionId")
        if outcome["outcome"] == "cancelled":
            if self.turns[id].cancelling() or self.breaks("permission.cancelled-outcome"):
                return True
            return False
        if chosen == "no":
            return self.breaks("permission.reject") or self.breaks("permission.nothing")
        return chosen == "yes" or self.breaks("permission.unknown-option")

    async def run_in_terminal(self, id: str, call: str, command: str, cwd: str) -> None:
        end = self.end
        made = await end.call(
            "terminal/create", {"sessionId": id, "command": "/bin/sh", "args": ["-c", command], "cwd": cwd}
        )
        here = {"sessionId": id, "terminalId": made["terminalId"]}
        shown = [{"type": "terminal", "terminalId": made["terminalId"]}]
        if not self.breaks("tools.terminal-open"):
            self.update(id, {"sessionUpdate": "tool_call_update", "toolCallId": call, "content": shown})
        await end.call("terminal/wait_for_exit", here)
        await end.call("terminal/kill", here)
        await end.call("terminal/output", here)
        if not self.breaks("terminals.released"):
            await end.call("terminal/release", here)
        if self.breaks("tools.terminal-open"):
            self.update(id, {"sessionUpdate": "tool_call_update", "toolCallId": call, "content": shown})
        if self.breaks("terminals.not-released"):
            try:
                await end.call("terminal/output", here)
            except RpcFailure:
                pass


async def main() -> None:
    from acpella.transport import StdioChannel

    directory = os.environ.get("SAMPLE_SESSIONS")
    kept = StoredSessions(Path(directory)) if directory else None
    await SampleAgent(sys.argv[1] if len(sys.argv) > 1 else "", kept).serve_on(StdioChannel())


if __name__ == "__main__":
    asyncio.run(main())
