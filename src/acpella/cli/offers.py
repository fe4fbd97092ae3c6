"""What the command line lets an agent do, by what the user allowed."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from acpella.client import ConnectedAgent, Permissions, Rule, Terminals, Timeouts, Workspace
from acpella.schema import (
    Content,
    ReadTextFileRequest,
    ReadTextFileResponse,
    RequestPermissionRequest,
    TextContent,
)
from acpella.sessions import RememberedPermissions

from . import places
from .owners import table

__all__ = ["offers"]


class ReadEverywhere(Workspace):
    """Reads go anywhere but to secrets; writes stay inside the session's directories."""

    async def read(
        self, roots: Sequence[Path], request: ReadTextFileRequest, **options: Any
    ) -> ReadTextFileResponse:
        return await super().read([Path("/")], request, **options)


WRITES = ("edit", "delete", "move")

NOTE = "(without --write acpella writes no files for agents: saying yes helps if this one writes them itself)"


def _noted(ask: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Say with the first question about a change what else it takes: no error of an agent names --write."""
    told = False

    async def asked(request: RequestPermissionRequest) -> Any:
        nonlocal told
        call = request.tool_call
        if call.kind in WRITES and not told:
            told = True
            content = [*(call.content or []), Content(content=TextContent(text=NOTE))]
            request = replace(request, tool_call=replace(call, content=content))
        return await ask(request)

    return asked


def offers(
    *,
    write: bool,
    yolo: bool,
    ask: Callable[[Any], Any] | None = None,
    tell: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """The options of `connect`. `tell` gets a line for the user when a remembered answer decides."""

    def recalled(request: RequestPermissionRequest, decision: str, what: str) -> None:
        from .show.reveal import reveal

        if tell is not None:
            did = "allowed" if decision == "allow" else "refused"
            tell(f"{did}, as you answered before: {reveal(what)}; `acpella permissions` lists and revokes")

    return {
        "files": ReadEverywhere(write=True, hooks=True) if yolo else Workspace(write=write),
        "terminals": Terminals() if yolo else False,
        "permissions": Permissions(
            "allow-all" if yolo else "allow-reads",
            rules=[Rule("allow", kinds=["edit", "move"])] if write else [],
            ask=ask if ask is None or write or yolo else _noted(ask),
            remembered=RememberedPermissions(places.permissions()),
            on_remembered=recalled,
        ),
        "timeouts": Timeouts(cancel=5),
        "remembered_as": _remembered_as,
    }


def _remembered_as(agent: ConnectedAgent) -> str:
    """Whose answers are meant. A session's owner tells which program its agent is; that agent cannot."""
    if agent.identity:
        return agent.identity
    told = table(table(agent.hello.meta).get("acpella.owner"))
    return str(told.get("identity") or f"{agent.name}, of an owner that does not tell")
