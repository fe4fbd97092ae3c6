"""The extension methods that every agent of ours has: sessions as documents, tools, the working directory."""

import os
from collections.abc import Awaitable, Callable
from typing import Any, cast

import msgspec

from acpella.errors import InvalidParams
from acpella.schema import ListSessionsRequest

from .definition import Definition
from .guards import checked_id
from .operations import DeleteSession, ListSessions
from .service import SessionService
from .stored_sessions import StoredSessions

__all__ = ["Extensions"]


class Extensions:
    """FEATURES C19, for one connection."""

    def __init__(
        self, definition: Definition, service: SessionService, stored_sessions: StoredSessions | None
    ) -> None:
        self._definition = definition
        self._service = service
        self._stored_sessions = stored_sessions

    def requests(self) -> dict[str, Callable[[Any], Awaitable[Any]]]:
        """What can be asked, by method."""
        table: dict[str, Callable[[Any], Awaitable[Any]]] = {
            "_agent/working_dir/update": self._change_directory
        }
        if self._definition.tools:
            table["_agent/tools"] = self._list_tools
        if self._stored_sessions is not None:
            table |= {
                "_session/list": self._list,
                "_session/get": self._get,
                "_session/delete": self._delete,
                "_session/export": self._export,
                "_session/import": self._import,
            }
        return table

    async def _list_tools(self, params: Any) -> dict[str, Any]:
        tools = [
            {"name": t.name, "description": t.description, "kind": t.kind} for t in self._definition.tools
        ]
        return {"tools": tools}

    async def _change_directory(self, params: Any) -> dict[str, Any]:
        session_id, path = checked_id(_text(params, "sessionId")), _text(params, "path")
        if not os.path.isabs(path) or "\0" in path or ".." in path.replace("\\", "/").split("/"):
            raise InvalidParams("path must be absolute and without `..`")
        async with self._service.using(session_id) as session:
            await session.change_directory(path)
        return {"path": path}

    async def _list(self, params: Any) -> Any:
        try:
            request = msgspec.convert(_object(params), ListSessionsRequest)
        except msgspec.ValidationError as error:
            raise InvalidParams(data=str(error)) from None
        return await self._service.list(ListSessions(request.cwd, request.cursor))

    async def _get(self, params: Any) -> dict[str, Any]:
        document = await self._export(params)
        return {"sessionId": _text(params, "sessionId"), **document["session"], "events": document["events"]}

    async def _delete(self, params: Any) -> dict[str, Any]:
        await self._service.delete(DeleteSession(_text(params, "sessionId")))
        return {}

    async def _export(self, params: Any) -> dict[str, Any]:
        session_id = checked_id(_text(params, "sessionId"))
        await self._service.saved(session_id)
        return await self._stored.export_session(session_id, self._principal)

    async def _import(self, params: Any) -> dict[str, Any]:
        body = _object(params)
        document = body.get("document", body)
        return {"sessionId": await self._stored.import_session(document, self._principal)}

    @property
    def _stored(self) -> StoredSessions:
        assert self._stored_sessions is not None, "only served with a store"
        return self._stored_sessions

    @property
    def _principal(self) -> str:
        return self._service.editor.principal


def _object(params: Any) -> dict[str, Any]:
    if params is None:
        return {}
    if not isinstance(params, dict):
        raise InvalidParams("params must be an object")
    return cast("dict[str, Any]", params)


def _text(params: Any, key: str) -> str:
    value = _object(params).get(key)
    if not isinstance(value, str):
        raise InvalidParams(f"{key} must be a string")
    return value
