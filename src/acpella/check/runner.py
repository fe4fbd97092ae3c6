"""Runs the checks of an agent: which connection each scenario gets, and what its outcome means."""

import asyncio
import os
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from acpella.errors import TransportError
from acpella.rpc import Channel

from .agent import AREAS
from .auditor import Auditor
from .conversation import as_object
from .first_words import FirstWords
from .link import Failed, GivenUp, Gone, NoSessionMade, NotOffered, TimedOut, Unproved
from .probe import Probe
from .profile import PromptProfile
from .requirement import Area, Audit, Requirement, Scenario, Transport
from .results import CannotJudge, Report, RequirementResult, shown_frames
from .unanswered import Unanswered

__all__ = ["AgentCheck", "CheckSelection", "Progress", "audit_results"]

START_TIME = 60.0
START_SHARE = 10
"""Seconds for the first answers, because some agents download or compile something first; and how many times
the patience this may be at most."""

SCENARIO_TIME = 6
"""How many times the patience one scenario may take."""

AGAIN_SHARE = 2
"""The factor for the patience when something runs again because it was too slow."""

TOURED = ("hello", "think", "plan", "read", "write", "run", "ask", "elicit")
"""Needs whose prompts are sent once, so that the audits see what the agent sends."""

NEW_SESSION = "sessions.new"
"""The requirement that an agent breaks which never makes a session. What needs one is then unproved."""

PROMPT_TEXT = "prompt.text"
"""The requirement that an agent breaks which never answers a prompt. What else needs one is then unproved."""

Progress = Callable[[int, int, str], None]
"""Called with the number done, the total, and what runs now."""


@dataclass(frozen=True)
class CheckSelection:
    """Which requirements are checked: whole ids, or the part of an id before a dot."""

    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()

    def has(self, requirement: Requirement) -> bool:
        return (not self.only or _matches(requirement.id, self.only)) and not _matches(
            requirement.id, self.skip
        )


def _matches(id: str, words: Sequence[str]) -> bool:
    return any(id == word or id.startswith(f"{word}.") for word in words)


