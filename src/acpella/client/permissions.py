"""Who answers when an agent asks for permission: a rule, a remembered answer, or the user."""

import asyncio
import inspect
import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from acpella.schema import PermissionOption, RequestPermissionRequest, ToolCallUpdate
from acpella.sessions import RememberedPermissions

from .permission_keys import key_of, span_of
from .reads import READS, is_read_inside
from .rules import Rule
from .settings import user_settings

__all__ = ["Ask", "Permissions", "Policy", "Remembered", "Rule", "default_file", "pick"]

log: logging.Logger = logging.getLogger(__name__)

Policy: TypeAlias = Literal["ask", "allow-reads", "allow-all", "deny-all"]

Answer: TypeAlias = Literal["allow_once", "allow_always", "reject_once", "reject_always"]

Choice: TypeAlias = PermissionOption | str | None

Ask: TypeAlias = Callable[[RequestPermissionRequest], Awaitable[Choice] | Choice]
"""Asks the user; gives one of the request's options, its id, or None for no answer.

A plain function will do, but everything waits while it runs.
"""

MAX_SESSIONS = 1000
"""Sessions whose answers are kept; those of the oldest go first."""

OnRemembered: TypeAlias = Callable[[RequestPermissionRequest, Literal["allow", "deny"], str], None]
"""Hears that a remembered answer decided: the question, the answer, and what it was given for."""


class Remembered(NamedTuple):
    """An answer that was given with "always"."""

    agent: str
    what: str
    decision: Literal["allow", "deny"]


