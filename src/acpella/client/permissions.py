"""Who answers when an agent asks for permission: a rule, a remembered answer, or the user."""

import fnmatch
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from acpella.schema import PermissionOption, RequestPermissionRequest, ToolCallUpdate
from acpella.sessions import RememberedPermissions

__all__ = ["Ask", "Permissions", "Policy", "Rule"]

Policy: TypeAlias = Literal["ask", "allow-reads", "allow-all", "deny-all"]

Answer: TypeAlias = Literal["allow_once", "allow_always", "reject_once", "reject_always"]

Ask: TypeAlias = Callable[[RequestPermissionRequest], Awaitable[PermissionOption | None]]
"""Asks the user; gives one of the request's options, or None for no answer."""

_READS = ("read", "search", "think", "fetch")


@dataclass(frozen=True, slots=True)
class Rule:
    """Allows or denies by kind of tool and by path; a deny rule always wins."""

    decision: Literal["allow", "deny"]
    kinds: Sequence[str] = ()
    """Kinds of tools (`read`, `edit`, `execute`, …); empty for all."""
    paths: Sequence[str] = ()
    """Globs, one of which must match every path of the call; empty for all."""

    def matches(self, call: ToolCallUpdate) -> bool:
        if self.kinds and (call.kind or "other") not in self.kinds:
            return False
        if not self.paths:
            return True
        places = [location.path for location in call.locations or []]
        hits = [any(fnmatch.fnmatchcase(place, glob) for glob in self.paths) for place in places]
        # an allowed call stays inside the globs; a denied one only has to touch them
        return bool(hits) and (all(hits) if self.decision == "allow" else any(hits))


class Permissions:
    """Answers permission requests.

    Deny rules come first, then remembered answers, then allow rules, then the policy; `ask` asks the user,
    and without one everything that is left is rejected.
    """

    def __init__(
        self,
        policy: Policy = "ask",
        *,
        rules: Sequence[Rule] = (),
        ask: Ask | None = None,
        remembered: RememberedPermissions | None = None,
    ) -> None:
        if policy not in ("ask", "allow-reads", "allow-all", "deny-all"):
            raise ValueError(f"no policy {policy!r}; there are: ask, allow-reads, allow-all, deny-all")
        self.policy = policy
        self._rules = list(rules)
        self._ask = ask
        self._remembered = remembered

    async def decide(self, agent: str, request: RequestPermissionRequest) -> PermissionOption | None:
        """The option to choose; None when nobody answers."""
        call = request.tool_call
        key = call.name or call.title or call.kind or "other"
        decision = self._decided(agent, key, call)
        if decision is None and self._ask is not None:
            chosen = await self._ask(request)
            if chosen is not None and chosen.kind.endswith("_always") and self._remembered is not None:
                self._remembered.remember(agent, key, "allow" if chosen.kind == "allow_always" else "deny")
            return chosen
        return pick(request.options, allow=decision == "allow")

    def _decided(self, agent: str, key: str, call: ToolCallUpdate) -> Literal["allow", "deny"] | None:
        if any(rule.decision == "deny" and rule.matches(call) for rule in self._rules):
            return "deny"
        if self._remembered is not None and (known := self._remembered.get(agent, key)):
            return known
        if any(rule.decision == "allow" and rule.matches(call) for rule in self._rules):
            return "allow"
        if self.policy == "allow-all" or (self.policy == "allow-reads" and call.kind in _READS):
            return "allow"
        return "deny" if self.policy == "deny-all" else None


def pick(options: Sequence[PermissionOption], *, allow: bool) -> PermissionOption | None:
    """An option by its kind, never by its place or id: the one that holds the shortest."""
    kinds: tuple[Answer, ...] = ("allow_once", "allow_always") if allow else ("reject_once", "reject_always")
    for kind in kinds:
        for option in options:
            if option.kind == kind:
                return option
    return None