@dataclass
class AgentCheck:
    """One run against one agent. `open_channel` starts or reaches it anew each time it is called."""

    open_channel: Callable[[str], Channel]
    """Called with the directory to start the agent in."""
    target: str
    transport: Transport = "stdio"
    profile: PromptProfile = field(default_factory=PromptProfile)
    selection: CheckSelection = field(default_factory=CheckSelection)
    patience: float = 20.0
    jobs: int = 2
    script: Sequence[str] = ()
    progress: Progress | None = None
    areas: Sequence[Area] = AREAS

    def __post_init__(self) -> None:
        self._results: dict[str, RequirementResult] = {}
        self._auditors: list[Auditor] = []
        self._late: list[Scenario] = []
        self._late_tours: list[dict[str, Any] | None] = []
        self._unanswered = Unanswered()
        self._given_up: set[str] = set()
        """The requirements for which no prompt was sent any more."""
        self._promptless: set[str] = set()
        """The requirements whose scenarios failed because a prompt had no answer."""
        self._patience = self.patience
        self._answers_unknown = True
        self._sessionless: set[str] = set()
        """The requirements whose scenarios failed because no session was made."""
        self._done = 0
        self._total = 0
        self._peer = ""
        self._audits = [a for area in self.areas for a in area.audits if self.selection.has(a.requirement)]
        chosen = [s for area in self.areas for s in area.scenarios if self.selection.has(s.requirement)]
        self._scenarios = [s for s in chosen if self.transport in s.requirement.transports]
        self._elsewhere = [s for s in chosen if self.transport not in s.requirement.transports]

    @property
    def progress_words(self) -> str:
        """How far it is."""
        return f"{min(self._done, self._total)} of {self._total}" if self._total else "the start of the agent"

    async def run(self) -> Report:
        """Check everything.

        Raises:
            TransportError: the agent cannot be started, or does not answer at all.
            CannotJudge: the agent wants a login, or speaks another version.
        """
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="acpella-check-", ignore_cleanup_errors=True) as directory:
            self._root = os.path.realpath(directory)  # noqa: ASYNC240 - once
            await self._look_first()
            shared = [s for s in self._scenarios if s.connection == "shared"]
            rough = [s for s in self._scenarios if s.connection == "rough"]
            own = [s for s in self._scenarios if s.connection in ("fresh", "raw")]
            self._total = len(self._scenarios) + 2 * bool(self._audits)
            if self.jobs > 1:
                async with asyncio.TaskGroup() as lanes:
                    lanes.create_task(self._run_shared(shared, tour=bool(self._audits)))
                    lanes.create_task(self._run_own(own, rough))
            else:
                await self._run_shared(shared, tour=bool(self._audits))
                await self._run_own(own, rough)
            await self._run_again()
        report = Report(self.target, "agent", self._all_results(), self._peer, self.transport)
        report.seconds = time.monotonic() - began
        if lost := self._unanswered.lost:
            report.notes.append(lost)
        return report

    # -- connections -----------------------------------------------------------------------------

    async def _open(self, capabilities: dict[str, Any] | None = None, *, raw: bool = False) -> Probe:
        auditor = Auditor(self._audits, "agent")
        self._auditors.append(auditor)
        directory = tempfile.mkdtemp(prefix="session-", dir=self._root)
        channel = self.open_channel(self._root)
        probe = Probe(
            channel,
            auditor,
            profile=self.profile,
            patience=self._patience,
            directory=directory,
            unanswered=self._unanswered,
            answers_unknown=self._answers_unknown,
        )
        try:
            await probe.link.open()
            if not raw:
                reply = await probe.initialize(capabilities, within=self._start_time)
                if reply.is_error:
                    raise Failed("initialize failed", reply.request, reply)
        except BaseException:
            await probe.close()
            raise
        return probe

    @property
    def _start_time(self) -> float:
        return max(self._patience, min(START_TIME, START_SHARE * self._patience))

    async def _close(self, probe: Probe) -> None:
        await probe.close()
        probe.link.auditor.finish()

    async def _look_first(self) -> None:
        """Start the agent once, to see whether there is something to judge.

        Raises:
            TransportError: the agent does not answer `initialize`, or goes away.
            CannotJudge: the agent wants a login, or speaks another version.
        """
        probe = await self._open(raw=True)
        try:
            await self._greet(probe)
            await self._look_at(probe)
        finally:
            await self._close(probe)

    async def _greet(self, probe: Probe) -> None:
        """Send the first `initialize`, and tell what came instead of an answer.

        Raises:
            TransportError: no answer came, or none is to be expected.
        """
        link, request = probe.link, probe.begin_initialize()
        words = FirstWords(request)
        what = f"an answer to initialize (id {request.id!r})"
        try:
            reply = await link.find(
                lambda f: f.request is request or words.hear(f), what, within=self._start_time
            )
        except Failed as failure:
            failing = "went away before it answered" if isinstance(failure, Gone) else "does not answer"
            has_words = self.transport == "stdio" or link.start  # what is behind a URL has no stdout
            reason = f"{failure.text}; {words.told(link.start)}" if has_words else failure.text
            raise TransportError(f"the agent {failing} initialize: {reason}") from None
        if words.mistake:
            raise TransportError(f"the agent does not answer initialize: {words.mistake}")
        if reply.is_error:
            answer = shown_frames([reply])[0][2:]
            raise TransportError(f"the agent answered initialize with an error: {answer}")

    async def _look_at(self, probe: Probe) -> None:
        self._peer = probe.talk.agent_name
        if probe.talk.version != 1:
            raise CannotJudge(f"the agent speaks version {probe.talk.version} of the protocol, not 1")
        try:
            params: dict[str, Any] = {"cwd": probe.directory, "mcpServers": []}
            reply = await probe.link.call("session/new", params, within=self._start_time)
            if reply.code == -32000:
                names = (
                    ", ".join(str(method.get("name")) for method in probe.talk.auth_methods) or "none listed"
                )
                raise CannotJudge(
                    f"the agent wants a login first ({names}); log in with it, then check again"
                )
        except Gone as gone:
            raise TransportError(f"the agent went away during the first session/new: {gone.text}") from None
        except (Failed, Unproved):
            pass  # the checks will report it
        try:
            await probe.fence()
        except (Failed, Unproved):
            self._answers_unknown = False

    # -- scenarios -------------------------------------------------------------------------------

    async def _run_shared(self, scenarios: Sequence[Scenario], *, tour: bool = False) -> None:
        """Run all scenarios on one connection, which is replaced if one of them breaks it."""
        probe: Probe | None = None
        try:
            if tour:
                probe = await self._tour(None)
                await self._end_tour(await self._tour({}))
            for scenario in scenarios:
                if probe is None or probe.link.gone is not None:
                    if probe is not None:
                        await self._close(probe)
                        probe = None
                    probe = await self._try_open(scenario)
                if probe is not None:
                    await self._run_one(scenario, probe)
        finally:
            if probe is not None:
                await self._close(probe)

    async def _try_open(self, scenario: Scenario) -> Probe | None:
        try:
            return await self._open()
        except (Failed, Unproved, TransportError) as error:
            self._note_no_start(scenario, error)
            return None

    async def _run_own(self, scenarios: Sequence[Scenario], rough: Sequence[Scenario]) -> None:
        """Run the scenarios that need a process of their own, then those that send garbage."""
        for scenario in scenarios:
            await self._run_alone(scenario)
        await self._run_shared(rough)

    async def _run_alone(self, scenario: Scenario) -> None:
        """Run a scenario with a process of its own."""
        probe: Probe | None = None
        try:
            if (missing := self._missing(scenario)) is not None:
                self._note(scenario, "unproved", missing)
                return
            probe = await self._open(raw=scenario.connection == "raw")
            await self._run_one(scenario, probe)
        except (Failed, Unproved, TransportError) as error:
            self._note_no_start(scenario, error)
        finally:
            if probe is not None:
                await self._close(probe)

    def _note_no_start(self, scenario: Scenario, error: Failed | Unproved | TransportError) -> None:
        slow = isinstance(error, Failed) and error.timing
        self._note(scenario, "fail", f"the agent could not be started for it: {error}", timing=slow)

    def _missing(self, scenario: Scenario) -> str | None:
        missing = [need for need in scenario.requirement.needs if not self.profile.has(need)]
        return f"needs a prompt for {', '.join(missing)} in the profile" if missing else None

    async def _run_one(self, scenario: Scenario, probe: Probe) -> None:
        """Drive the agent through one scenario, and note the result."""
        if (missing := self._missing(scenario)) is not None:
            self._note(scenario, "unproved", missing)
            return
        self._tell(scenario.requirement.id)
        probe.link.auditor.label = scenario.requirement.id
        others: list[Probe] = []

        async def connect() -> Probe:
            others.append(await self._open())
            others[-1].link.auditor.label = scenario.requirement.id
            return others[-1]

        probe.connect = connect
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._patience * SCENARIO_TIME):
                await scenario.drive(probe)
            self._note(scenario, "pass", seconds=time.monotonic() - began)
        except NotOffered as reason:
            self._note(scenario, "not-applicable", str(reason))
        except GivenUp as reason:
            self._note(scenario, "unproved", str(reason), given_up=True)
        except Unproved as reason:
            self._note(scenario, "unproved", str(reason))
        except Failed as failure:
            self._note(scenario, "fail", failure.text, failure)
        except TimeoutError:
            self._note(
                scenario, "fail", f"nothing came of it in {self._patience * SCENARIO_TIME:g} s", timing=True
            )
        except Exception as error:
            self._note(scenario, "error", f"{error!r}\n{traceback.format_exc(limit=-4)}")
        finally:
            probe.link.auditor.label = ""
            for other in others:
                await self._close(other)

    def _note(
        self,
        scenario: Scenario,
        outcome: Any,
        text: str = "",
        failure: Failed | None = None,
        *,
        timing: bool = False,
        given_up: bool = False,
        seconds: float = 0.0,
    ) -> None:
        frames = shown_frames(failure.frames) if failure is not None else ()
        self._sessionless.discard(scenario.requirement.id)
        if isinstance(failure, NoSessionMade) and scenario.requirement.id != NEW_SESSION:
            self._sessionless.add(scenario.requirement.id)
        self._promptless.discard(scenario.requirement.id)
        if isinstance(failure, TimedOut) and failure.frames[0].method == "session/prompt":
            self._promptless.add(scenario.requirement.id)
        self._given_up.discard(scenario.requirement.id)
        if given_up:
            self._given_up.add(scenario.requirement.id)
        if (failure is not None and failure.timing) or timing or given_up:
            self._late.append(scenario)
        self._results[scenario.requirement.id] = RequirementResult(
            scenario.requirement, outcome, text, frames, seconds=seconds
        )

    async def _run_again(self) -> None:
        """Run once more, alone, what failed because of time: a busy machine is not the agent's fault."""
        late, self._late = self._late, []
        tours, self._late_tours = self._late_tours, []
        self._unanswered.try_again()
        self._patience *= AGAIN_SHARE
        late.sort(key=lambda scenario: scenario.requirement.id != PROMPT_TEXT)  # it decides about the others
        for scenario in late:
            id = scenario.requirement.id
            if id in self._given_up and self._unanswered.lost:
                continue
            first = self._results[id]
            await self._run_alone(scenario)
            if first.outcome == "fail" and self._results[id].outcome == "pass":
                self._results[id] = RequirementResult(
                    scenario.requirement, "unstable", f"it passed alone; first: {first.text}", first.frames
                )
            elif first.outcome == "fail" and id in self._given_up:
                self._results[id] = first
                self._promptless.add(id)
        for capabilities in tours:
            await self._end_tour(await self._tour(capabilities))

    async def _end_tour(self, probe: Probe | None) -> None:
        if probe is not None:
            await self._close(probe)

    async def _tour(self, capabilities: dict[str, Any] | None) -> Probe | None:
        """Run one turn of each kind for the audits, with every capability (None) or with those given."""
        what = "a tour with every capability" if capabilities is None else "a tour without capabilities"
        self._tell(what)
        probe: Probe | None = None
        try:
            probe = await self._open(capabilities)
            probe.link.auditor.label = "tour"
            session = await probe.new_session()
            for need in TOURED:
                if self.profile.has(need):
                    await self._visit(probe, session, need)
            for words in self.script:
                await probe.begin(session, words).end()
            await self._use_everything(probe, session)
            await probe.link.quiet(0.1)  # for updates that come too late
        except (Unproved, TransportError):
            pass  # the scenarios will report it
        except Failed as failure:
            if failure.timing:
                self._late_tours.append(capabilities)
        if probe is not None:
            probe.link.auditor.label = ""
        return probe

    async def _visit(self, probe: Probe, session: str, need: str) -> None:
        path = probe.new_path()
        if need == "read":
            path.write_text("one\ntwo\nthree\n", encoding="utf-8")
        values = {"file": str(path), "text": "papaya", "command": "echo papaya"}
        await probe.begin(session, probe.text_for(need, **values)).end()

    async def _use_everything(self, probe: Probe, session: str) -> None:
        """Call once everything that the agent offers, except what logs a user in or out."""
        link, state = probe.link, probe.talk.sessions[session]
        here: dict[str, Any] = {"sessionId": session}
        opened: dict[str, Any] = {**here, "cwd": probe.directory, "mcpServers": []}
        nothing: dict[str, Any] = {}
        if state.modes:
            await link.call("session/set_mode", {**here, "modeId": state.modes.get("currentModeId")})
        for option in (as_object(option) for option in state.options or ()):
            if option.get("type") == "select":
                choice = {"configId": option.get("id"), "value": option.get("currentValue")}
                await link.call("session/set_config_option", {**here, **choice})
                break
        for path, method, params in (
            ("auth.status", "auth/status", nothing),
            ("sessionCapabilities.list", "session/list", {"cwd": probe.directory}),
            ("sessionCapabilities.title", "session/set_title", {**here, "title": "Checked"}),
            ("sessionCapabilities.fork", "session/fork", opened),
            ("loadSession", "session/load", opened),
            ("sessionCapabilities.resume", "session/resume", opened),
            ("sessionCapabilities.close", "session/close", here),
            ("sessionCapabilities.delete", "session/delete", here),
        ):
            if probe.talk.agent_can(path):
                await link.call(method, params)

    def _tell(self, what: str) -> None:
        self._done += 1
        if self.progress is not None:
            self.progress(min(self._done, self._total), self._total, what)

    # -- results ---------------------------------------------------------------------------------

    def _all_results(self) -> list[RequirementResult]:
        audits = audit_results(self._audits, self._auditors)
        by_id = {result.requirement.id: result for result in audits} | self._results
        if not any(s.setup for auditor in self._auditors for s in auditor.talk.sessions.values()):
            for id in self._sessionless:
                text = f"no session was made; see {NEW_SESSION}"
                by_id[id] = RequirementResult(by_id[id].requirement, "unproved", text)
        prompt_text = by_id.get(PROMPT_TEXT)
        if self._unanswered.lost and prompt_text is not None and prompt_text.outcome == "fail":
            for id in self._promptless - {PROMPT_TEXT}:
                text = f"a prompt had no answer; see {PROMPT_TEXT}"
                by_id[id] = RequirementResult(by_id[id].requirement, "unproved", text)
        for scenario in self._elsewhere:
            where = " and ".join(scenario.requirement.transports)
            by_id[scenario.requirement.id] = RequirementResult(
                scenario.requirement, "not-applicable", f"only over {where}"
            )
        return [by_id[r.id] for area in self.areas for r in area.requirements if r.id in by_id]


def audit_results(audits: Sequence[Audit], auditors: Sequence[Auditor]) -> list[RequirementResult]:
    """The results of the audits over several connections."""
    results: list[RequirementResult] = []
    for audit in audits:
        requirement = audit.requirement
        tallies = [auditor.tallies[requirement.id] for auditor in auditors]
        findings = [finding for tally in tallies for finding in tally.findings]
        if findings:
            times = sum(tally.broken for tally in tallies)
            text = findings[0].text + (f" (and {times - 1} more)" if times > 1 else "")
            result = RequirementResult(
                requirement, "fail", text, shown_frames(findings[0].frames), findings[0].during
            )
        elif any(tally.held for tally in tallies):
            result = RequirementResult(requirement, "pass")
        elif requirement.level == "must":
            result = RequirementResult(requirement, "unproved", "nothing was seen that it could be judged by")
        else:
            result = RequirementResult(requirement, "not-applicable", "nothing of the kind was seen")
        results.append(result)
    return results