class Permissions:
    """Answers permission requests.

    Deny rules come first, then remembered answers (with `deny-all` only the rejections), then allow rules,
    then the policy; `ask` asks the user, and without one everything that is left is rejected. The policy
    `allow-reads` allows what reads inside the session's directories and does nothing else.

    With `remembered`, an "always" answer is kept for that agent, that project and exactly that thing (the
    command, or the title with the files it names; for a question that names neither, nothing is kept). It is
    kept in the user's own file for True, or in another one if it is a path. An option whose name has
    "session", "chat", "task" or a similar word is kept for that session only. `list_remembered` lists the
    answers, `revoke` removes them, and `on_remembered` is called when one of them decides.
    """

    def __init__(
        self,
        policy: Policy = "ask",
        *,
        rules: Sequence[Rule] = (),
        ask: Ask | None = None,
        remembered: RememberedPermissions | str | os.PathLike[str] | bool | None = None,
        on_remembered: OnRemembered | None = None,
    ) -> None:
        if policy not in ("ask", "allow-reads", "allow-all", "deny-all"):
            raise ValueError(f"no policy {policy!r}; there are: ask, allow-reads, allow-all, deny-all")
        rules_argument: Any = rules
        if not isinstance(rules_argument, list | tuple) or not all(
            isinstance(rule, Rule) for rule in cast("Sequence[Any]", rules_argument)
        ):
            raise TypeError(f"rules is a list of Rule(...), not {rules!r}")
        if ask is not None and not callable(ask):
            raise TypeError(f"ask is a function that is given each question, not {ask!r}")
        self.policy = policy
        self._rules = list(rules)
        self._ask = ask
        if remembered is True:
            remembered = default_file()
        if isinstance(remembered, str | os.PathLike):
            remembered = RememberedPermissions(Path(remembered))
        self._remembered = remembered or None
        self._on_remembered = on_remembered
        self._in_session: dict[tuple[str, str], dict[str, Literal["allow", "deny"]]] = {}

    def list_remembered(self, agent: str | None = None) -> list[Remembered]:
        """The remembered "always" answers, of one agent or of all."""
        if self._remembered is None:
            return []
        agents = self._remembered.owners() if agent is None else [agent]
        return [
            Remembered(name, what, decision)
            for name in agents
            for what, decision in self._remembered.all(name).items()
        ]

    def revoke(self, agent: str, what: str | None = None) -> int:
        """Forget an answer of `list_remembered`, or all of an agent's; returns how many there were."""
        if self._remembered is None:
            return 0
        keys = list(self._remembered.all(agent)) if what is None else [what]
        return sum(self._remembered.forget(agent, key) for key in keys)

    async def decide(
        self, agent: str, request: RequestPermissionRequest, *, roots: Sequence[str | Path] = ()
    ) -> PermissionOption | None:
        """The option to choose; None when nobody answers. `roots` are the session's directories."""
        call = request.tool_call
        if self._denied(call, roots):
            return pick(request.options, allow=False)
        key = key_of(call, roots)
        decision = await self._by_policy(call, roots)
        remembered = self._recalled(agent, request.session_id, key)
        if (
            remembered is not None
            and remembered != decision
            and (remembered == "deny" or self.policy != "deny-all")
        ):
            decision = remembered
            if self._on_remembered is not None:
                self._on_remembered(request, remembered, key)
        if decision is None and self._ask is not None:
            chosen = await self._asked(self._ask, request)
            if chosen is not None:
                self._keep(agent, request, chosen, key)
            return chosen
        return pick(request.options, allow=decision == "allow")

    def _recalled(self, agent: str, session_id: str, key: str) -> Literal["allow", "deny"] | None:
        if self._remembered is None or not key:
            return None
        return self._in_session.get((agent, session_id), {}).get(key) or self._remembered.get(agent, key)

    def _keep(
        self, agent: str, request: RequestPermissionRequest, chosen: PermissionOption, key: str
    ) -> None:
        decision: Literal["allow", "deny"] = "allow" if chosen.kind == "allow_always" else "deny"
        span = span_of(chosen, request.tool_call)
        if self._remembered is None or span == "once":
            return
        if span == "always":
            self._remembered.remember(agent, key, decision)
            return
        self._in_session.setdefault((agent, request.session_id), {})[key] = decision
        while len(self._in_session) > MAX_SESSIONS:
            del self._in_session[next(iter(self._in_session))]

    @property
    def denies_any(self) -> bool:
        """Whether there are deny rules at all."""
        return any(rule.decision == "deny" for rule in self._rules)

    def denies(self, kind: str, paths: Sequence[str] = (), roots: Sequence[str | Path] = ()) -> bool:
        """Whether a deny rule forbids this, asked for or not."""
        return any(rule.decision == "deny" and rule.covers(kind, paths, roots) for rule in self._rules)

    async def _asked(self, ask: Ask, request: RequestPermissionRequest) -> PermissionOption | None:
        """What the user chose. Whatever goes wrong with the question, the answer is no."""
        try:
            answer = ask(request)
            return _option(await answer if inspect.isawaitable(answer) else answer, request.options)
        except Exception:
            log.exception("the question %r is answered with no: asking failed", request.tool_call.title)
            return pick(request.options, allow=False)

    def _denied(self, call: ToolCallUpdate, roots: Sequence[str | Path]) -> bool:
        return any(rule.decision == "deny" and rule.matches(call, roots) for rule in self._rules)

    async def _by_policy(
        self, call: ToolCallUpdate, roots: Sequence[str | Path]
    ) -> Literal["allow", "deny"] | None:
        """What the allow rules and the policy say; None for ask."""
        if any(rule.decision == "allow" and rule.matches(call, roots) for rule in self._rules):
            return "allow"
        if self.policy == "allow-all":
            return "allow"
        if self.policy == "allow-reads" and call.kind in READS:
            return "allow" if await asyncio.to_thread(is_read_inside, call, roots) else None
        return "deny" if self.policy == "deny-all" else None


def default_file() -> Path:
    """Where the user's remembered answers are kept, beside the settings; agents of ours use it too."""
    path = os.environ.get("ACPELLA_PERMISSION_FILE")
    return Path(path).expanduser() if path else user_settings().with_name("permissions.toml")


def _option(answer: Any, options: Sequence[PermissionOption]) -> PermissionOption | None:
    """The option that an answer means. Raises `TypeError` for what is none."""
    if answer is None:
        return None
    option_id = answer.option_id if isinstance(answer, PermissionOption) else answer
    for option in options:
        if isinstance(option_id, str) and option.option_id == option_id:
            return option
    ids = ", ".join(option.option_id for option in options)
    raise TypeError(f"`ask` must return one of request.options, its id ({ids}), or None, not {answer!r}")


def pick(options: Sequence[PermissionOption], *, allow: bool) -> PermissionOption | None:
    """Choose an option by its kind, never by position or id; "once" is preferred to "always"."""
    kinds: tuple[Answer, ...] = ("allow_once", "allow_always") if allow else ("reject_once", "reject_always")
    for kind in kinds:
        for option in options:
            if option.kind == kind:
                return option
    return None
