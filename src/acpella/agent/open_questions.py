"""What a session asks people: its own editor, and everybody who watches. The first answer counts."""

import asyncio
import logging
import secrets
from collections.abc import Awaitable
from typing import Any

import msgspec
from msgspec import Raw

from acpella.rpc import Method
from acpella.schema import methods

from .log_writer import LogWriter, encoded

__all__ = ["ASKED_OF_PEOPLE", "Answered", "OpenQuestions", "Question"]

log: logging.Logger = logging.getLogger(__name__)

ASKED_OF_PEOPLE: dict[str, Method[Any, Any]] = {
    method.name: method for method in (methods.REQUEST_PERMISSION, methods.CREATE_ELICITATION)
}
"""What any person who watches can answer. Files and terminals are the business of one editor."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of a session's log: the agent asks something."""

    id: str
    method: str
    params: Raw


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of a session's log: nobody is asked any more. Also how a watcher's answer travels."""

    id: str
    result: Raw = Raw(b"null")
    """What was answered; null if nothing was."""
    by: str = ""
    """Who answered; empty where users have no names."""


class OpenQuestions:
    """Those of one session."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[Method[Any, Any], asyncio.Future[Answered]]] = {}

    async def ask(
        self, log_writer: LogWriter, method: Method[Any, Any], params: Any, call: Awaitable[Any], *, by: str
    ) -> Any:
        """Wait for the first answer: a watcher's, or the editor's, which `call` awaits; `by` is its user.

        Raises what `call` raises.
        """
        question = Question(id=secrets.token_hex(8), method=method.name, params=Raw(encoded(params)))
        elsewhere: asyncio.Future[Answered] = asyncio.get_running_loop().create_future()
        self._open[question.id] = (method, elsewhere)
        log_writer.note("question", msgspec.json.encode(question))
        here = asyncio.ensure_future(call)
        outcome = Answered(id=question.id)
        try:
            await asyncio.wait({here, elsewhere}, return_when=asyncio.FIRST_COMPLETED)
            if elsewhere.done():
                outcome = elsewhere.result()
                return method.read_result(outcome.result)
            result = here.result()
            outcome = Answered(id=question.id, result=Raw(encoded(result)), by=by)
            return result
        finally:
            here.cancel()  # the editor is told that it is asked no more
            del self._open[question.id]
            log_writer.note("answered", msgspec.json.encode(outcome))

    def answer(self, reply: Answered) -> None:
        """Somebody who watches has answered. Too late, or not readable: nothing happens."""
        method, future = self._open.get(reply.id, (None, None))
        if method is None or future is None or future.done():
            return
        try:
            method.read_result(reply.result)
        except (msgspec.MsgspecError, ValueError) as error:
            log.warning("the answer of somebody who watches cannot be read: %s", error)
            return
        future.set_result(reply)
