"""Pages that a server may offer beside the protocol: what it needs to know of them."""

from typing import TYPE_CHECKING, Protocol

from acpella.server.access.credentials import AuthHook
from acpella.server.agent_factories import AgentFactory

from .requests import HttpRequest

if TYPE_CHECKING:
    from acpella.sessions import Cluster

__all__ = ["Pages"]


class Pages(Protocol):
    """Pages with files and a login of their own, such as `acpella.web.Page`."""

    def around(self, factory: AgentFactory) -> AgentFactory:
        """The factory as pages need it; other clients must not notice."""
        ...

    async def serve(self, request: HttpRequest, auth: AuthHook | None) -> bool:
        """Answer a request that needs no credentials; False for any other request. Raises `Refusal`."""
        ...

    async def serve_allowed(self, request: HttpRequest) -> bool:
        """Answer a request whose sender was let in; False if it is not for the pages. Raises `Refusal`."""
        ...

    async def join(self, cluster: "Cluster", auth: AuthHook | None) -> None:
        """Other nodes offer these pages, too. Raises `StoreError`."""
        ...

    async def leave(self) -> None:
        """This node offers them no more. Safe to call without `join`."""
        ...
