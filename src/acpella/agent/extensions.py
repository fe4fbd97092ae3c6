"""The extension methods that every agent of ours has: sessions as documents, tools, the working directory."""

import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, cast

import msgspec

from acpella.errors import InvalidParams
from acpella.schema import DeleteSessionRequest, ListSessionsRequest

from .guards import checked_id

if TYPE_CHECKING:
    from .wire_v1 import WireV1

__all__ = ["Extensions"]


class Extensions:
    """FEATURES C19, for one connection."""

    def __init__(self, wire: "WireV1") -> None:
        self._wire = wire
        self._agent = wire.agent

    def requests(self) -> dict[str, Callable[[Any], Awaitable[Any]]]:
        """What can be asked, by method."""
        table: dict[str, Callable[[Any], Awaitable[Any]]] = {
            "_agent/working_dir/update": self._change_directory
        }
        if self._agent.tools:
            table["_agent/tools"] = self._list_tools
        if self._agent.store is not None:
            table |= {
                "_session/list": self._list,
                "_session/get": self._get,
                "_session/delete": self._delete,
                "_session/export": self._export,
                "_session/import": self._import,
            }
        return table

    async def _list_tools(self, params: Any) -> dict[str, Any]:
        tools = [{"name": t.name, "description": t.description, "kind": t.kind} for t in self._agent.tools]
        return {"tools": tools}

    async def _change_directory(self, params: Any) -> dict[str, Any]:
        session_id, path = checked_id(_text(params, "sessionId")), _text(params, "path")
        if not os.path.isabs(path) or "\0" in path or ".." in path.replace("\\", "/").split("/"):
            raise InvalidParams("path must be absolute and without `..`")
        async with self._wire.using(session_id) as session:
            await session.change_directory(path)
        return {"path": path}

    async def _list(self, params: Any) -> Any:
        try:
            request = msgspec.convert(_object(params), ListSessionsRequest)
        except msgspec.ValidationError as error:
            raise InvalidParams(data=str(error)) from None
        return await self._wire.list_sessions(request)

    async def _get(self, params: Any) -> dict[str, Any]:
        document = await self._export(params)
        return {"sessionId": _text(params, "sessionId"), **document["session"], "events": document["events"]}

    async def _delete(self, params: Any) -> dict[str, Any]:
        await self._wire.delete_session(DeleteSessionRequest(session_id=_text(params, "sessionId")))
        return {}

    async def _export(self, params: Any) -> dict[str, Any]:
        session_id = checked_id(_text(params, "sessionId"))
        live = self._agent.live(session_id)
        if live is not None and live.wire.principal == self._wire.principal:
            await live.save()
        return await self._agent.export_session(session_id, principal=self._wire.principal)

    async def _import(self, params: Any) -> dict[str, Any]:
        given = _object(params)
        document = given.get("document", given)
        return {"sessionId": await self._agent.import_session(document, principal=self._wire.principal)}


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
