"""The connection to one editor: each method goes to the service that answers it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from acpella.errors import InternalError, InvalidParams, InvalidRequest, ResourceNotFound
from acpella.rpc import Channel, Connection, Handler, Limits
from acpella.sessions import (
    InvalidCursor,
    InvalidDocument,
    SessionBusy,
    SessionNotFound,
    StoreError,
    StoreUnavailable,
)

from .codec import CODECS, Codec, Negotiation, Route
from .definition import Definition
from .editor import Editor
from .extensions import Extensions
from .logins import Logins
from .open_sessions import OpenSessions
from .operations import (
    CancelPrompt,
    CloseSession,
    DeleteSession,
    ForkSession,
    ListSessions,
    LogIn,
    LogOut,
    NewSession,
    Operation,
    Prompt,
    ReopenSession,
    SetMode,
    SetOption,
)
from .prompting import Prompting
from .running import RunningPrompts
from .service import CURRENT_SERVICE, SessionService
from .stored_sessions import StoredSessions

__all__ = ["UNAVAILABLE", "EditorConnection"]

log: logging.Logger = logging.getLogger(__name__)

UNAVAILABLE = "unavailable"
"""The `reason` in the data of an error: the store is away, and the same request may work in a moment."""

SHUTDOWN_GRACE = 1.2
"""Seconds for running turns to end when the agent is told to stop. All in all it has two."""

GOODBYE_GRACE = 0.25
"""Seconds for running turns to end by themselves when the editor has closed the connection."""

_Handler: TypeAlias = Callable[[Any], Awaitable[Any]]

_WITHOUT_LOGIN = (LogIn, LogOut, Prompt)
"""Operations that no login comes before; a prompt checks it where it can be cancelled."""


class EditorConnection:
    """The agent's end of one connection. Made by `Agent.serve_on`."""

    def __init__(
        self,
        definition: Definition,
        channel: Channel,
        *,
        open_sessions: OpenSessions,
        stored_sessions: StoredSessions | None,
        logins: Logins,
        principal: str = "",
        log_first: bool = False,
        is_detached: Callable[[], bool] | None = None,
        roots: Sequence[str] = (),
    ) -> None:
        self._definition = definition
        self._open_sessions = open_sessions
        self._logins = logins
        negotiation = Negotiation(definition, CODECS, on_choice=self._speak)
        self._codec = negotiation.codec
        self._editor = Editor(
            self._codec, principal=principal, log_first=log_first, is_detached=is_detached, roots=roots
        )
        self._running = RunningPrompts()
        self._service = SessionService(
            definition, self._editor, open_sessions, stored_sessions, self._running
        )
        self._prompting = Prompting(definition, self._service, self._running, logins)
        self._extensions = Extensions(definition, self._service, stored_sessions)
        self._initialized = False
        self._requests = self._request_handlers()
        self._notifications = self._notification_handlers()
        self._connection = Connection(
            channel,
            negotiation,
            requests=self._requests,
            notifications=self._notifications,
            limits=Limits(close_grace=GOODBYE_GRACE),
            is_cancel_useful=self._is_cancel_useful,
        )
        self._editor.attach(self._connection)

    def _speak(self, codec: Codec) -> None:
        """Serve the methods of the protocol version that the editor asked for, from here on."""
        self._codec = codec
        self._editor.speak(codec)
        for table, handlers in (
            (self._requests, self._request_handlers()),
            (self._notifications, self._notification_handlers()),
        ):
            table.clear()
            table.update(handlers)

    # -- life ----------------------------------------------------------------------------

    async def run(self) -> Exception | None:
        """Serve until the editor goes away. Returns the internal error that ended this, if one did."""
        try:
            async with self._connection:
                await self._connection.wait_closed()
        finally:
            await self._end_connection()
        return self._connection.failure

    async def shutdown(self) -> None:
        """End turns while the editor can still be told, then the connection."""
        await self._running.stop_all(SHUTDOWN_GRACE)
        await self._connection.close(grace=0.1)

    async def _end_connection(self) -> None:
        await self._running.stop_all(0.05)  # they have been cancelled before
        await self._service.watching.close()
        mine = [session for session in self._open_sessions.all() if session.editor is self._editor]
        await asyncio.gather(*(self._open_sessions.forget(session) for session in mine))

    def _is_cancel_useful(self, method: str, params: Any) -> bool:
        return self._codec.hears_cancel(method, params, self._running.is_cancelled)

    # -- the table -----------------------------------------------------------------------

    def _services(self) -> dict[type[Operation], Callable[[Any], Awaitable[Any]]]:
        """Which service carries out each operation."""
        return {
            NewSession: self._service.new,
            ReopenSession: self._service.reopen,
            ForkSession: self._service.fork,
            ListSessions: self._service.list,
            CloseSession: self._service.close,
            DeleteSession: self._service.delete,
            SetMode: self._service.set_mode,
            SetOption: self._service.set_option,
            Prompt: self._prompting.prompt,
            LogIn: self._log_in,
            LogOut: self._log_out,
        }

    def _request_handlers(self) -> dict[str, _Handler]:
        """What this agent can be asked; everything else answers -32601."""
        services = self._services()
        table = {method: self._serving(route, services) for method, route in self._codec.requests().items()}
        others = {**self._extensions.requests(), **self._definition.request_handlers}
        table |= {method: self._answering(self._logged_in(handler)) for method, handler in others.items()}
        table["initialize"] = self._initialize
        return table

    def _notification_handlers(self) -> dict[str, Handler]:
        cancellations = {
            method: self._cancelling(read) for method, read in self._codec.cancellations().items()
        }
        return {**cancellations, **self._definition.notification_handlers}

    def _serving(
        self, route: Route, services: dict[type[Operation], Callable[[Any], Awaitable[Any]]]
    ) -> _Handler:
        """Decode, do, encode."""

        async def serve(params: Any) -> Any:
            operation = route.read(params)
            if not isinstance(operation, _WITHOUT_LOGIN):
                await self._logins.check(self._editor)
            return route.write(await services[type(operation)](operation))

        return self._answering(serve)

    def _logged_in(self, handler: _Handler) -> _Handler:
        async def check_and_handle(params: Any) -> Any:
            await self._logins.check(self._editor)
            return await handler(params)

        return check_and_handle

    def _answering(self, handler: _Handler) -> _Handler:
        """Errors of the store become answers that the user understands."""

        async def answer(params: Any) -> Any:
            try:
                if not self._initialized:
                    raise InvalidRequest(
                        "this connection is new: send initialize first, then create or load the session; "
                        "if the agent was restarted, the editor has to do that again"
                    )
                CURRENT_SERVICE.set(self._service)  # a request has a task, and so a context, of its own
                return await handler(params)
            except SessionNotFound as error:
                raise ResourceNotFound(str(error), data={"sessionId": error.session_id}) from None
            except SessionBusy as error:
                raise InvalidRequest(str(error)) from None
            except (InvalidCursor, InvalidDocument) as error:
                raise InvalidParams(str(error)) from None
            except StoreUnavailable as error:  # where the store is, only our log says
                log.warning("a request failed: %s", error)
                why = "the store of sessions cannot be reached; try again in a moment"
                raise InternalError(why, data={"reason": UNAVAILABLE}) from None
            except StoreError as error:
                raise InternalError(str(error)) from error

        return answer

    def _cancelling(self, read: Callable[[Any], CancelPrompt]) -> _Handler:
        async def cancel(params: Any) -> None:
            await self._service.cancel(read(params).session_id)

        return cancel

    # -- initialize and login ------------------------------------------------------------

    async def _initialize(self, params: Any) -> Any:
        self._initialized = True
        return self._codec.initialize(params)

    async def _log_in(self, request: LogIn) -> None:
        await self._logins.log_in(request, self._editor.principal)

    async def _log_out(self, request: LogOut) -> None:
        await self._logins.log_out(self._editor.principal)
