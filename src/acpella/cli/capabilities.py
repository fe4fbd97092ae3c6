"""What the command line lets an agent do, by what the user allowed."""

import inspect
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from acpella._plain_json import as_dict
from acpella.client import ConnectedAgent, Permissions, Rule, Terminals, Timeouts, Workspace
from acpella.client.permissions import Ask
from acpella.errors import RpcError
from acpella.schema import (
    Diff,
    PermissionOption,
    ReadTextFileRequest,
    ReadTextFileResponse,
    RequestPermissionRequest,
    ToolCallUpdate,
    WriteTextFileRequest,
    WriteTextFileResponse,
)
from acpella.sessions import RememberedPermissions

from .state import paths

__all__ = ["AskedWorkspace", "NotedPermissions", "ReadEverywhere", "offers"]


class ReadEverywhere(Workspace):
    """Reads go anywhere but to secrets; writes stay inside the session's directories."""

    async def read(
        self, roots: Sequence[Path], request: ReadTextFileRequest, **options: Any
    ) -> ReadTextFileResponse:
        return await super().read([Path("/")], request, **options)


class AskedWorkspace(Workspace):
    """Writes what the user has allowed: when the agent asked for it, or now."""

    def __init__(self, ask: Ask) -> None:
        super().__init__(write=True)
        self._ask = ask
        self._allowed: dict[str, str | None] = {}
        """By real path, the text that the question showed; None if it named the file and showed no text."""

    def allow(self, call: ToolCallUpdate) -> None:
        """The user said yes to an edit. What differs from its question is asked about when it is written."""
        diffs = [item for item in call.content or [] if isinstance(item, Diff)]
        for diff in diffs:
            self._allowed[_real(diff.path)] = diff.new_text
        for location in [] if diffs else call.locations or []:
            self._allowed[_real(location.path)] = None

    async def write(
        self, roots: Sequence[Path], request: WriteTextFileRequest, **options: Any
    ) -> WriteTextFileResponse:
        path = _real(request.path)
        is_shown = path in self._allowed and self._allowed.pop(path) in (None, request.content)
        if not is_shown and not await self._may(roots, request):
            raise RpcError(f"the user does not want {request.path} to be written")
        return await super().write(roots, request, **options)

    async def _may(self, roots: Sequence[Path], request: WriteTextFileRequest) -> bool:
        try:
            before = (await self.read(roots, ReadTextFileRequest(session_id="", path=request.path))).content
        except RpcError:
            before = None
        call = ToolCallUpdate(
            tool_call_id="write",
            title=f"Write {request.path}",
            kind="edit",
            content=[Diff(path=request.path, old_text=before, new_text=request.content)],
        )
        options = [
            PermissionOption(option_id="yes", name="Allow", kind="allow_once"),
            PermissionOption(option_id="no", name="Reject", kind="reject_once"),
        ]
        asking = RequestPermissionRequest(session_id=request.session_id, tool_call=call, options=options)
        answer = self._ask(asking)
        chosen = await answer if inspect.isawaitable(answer) else answer
        return chosen is options[0]


def _real(path: str) -> str:
    """Where a write ends: dots count before links, as in the workspace."""
    return os.path.realpath(os.path.normpath(path))


class NotedPermissions(Permissions):
    """Tells the workspace which changes were allowed, by whomever."""

    workspace: AskedWorkspace | None = None

    async def decide(
        self, agent: str, request: RequestPermissionRequest, **options: Any
    ) -> PermissionOption | None:
        chosen = await super().decide(agent, request, **options)
        allowed = chosen is not None and chosen.kind.startswith("allow")
        if allowed and request.tool_call.kind == "edit" and self.workspace is not None:
            self.workspace.allow(request.tool_call)
        return chosen


def offers(
    *,
    write: bool,
    yolo: bool,
    ask: Ask | None = None,
    tell: Callable[[str], None] | None = None,
    interactive: bool = False,
) -> dict[str, Any]:
    """The options of `connect`. With an `interactive` `ask`, writes need no option: they are asked about.

    `tell` gets a line for the user when a remembered answer decides.
    """

    def recalled(request: RequestPermissionRequest, decision: str, what: str) -> None:
        from .terminal.reveal import reveal

        if tell is not None:
            did = "allowed" if decision == "allow" else "refused"
            tell(f"{did}, as you answered before: {reveal(what)}; `acpella permissions` lists and revokes")

    files = ReadEverywhere(write=True, hooks=True) if yolo else Workspace(write=write)
    permissions = NotedPermissions(
        "allow-all" if yolo else "allow-reads",
        rules=[Rule("allow", kinds=["edit", "move"])] if write else [],
        ask=ask,
        remembered=RememberedPermissions(paths.permissions()),
        on_remembered=recalled,
    )
    if interactive and ask is not None and not (write or yolo):
        files = permissions.workspace = AskedWorkspace(ask)
    return {
        "files": files,
        "terminals": Terminals() if yolo else False,
        "permissions": permissions,
        "timeouts": Timeouts(cancel=5),
        "remembered_as": _remembered_as,
    }


def _remembered_as(agent: ConnectedAgent) -> str:
    """The name under which answers are stored. For a session with a daemon, the daemon reports it."""
    if agent.identity:
        return agent.identity
    status = as_dict(as_dict(agent.hello.meta).get("acpella.daemon"))
    return str(status.get("identity") or f"{agent.name}, of a daemon that does not tell")
