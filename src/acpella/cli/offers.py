"""What the command line lets an agent do, by what the user allowed."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from acpella.client import Permissions, Rule, Terminals, Timeouts, Workspace
from acpella.schema import ReadTextFileRequest, ReadTextFileResponse
from acpella.sessions import RememberedPermissions

from . import places

__all__ = ["offers"]


class ReadEverywhere(Workspace):
    """Reads go anywhere but to secrets; writes stay inside the session's directories."""

    async def read(
        self, roots: Sequence[Path], request: ReadTextFileRequest, *, agent: str | None = None
    ) -> ReadTextFileResponse:
        return await super().read([Path("/")], request, agent=agent)


def offers(*, write: bool, yolo: bool, ask: Callable[[Any], Any] | None = None) -> dict[str, Any]:
    """The options of `connect`."""
    return {
        "files": ReadEverywhere(write=True) if yolo else Workspace(write=write),
        "terminals": Terminals() if yolo else False,
        "permissions": Permissions(
            "allow-all" if yolo else "allow-reads",
            rules=[Rule("allow", kinds=["edit", "move"])] if write else [],
            ask=ask,
            remembered=RememberedPermissions(places.permissions()),
        ),
        "timeouts": Timeouts(cancel=5),
    }
