"""What a turn asks the user: for permission, to fill in a form, to open a page."""

import logging
import os
from collections.abc import Coroutine, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from acpella.errors import RemoteProtocolError, RequestCancelled, Unsupported
from acpella.schema import (
    ElicitationAcceptAction,
    ElicitationFormMode,
    ElicitationPropertySchema,
    ElicitationSchema,
    ElicitationUrlMode,
    PermissionOption,
    Unknown,
    methods,
)
from acpella.sessions import Decision

from .tool_call import ToolRun, question_about
from .turn_core import TurnCore

__all__ = [
    "Elicited",
    "Permission",
    "decision_owner",
    "elicit_form",
    "elicit_page",
    "permission_options",
    "permit",
    "remembered_decision",
]

log: logging.Logger = logging.getLogger(__name__)

_OPTIONS = [
    PermissionOption(option_id="allow_once", name="Allow", kind="allow_once"),
    PermissionOption(option_id="allow_always", name="Always allow", kind="allow_always"),
    PermissionOption(option_id="reject_once", name="Reject", kind="reject_once"),
    PermissionOption(option_id="reject_always", name="Always reject", kind="reject_always"),
]


@dataclass(frozen=True, slots=True)
class Elicited:
    """What the user answered: `accept`, `decline`, `cancel` or a word of the editor's (R-372), with the
    values of a form."""

    action: str
    content: dict[str, Any]

    @property
    def accepted(self) -> bool:
        """Whether the user filled in the form, or agreed."""
        return self.action == "accept"


class Permission:
    """The user's answer, to be awaited. Without `await` it would always be true, so `bool` of it raises."""

    def __init__(self, answer: Coroutine[Any, Any, bool]) -> None:
        self._answer = answer

    def __await__(self) -> Generator[Any, None, bool]:
        return self._answer.__await__()

    def __bool__(self) -> bool:
        self.close()
        raise TypeError("permission must be awaited: `if await turn.permit(...)`")

    def close(self) -> None:
        """The answer is not wanted any more."""
        self._answer.close()


# -- permission --------------------------------------------------------------------------


def decision_owner(agent: str, principal: str, cwd: Path | None) -> str:
    """Under what name decisions are kept: each user of a server decides alone, for `cwd` or for all."""
    name = f"{agent} for {principal}" if principal else agent
    return name if cwd is None else f"{name} in {os.path.realpath(cwd)}"


def permission_options(covers: str | None, *, everywhere: bool) -> list[PermissionOption]:
    """What the user may answer; the names of the lasting answers say what they will cover."""
    where = "in every project" if everywhere else "in this project"
    return [
        msgspec.structs.replace(option, name=" ".join(filter(None, [option.name, covers, where])))
        if option.kind in ("allow_always", "reject_always")
        else option
        for option in _OPTIONS
    ]


def _owner(turn: TurnCore, *, everywhere: bool) -> str:
    cwd = None if everywhere else turn.session.cwd
    return decision_owner(turn.definition.name, turn.editor.principal, cwd)


def remembered_decision(turn: TurnCore, key: str, *, everywhere: bool) -> Decision | None:
    """What the user has decided for good about this key, in this project or everywhere."""
    decisions = turn.definition.remembered
    general = decisions.get(_owner(turn, everywhere=True), key)
    if everywhere or general == "deny":
        return general
    return decisions.get(_owner(turn, everywhere=False), key)


async def permit(
    turn: TurnCore, call: ToolRun, title: str | None, key: str, *, covers: str | None, everywhere: bool
) -> bool:
    """Whether the agent may go ahead: by a remembered decision, or else by asking the user."""
    remembered = remembered_decision(turn, key, everywhere=everywhere)
    if remembered is not None:
        allowed = remembered == "allow"
    else:
        options = permission_options(covers, everywhere=everywhere)
        chosen = await _choice_of_user(turn, call, title, options)
        if chosen in ("allow_always", "reject_always"):
            decision = "allow" if chosen == "allow_always" else "deny"
            turn.definition.remembered.remember(_owner(turn, everywhere=everywhere), key, decision)
        allowed = chosen in ("allow_once", "allow_always")
    if allowed:
        await call.start()
    else:
        call.fail()
    return allowed


async def _choice_of_user(
    turn: TurnCore, call: ToolRun, title: str | None, options: list[PermissionOption]
) -> str | None:
    """The kind of the option that the user chose; None for no answer."""
    codec = turn.editor.codec
    method, params = codec.permission(turn.session.id, question_about(call, title), options)
    try:
        answer = await turn.call(method, params, timeout=0)
    except RequestCancelled:  # another way to say so
        return None
    except RemoteProtocolError as error:
        log.warning("the editor's answer to a permission question cannot be read: %s", error)
        return None
    chosen = codec.chosen(answer)
    return next((option.kind for option in options if option.option_id == chosen), None)


# -- forms and pages ---------------------------------------------------------------------


async def elicit_form(
    turn: TurnCore,
    message: str,
    properties: Mapping[str, ElicitationPropertySchema],
    *,
    required: Sequence[str] | None,
    title: str | None,
) -> Elicited:
    if not turn.capabilities.forms:
        raise Unsupported("this editor shows no forms")
    schema = ElicitationSchema(
        properties=dict(properties), required=None if required is None else list(required), title=title
    )
    request = ElicitationFormMode(session_id=turn.session.id, message=message, requested_schema=schema)
    return _elicited(await turn.call(methods.CREATE_ELICITATION, request, timeout=0))


async def elicit_page(turn: TurnCore, message: str, url: str, *, elicitation_id: str) -> Elicited:
    if not turn.capabilities.pages:
        raise Unsupported("this editor opens no pages")
    request = ElicitationUrlMode(
        session_id=turn.session.id, message=message, url=url, elicitation_id=elicitation_id
    )
    return _elicited(await turn.call(methods.CREATE_ELICITATION, request, timeout=0))


def _elicited(answer: Any) -> Elicited:
    if isinstance(answer, ElicitationAcceptAction):
        return Elicited("accept", dict(answer.content or {}))
    tag = answer.tag if isinstance(answer, Unknown) else answer.__struct_config__.tag
    return Elicited(str(tag), {})
