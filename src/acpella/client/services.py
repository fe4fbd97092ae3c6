"""What a client does for its agent: files, terminals, permissions and forms; nothing that was not offered."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acpella.errors import InvalidParams, Overloaded
from acpella.schema import (
    AuthCapabilities,
    BooleanConfigOptionCapabilities,
    ClientCapabilities,
    ClientSessionCapabilities,
    CreateElicitationRequest,
    CreateElicitationResponse,
    CreateTerminalRequest,
    CreateTerminalResponse,
    ElicitationCancelAction,
    ElicitationCapabilities,
    ElicitationFormCapabilities,
    ElicitationUrlCapabilities,
    FileSystemCapabilities,
    NoticeCapabilities,
    ReadTextFileRequest,
    ReadTextFileResponse,
    RequestPermissionRequest,
    RequestPermissionResponse,
    SessionConfigOptionsCapabilities,
    TerminalOutputRequest,
    TerminalOutputResponse,
    WriteTextFileRequest,
    WriteTextFileResponse,
)

from .budget import Budget
from .elicitation import Elicitations
from .permissions import Permissions
from .session_core import ClientSessionCore
from .workspace import Refuse, Terminals, Workspace

if TYPE_CHECKING:
    from acpella.local import LocalTerminal

__all__ = ["Services"]

READ_LIMIT = 10 * 1024 * 1024
"""Most bytes of one read, as in `acpella.local`, which is not imported before the first read."""

MAX_WRITTEN = 64 * 1024 * 1024
"""Characters that may wait to be written. Without it, an agent that awaits no answer fills the memory."""


class Services:
    """The providers of one connection, None for what the agent must do without."""

    def __init__(
        self,
        *,
        files: Workspace | None,
        terminals: Terminals | None,
        permissions: Permissions,
        elicitations: Elicitations | None,
    ) -> None:
        self.permissions = permissions
        self._files = files
        self._terminals = terminals
        self._elicitations = elicitations

    async def close(self) -> None:
        """End what runs for the agent."""
        if self._terminals is not None:
            await self._terminals.close()

    def terminal(self, session_id: str, terminal_id: str) -> "LocalTerminal | None":
        return None if self._terminals is None else self._terminals.find(session_id, terminal_id)

    def capabilities(self, *, terminal_logins: bool) -> ClientCapabilities:
        """What the agent is told that it may ask for."""
        elicitation = None
        if self._elicitations is not None:
            elicitation = ElicitationCapabilities(
                form=ElicitationFormCapabilities(), url=ElicitationUrlCapabilities()
            )
        return ClientCapabilities(
            fs=FileSystemCapabilities(
                read_text_file=self._files is not None,
                write_text_file=self._files is not None and self._files.can_write,
            ),
            terminal=self._terminals is not None,
            session=ClientSessionCapabilities(
                config_options=SessionConfigOptionsCapabilities(boolean=BooleanConfigOptionCapabilities()),
                notices=NoticeCapabilities(),
            ),
            elicitation=elicitation,
            auth=AuthCapabilities(terminal=terminal_logins),
            meta={"terminal_output": True, "terminal-auth": terminal_logins, "prompt_usage": True},
        )

    def _refuser(self, kind: str, doing: str, roots: list[Path]) -> Refuse | None:
        """What the deny rules say of a path; nothing that is served goes around them."""
        if not self.permissions.denies_any:
            return None

        def refuse(path: str) -> str | None:
            denied = self.permissions.denies(kind, [path], roots)
            return f"must not be {doing}: a rule of this client denies it" if denied else None

        return refuse

    def notifications(self) -> dict[str, Any]:
        """What the agent may tell, besides updates."""
        if self._elicitations is None:
            return {}
        return {"elicitation/complete": self._elicitations.complete}

    def requests(
        self,
        session_of: Callable[[str], ClientSessionCore],
        *,
        agent_name: Callable[[], str | None],
        drain: Callable[[], Awaitable[None]],
    ) -> dict[str, Any]:
        """What the agent may ask for; everything else answers -32601.

        `session_of` raises `ResourceNotFound` for a session that is not open. `drain` waits until the agent
        has taken enough of its answers for another one.
        """
        budget = Budget()
        written = 0  # characters that wait to be written

        async def read(roots: list[Path], request: ReadTextFileRequest) -> ReadTextFileResponse:
            assert files is not None
            async with budget.share(READ_LIMIT) as share:
                answer = await files.read(
                    roots, request, agent=agent_name(), refuse=self._refuser("read", "read", roots)
                )
                share.shrink(len(answer.content))
                await drain()
                return answer

        async def write(roots: list[Path], request: WriteTextFileRequest) -> WriteTextFileResponse:
            nonlocal written
            assert files is not None
            size = len(request.content)
            if written and written + size > MAX_WRITTEN:
                raise Overloaded("too much waits to be written; await some answers first")
            written += size
            try:
                async with budget.share(size):
                    return await files.write(roots, request, refuse=self._refuser("edit", "written", roots))
            finally:
                written -= size

        async def output(request: TerminalOutputRequest) -> TerminalOutputResponse:
            assert terminals is not None
            async with budget.share(terminals.output_size(request)):
                await drain()
                return await terminals.output(request)

        def inside(serve: Callable[[list[Path], Any], Awaitable[Any]]) -> Callable[[Any], Awaitable[Any]]:
            """With the directories of the request's session."""

            async def handle(request: Any) -> Any:
                session = session_of(request.session_id)
                with session.serving():
                    return await serve(session.roots, request)

            return handle

        async def permit(request: RequestPermissionRequest) -> RequestPermissionResponse:
            return await session_of(request.session_id).permit(request)

        table: dict[str, Any] = {"session/request_permission": permit}
        if (files := self._files) is not None:
            table["fs/read_text_file"] = inside(read)
            if files.can_write:
                table["fs/write_text_file"] = inside(write)
        if (terminals := self._terminals) is not None:

            async def create(roots: list[Path], request: CreateTerminalRequest) -> CreateTerminalResponse:
                if self.permissions.denies("execute", [request.cwd or str(roots[0])], roots):
                    raise InvalidParams("commands must not be run: a rule of this client denies it")
                return await terminals.create(roots, request)

            table |= {
                "terminal/create": inside(create),
                "terminal/output": output,
                "terminal/wait_for_exit": inside(lambda _, request: terminals.wait_for_exit(request)),
                "terminal/kill": terminals.kill,
                "terminal/release": terminals.release,
            }
        if (elicitations := self._elicitations) is not None:

            async def elicit(request: CreateElicitationRequest) -> CreateElicitationResponse:
                session_id = getattr(request, "session_id", None)
                session = session_of(session_id) if session_id is not None else None
                question = elicitations.answer(request)
                answer = await (question if session is None else session.unless_cancelled(question))
                return ElicitationCancelAction() if answer is None else answer

            table["elicitation/create"] = elicit
        return table
