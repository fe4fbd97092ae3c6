"""The agent that a client is checked with: prompts choose scenarios, and the report says what went wrong."""

import os
import time
import traceback
from collections.abc import Sequence
from typing import Any

from acpella._version import __version__
from acpella.rpc import Channel
from acpella.transport import StdioChannel

from .auditor import Auditor
from .client import AREAS
from .client_probe import ClientProbe
from .conversation import CheckedFrame, as_list, as_object
from .link import Failed, Gone, Link, LinkRefusal, NotOffered, Unproved
from .requirement import Area, Scenario
from .results import Outcome, Report, RequirementResult, shown_frames
from .runner import CheckSelection, audit_results

__all__ = ["ClientCheck"]

PATIENCE = 20.0
"""Seconds for an answer. A client may have to ask its user."""

MODES: dict[str, Any] = {
    "currentModeId": "check",
    "availableModes": [{"id": "check", "name": "Check"}, {"id": "other", "name": "Other"}],
}
OPTIONS: list[dict[str, Any]] = [
    {
        "id": "depth",
        "name": "Depth",
        "type": "select",
        "currentValue": "all",
        "options": [{"value": "all", "name": "All"}, {"value": "few", "name": "Few"}],
    }
]
HELP = (
    "I check whether this client keeps to the protocol. Send `all`, or the name of a topic: {topics}. "
    "Choose an answer that allows whenever I ask for permission."
)


class ClientCheck:
    """One run: serves a client until it disconnects, then makes a report."""

    def __init__(
        self,
        *,
        selection: CheckSelection | None = None,
        version: int | None = None,
        patience: float = PATIENCE,
        areas: Sequence[Area] = AREAS,
    ) -> None:
        chosen = selection or CheckSelection()
        self._areas = areas
        self._audits = [a for area in areas for a in area.audits if chosen.has(a.requirement)]
        self._reported = [s for area in areas for s in area.scenarios if chosen.has(s.requirement)]
        everything = [s for area in areas for s in area.scenarios]
        self._scenarios = everything if self._audits else self._reported  # audits need something to see
        self._version = version
        self._patience = patience
        self._results: dict[str, RequirementResult] = {}
        self._told: dict[str, list[dict[str, Any]]] = {}
        self._cwds: dict[str, str] = {}
        self._began = time.monotonic()
        self._auditor = Auditor(self._audits, "client")

    async def serve(self, channel: Channel | None = None) -> None:
        """Act as an agent until the client has closed the connection."""
        link = Link(channel or StdioChannel(), self._auditor, way="in", patience=self._patience)
        self._link, self._probe = link, ClientProbe(link)
        link.answers.update(
            {
                "initialize": self._initialize,
                "authenticate": self._nothing,
                "session/new": self._new,
                "session/load": self._load,
                "session/list": self._list,
                "session/close": self._nothing,
                "session/set_mode": self._nothing,
                "session/set_config_option": self._set_option,
                "session/prompt": self._prompt,
            }
        )
        link.on_notification = self._notified
        await link.open()
        await link.wait_for_end(float("inf"))
        await link.close()
        self._auditor.finish()

    def report(self) -> Report:
        """What the client did."""
        audits = {r.requirement.id: r for r in audit_results(self._audits, [self._auditor])}
        reported = {scenario.requirement.id for scenario in self._reported}
        by_id = audits | {id: result for id, result in self._results.items() if id in reported}
        for scenario in self._reported:
            words = scenario.requirement.id.removeprefix("client.") if scenario.requirement.needs else "all"
            text = f"the client was not led through it; send it the prompt `{words}`"
            by_id.setdefault(
                scenario.requirement.id, RequirementResult(scenario.requirement, "unproved", text)
            )
        results = [by_id[r.id] for area in self._areas for r in area.requirements if r.id in by_id]
        peer = self._auditor.talk.client_name
        return Report("the client", "client", results, peer, seconds=time.monotonic() - self._began)

    # -- an agent of the plainest kind -----------------------------------------------------------

    async def _initialize(self, frame: CheckedFrame) -> Any:
        capabilities: dict[str, Any] = {"loadSession": True, "sessionCapabilities": {"list": {}, "close": {}}}
        return {
            "protocolVersion": self._version or 1,
            "agentCapabilities": capabilities,
            "authMethods": [],
            "agentInfo": {"name": "acpella-check", "title": "acpella check", "version": __version__},
        }

    async def _nothing(self, frame: CheckedFrame) -> Any:
        return {}

    async def _new(self, frame: CheckedFrame) -> Any:
        id = f"check-{os.urandom(6).hex()}"
        self._cwds[id] = str(frame.params.get("cwd", ""))
        self._told[id] = []
        return {"sessionId": id, "modes": MODES, "configOptions": OPTIONS}

    async def _load(self, frame: CheckedFrame) -> Any:
        id = frame.session or ""
        if id not in self._told:
            raise LinkRefusal(-32002, "Resource not found")
        for update in self._told[id]:
            self._link.notify("session/update", {"sessionId": id, "update": update})
        return {"modes": MODES, "configOptions": OPTIONS}

    async def _list(self, frame: CheckedFrame) -> Any:
        directory = frame.params.get("cwd")
        sessions = [(id, cwd) for id, cwd in self._cwds.items() if directory in (None, cwd)]
        return {"sessions": [{"sessionId": id, "cwd": cwd} for id, cwd in sessions]}

    async def _set_option(self, frame: CheckedFrame) -> Any:
        return {"configOptions": [{**OPTIONS[0], "currentValue": frame.params.get("value")}]}

    def _notified(self, frame: CheckedFrame) -> None:
        if frame.method == "session/cancel" and frame.session == self._probe.session:
            self._probe.cancelled.set()

    # -- scenarios -------------------------------------------------------------------------------

    async def _prompt(self, frame: CheckedFrame) -> Any:
        probe = self._probe
        probe.session = frame.session or ""
        probe.cwd = self._cwds.get(probe.session, "")
        probe.cancelled.clear()
        blocks = [as_object(block) for block in as_list(frame.params.get("prompt"))]
        words = " ".join(str(block.get("text", "")) for block in blocks).replace(",", " ").split()
        chosen = self._chosen(words)
        if not chosen:
            topics = ", ".join(area.name for area in self._areas if area.scenarios)
            probe.say(HELP.format(topics=topics))
        for scenario in chosen:
            await self._run(scenario, probe)
            if probe.cancelled.is_set():
                return {"stopReason": "cancelled"}
        if chosen:
            probe.say(self._summary(chosen))
        return {"stopReason": "end_turn"}

    def _chosen(self, words: Sequence[str]) -> list[Scenario]:
        names = {word.lower().removeprefix("client.") for word in words}
        return [
            s
            for s in self._scenarios
            if names & {s.requirement.area, s.requirement.id.removeprefix("client.")}
            or ("all" in names and "user" not in s.requirement.needs)
        ]

    async def _run(self, scenario: Scenario, probe: ClientProbe) -> None:
        requirement = scenario.requirement
        self._auditor.label = requirement.id
        outcome: Outcome = "pass"
        text, frames = "", tuple[str, ...]()
        try:
            await scenario.drive(probe)
        except NotOffered as reason:
            outcome, text = "not-applicable", str(reason)
        except Unproved as reason:
            outcome, text = "unproved", str(reason)
        except Gone:
            raise
        except Failed as failure:
            outcome, text, frames = "fail", failure.text, shown_frames(failure.frames)
        except Exception as error:
            outcome, text = "error", f"{error!r}\n{traceback.format_exc(limit=-4)}"
        self._auditor.label = ""
        self._results[requirement.id] = RequirementResult(requirement, outcome, text, frames)
        probe.say(f"{outcome}: {requirement.id.removeprefix('client.')}{f' ({text})' if text else ''}\n")

    def _summary(self, chosen: Sequence[Scenario]) -> str:
        results = [self._results[s.requirement.id] for s in chosen]
        failed = sum(1 for result in results if result.outcome == "fail")
        return f"{len(results)} scenarios, {failed} failed. The report is written when you close me.\n"
