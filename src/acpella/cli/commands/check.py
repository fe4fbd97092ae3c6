"""`acpella check`: whether an agent, a client or a recording keeps to the protocol."""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import exits
from ..command_words import split_command
from ..file_errors import RECORDING, explain
from ..terminal.output import say, show, show_json

if TYPE_CHECKING:
    from acpella.check.baseline import Baseline
    from acpella.check.requirement import Area, Transport
    from acpella.check.results import Report
    from acpella.check.runner import AgentCheck

__all__ = ["declare", "parse", "run"]

SCHEMES = ("http://", "https://", "ws://", "wss://")

CONFORMS, REGRESSION, USAGE, NOT_STARTED, NOT_JUDGED = 0, 1, 2, 3, 4

_EPILOG = """\
An agent is led through scenarios, and everything that it says is checked against the schema and the rules.
A recording is read; both sides of it are judged. With --client this command is an agent: let a client
start it, send it the prompt `all`, and read the report when the client has closed it.

levels:
  must         holds for everybody
  capability   holds for whoever offers it or does it
  should       recommended by the protocol
  robust       not written in the protocol; peers that live do it
  info         shown, never counted

exit codes:
  0  conforms, or is as acp-check.toml expects
  1  something that counts fails, or an entry of acp-check.toml is no longer true
  2  the command line or a file is wrong
  3  the agent cannot be started
  4  it could not be judged: it wants a login, or speaks another version
"""


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = "Check whether an agent, a client or a recording keeps to the protocol."
    parser.usage = (
        "acpella check [options] -- AGENT [ARG...]\n"
        "       acpella check [options] NAME | URL | FILE\n"
        "       acpella check --fake-model NAME [options] [-- AGENT [ARG...]]\n"
        "       acpella check --client [--report FILE]"
    )
    parser.epilog = _EPILOG
    add = parser.add_argument
    add(
        "target",
        nargs="?",
        metavar="NAME|URL|FILE",
        help="an agent as `run -a` takes it, one behind a URL, or a recording",
    )
    add("--client", action="store_true", help="be the agent that a client is checked with")
    add(
        "--fake-model",
        metavar="NAME",
        help="start a known agent on a model that does as it is told, without a key: "
        "acpella, claude, codex, gemini, kimi, opencode, vibe",
    )
    add("--only", metavar="ID,...", action="append", default=[], help="only these requirements or topics")
    add("--skip", metavar="ID,...", action="append", default=[], help="without these")
    add("--list", action="store_true", help="list the requirements and end")
    add("--set", dest="set_name", metavar="NAME", help="count only the requirements of this frozen set")
    add("--baseline", metavar="FILE", help="what is expected; default: acp-check.toml if it is there")
    add("--write-baseline", action="store_true", help="write what fails now into the baseline")
    add("--script", metavar="FILE", help="more prompts to send, one per line, so that the audits see more")
    add(
        "--json",
        metavar="FILE",
        nargs="?",
        const="-",
        help="write the report as JSON; - or nothing: to stdout",
    )
    add("--junit", metavar="FILE", help="write the report as JUnit XML")
    add("--markdown", metavar="FILE", help="write the report as Markdown, besides $GITHUB_STEP_SUMMARY")
    add("--badge", metavar="FILE", help="write a badge for shields.io")
    add(
        "--report", metavar="FILE", help="with --client: where the report goes; default: acp-check-client.txt"
    )
    add(
        "--version-answer",
        type=int,
        metavar="N",
        help="with --client: agree to this version whatever is asked",
    )
    add(
        "--timeout",
        type=float,
        default=20.0,
        metavar="SECONDS",
        help="for each answer; default: 20. The first may take a minute, or ten times this if that is less",
    )
    add("--jobs", type=int, default=2, metavar="N", help="agents that run at the same time; default: 2")
    add("--yes", action="store_true", help="install an agent of the registry that is missing, without asking")
    add("-v", "--verbose", action="store_true", help="list also what could not be proved")


def parse(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.Namespace:
    """Options, then `--` and the agent."""
    options, command = split_command(words)
    arguments = parser.parse_args(options)
    chosen = [bool(arguments.target), bool(command), arguments.client, arguments.list]
    if sum(chosen) > 1 or (arguments.client and arguments.fake_model):
        parser.error("check one thing: a command behind --, a NAME, a URL, a FILE, or --client")
    if not any(chosen) and not arguments.fake_model:
        parser.error("what is to be checked? `acpella check -- COMMAND`, a NAME, a URL, a FILE or --client")
    if arguments.timeout <= 0 or arguments.jobs < 1:
        parser.error("--timeout and --jobs are above zero")
    return argparse.Namespace(command=command, **vars(arguments))


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    from acpella.check import CannotJudge, NewerFormat
    from acpella.errors import AcpellaError

    try:
        signal.signal(signal.SIGTERM, _terminate)
        return _run(arguments)
    except _Terminated:
        return 128 + signal.SIGTERM
    except KeyboardInterrupt:
        return exits.CANCELLED
    except CannotJudge as error:
        say(f"cannot be judged: {error}")
        _summarize(f"## ACP: could not be judged\n\n{error}\n")
        return NOT_JUDGED
    except NewerFormat as error:
        say(str(error))
        return USAGE
    except BrokenPipeError:
        raise  # whoever read the report has seen enough
    except (OSError, ValueError) as error:
        say(explain(error))
        return USAGE
    except AcpellaError as error:  # it cannot be reached, started or installed
        say(str(error))
        reason = str(error).replace("&", "&amp;").replace("<", "&lt;")  # it holds words of the agent
        _summarize(f"## ACP: the agent did not start\n\n{reason}\n")
        return NOT_STARTED


class _Terminated(KeyboardInterrupt):
    """SIGTERM: as Ctrl-C, agents that were started end with this command."""


def _terminate(signum: int, frame: object) -> None:
    raise _Terminated


def _run(arguments: argparse.Namespace) -> int:
    from acpella.check import (
        AGENT_AREAS,
        CLIENT_AREAS,
        Baseline,
        ClientCheck,
        check_recording,
        frozen_set,
        read_baseline,
    )

    areas = [*AGENT_AREAS, *CLIENT_AREAS]
    if arguments.list:
        return _list(arguments, areas)
    _check_ids(arguments, areas)
    _check_places(arguments)
    if arguments.set_name:
        frozen_set(arguments.set_name)  # before the work, not after it
    path = Path(arguments.baseline or "acp-check.toml")
    ids = [requirement.id for area in areas for requirement in area.requirements]
    baseline = Baseline()
    if arguments.baseline and not arguments.write_baseline or path.is_file():
        baseline = read_baseline(path, ids)
    if arguments.client:
        _check_left(arguments, CLIENT_AREAS, "a client")
        lead = ClientCheck(selection=_selection(arguments), version=arguments.version_answer)
        asyncio.run(lead.serve())
        return _finish(arguments, lead.report(), CLIENT_AREAS, baseline, path)
    if arguments.target and os.path.isfile(arguments.target) and not arguments.target.endswith(".py"):
        reports = check_recording(
            arguments.target,
            selection=_selection(arguments),
            damaged=lambda item: say(f"{arguments.target}, line {item.line} is left out: {item.reason}"),
        )
        if not any(report.results for report in reports):
            raise ValueError(NOTHING_LEFT.format("a recording"))
        sides = zip(reports, (AGENT_AREAS, CLIENT_AREAS), strict=True)
        return max([_finish(arguments, r, a, baseline, path) for r, a in sides if r.results])
    _check_left(arguments, AGENT_AREAS, "an agent")
    with ExitStack() as stack:
        check = _agent_check(arguments, baseline, stack)
        try:
            report = asyncio.run(_run_with_signs(check))
        except KeyboardInterrupt:
            say(f"stopped at {check.progress_words}; no report was written")
            raise
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr)  # noqa: T201 - the progress line
    return _finish(arguments, report, AGENT_AREAS, baseline, path)


def _agent_check(arguments: argparse.Namespace, baseline: "Baseline", stack: ExitStack) -> "AgentCheck":
    """What is to be run: a command, a URL, or a known agent on a fake model."""
    from acpella.check import FAKE_MODEL, AgentCheck, PromptProfile
    from acpella.client.targets import open_target

    prompts = dict(baseline.profile)
    command: list[str] = arguments.command
    env: dict[str, str] = {}
    if arguments.fake_model:
        import tempfile

        from acpella.testing import FakeModel, recipe

        home = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="acpella-home-", ignore_cleanup_errors=True)
        )
        model = stack.enter_context(FakeModel())
        prepared = recipe(arguments.fake_model).prepare(model, home)
        command = command or list(prepared.command)
        env = dict(prepared.env)
        prompts = {**FAKE_MODEL, **prompts}
    transport: Transport = "stdio"
    url: str | None = arguments.target
    if url is not None and not url.startswith(SCHEMES):
        if "://" in url:
            raise ValueError(f"{url} is no URL of an agent; those begin with {', '.join(SCHEMES)}")
        (command, env), url = _named(url, yes=arguments.yes), None
    if url is not None:
        transport = "websocket" if url.startswith("ws") else "http"
    script: list[str] = []
    if arguments.script:
        script = [
            line for line in Path(arguments.script).read_text(encoding="utf-8").splitlines() if line.strip()
        ]

    if "ACPELLA_STORE" not in os.environ:  # agents made with acpella leave nothing in their user's store
        import tempfile

        place = tempfile.TemporaryDirectory(prefix="acpella-store-", ignore_cleanup_errors=True)
        env.setdefault("ACPELLA_STORE", os.path.join(stack.enter_context(place), "sessions.db"))

    def open_channel(directory: str) -> Any:
        if url is not None:
            return open_target(url, token=os.environ.get("ACPELLA_TOKEN"))[1]
        words = [_absolute(word) for word in command]
        if len(words) == 1 and words[0].endswith(".py"):
            words = [sys.executable, *words]
        return open_target(words, env=env or None)[1]

    return AgentCheck(
        open_channel,
        url or " ".join(command),
        transport=transport,
        profile=PromptProfile(prompts),
        selection=_selection(arguments),
        patience=arguments.timeout,
        jobs=arguments.jobs,
        script=script,
        progress=_progress if sys.stderr.isatty() else _SignsOfLife(),
    )


def _named(name: str, *, yes: bool) -> tuple[list[str], dict[str, str]]:
    """The command of an agent that `acpella run -a` would take, and its variables.

    Raises:
        TransportError: there is none of this name, or it is not installed; says what to do.
        ValueError: the word is no agent's.
    """
    from ..session.lookup import find_settings
    from ..state.agents import agent_command, resolve_agent

    settings = resolve_agent(find_settings(None, os.getcwd(), agent=name, yes=yes), name, yes=yes)
    if os.path.isdir(name):
        raise ValueError(f"{name} is a directory; name a recording, or an agent")
    if name.endswith(".jsonl"):
        raise ValueError(f"there is no file {name}; {RECORDING}")
    command, env = agent_command(name, settings)
    if not command:
        raise ValueError(f"{name} is behind a URL; check that: acpella check URL")
    return command, dict(env)


def _absolute(word: str) -> str:
    return os.path.abspath(word) if word.endswith(".py") and os.path.isfile(word) else word


SIGN_TIME = 30.0
"""Seconds after which a check without a terminal says again what it waits for."""


class _SignsOfLife:
    """Progress without a terminal: a line for each topic, and one when nothing has been heard for long."""

    def __init__(self) -> None:
        self._topics: set[str] = set()
        self._last = ""

    def __call__(self, done: int, total: int, what: str) -> None:
        self._last = f"{done} of {total}: {what}"
        topic = what.partition(".")[0]
        if topic not in self._topics:
            self._topics.add(topic)
            say(f"checks {topic} ({done} of {total})")

    async def repeat(self) -> None:
        """Say now and then what is waited for, until this is cancelled."""
        while True:
            await asyncio.sleep(SIGN_TIME)
            say(f"waits at {self._last}" if self._last else "waits for the agent's answer to initialize")


async def _run_with_signs(check: "AgentCheck") -> "Report":
    if not isinstance(check.progress, _SignsOfLife):
        return await check.run()
    signs = asyncio.create_task(check.progress.repeat())
    try:
        return await check.run()
    finally:
        signs.cancel()


def _progress(done: int, total: int, what: str) -> None:
    print(f"\r\x1b[K{done}/{total} {what}"[:100], end="", file=sys.stderr, flush=True)  # noqa: T201 - one line


def _selection(arguments: argparse.Namespace) -> Any:
    from acpella.check import CheckSelection

    return CheckSelection(_words(arguments.only), _words(arguments.skip))


def _words(values: list[str]) -> tuple[str, ...]:
    return tuple(word.strip() for text in values for word in text.split(",") if word.strip())


def _check_places(arguments: argparse.Namespace) -> None:
    """A report that cannot be written would be lost after all the work, and one must not replace another file
    of this command."""
    outputs = {
        "--json": arguments.json,
        "--junit": arguments.junit,
        "--markdown": arguments.markdown,
        "--badge": arguments.badge,
        "--report": arguments.report or ("acp-check-client.txt" if arguments.client else None),
        "--write-baseline": (arguments.baseline or "acp-check.toml") if arguments.write_baseline else None,
    }
    inputs = {
        "what is checked": arguments.target,
        "--script": arguments.script,
        "--baseline": None if arguments.write_baseline else arguments.baseline or "acp-check.toml",
    }
    uses: dict[str, str] = {os.path.realpath(file): what for what, file in inputs.items() if file}
    for option, file in outputs.items():
        place = os.path.realpath(file or "-")
        if not file or file == "-" or (os.path.exists(place) and not os.path.isfile(place)):
            continue  # a device takes as many as there are
        if place in uses:
            raise ValueError(f"{option} would replace {file}, which is {uses[place]}; name another file")
        uses[place] = f"the file of {option}"
    for file in outputs.values():
        place = Path(file or "-").absolute().parent
        if not place.is_dir():
            raise ValueError(f"{file} cannot be written: there is no directory {place}")
        if Path(file or "-").is_dir():
            raise ValueError(f"{file} cannot be written: it is a directory")


def _check_ids(arguments: argparse.Namespace, areas: "Sequence[Area]") -> None:
    """A misspelt id would check nothing, and look as if all were well."""
    import difflib

    ids = [requirement.id for area in areas for requirement in area.requirements]
    valid_ids = {*ids, *(id.rpartition(".")[0] for id in ids), "client"}
    for word in (*_words(arguments.only), *_words(arguments.skip)):
        if word not in valid_ids:
            begin = sorted(id for id in valid_ids if id.startswith(word))
            close = begin[:1] or difflib.get_close_matches(word, valid_ids, n=1)
            hint = f"; did you mean {close[0]}?" if close else "; `acpella check --list` lists all"
            raise ValueError(f"{word!r} is not a requirement{hint}")


NOTHING_LEFT = "--only and --skip leave nothing that {} is judged by; `acpella check --list` lists all"


def _check_left(arguments: argparse.Namespace, areas: "Sequence[Area]", peer: str) -> None:
    """A check of nothing would look as if all were well."""
    selection = _selection(arguments)
    if not any(selection.has(requirement) for area in areas for requirement in area.requirements):
        raise ValueError(NOTHING_LEFT.format(peer))


def _list(arguments: argparse.Namespace, areas: "Sequence[Area]") -> int:
    selection = _selection(arguments)
    chosen = [r for area in areas for r in area.requirements if selection.has(r)]
    if arguments.json:
        from dataclasses import asdict

        show_json([asdict(requirement) for requirement in chosen])
    else:
        for requirement in chosen:
            show(f"{requirement.id:<38} {requirement.level:<11} {requirement.rule:<6} {requirement.text}")
    return 0


def _finish(
    arguments: argparse.Namespace, report: "Report", areas: "Sequence[Area]", baseline: "Baseline", path: Path
) -> int:
    """Write the report wherever it is wanted; returns the exit code."""
    from acpella.check import frozen_set, judge, write_baseline
    from acpella.check.output import badge, json_report, junit, markdown, text

    if arguments.set_name:
        report.set_name, report.scored = arguments.set_name, frozen_set(arguments.set_name)
    judgement = judge(report, baseline)
    report.notes += [
        f"as expected: {r.requirement.id} ({baseline.expected[r.requirement.id]})" for r in judgement.expected
    ]
    report.as_expected = judgement.good
    report.notes += [f"stale: {sentence}" for sentence in judgement.stale]
    repeat = _repeat(arguments)
    page = markdown(report, repeat)
    if arguments.json and arguments.json != "-":
        _write(arguments.json, _as_json(json_report(report, repeat)))
    if arguments.junit:
        _write(arguments.junit, junit(report))
    if arguments.markdown:
        _write(arguments.markdown, page)
    if arguments.badge:
        _write(arguments.badge, _as_json(badge(report)))
    _summarize(page)
    if arguments.client:
        whole = text(report, areas, repeat, verbose=True)
        _write(arguments.report or "acp-check-client.txt", whole + "\n")
        say(whole.splitlines()[-1])
    elif arguments.json == "-":
        show_json(json_report(report, repeat))
    else:
        show(text(report, areas, repeat, verbose=arguments.verbose))
    if arguments.write_baseline:
        number = write_baseline(path, report, baseline)
        failures = "failure" if number == 1 else "failures"
        say(f"wrote {number} expected {failures} to {path}; say why each of them is there")
        return CONFORMS
    if judgement.good and (failing := _named_failures(arguments, report, baseline)):
        fail = "fails" if len(failing) == 1 else "fail"
        say(f"{', '.join(failing)} {fail}. A recommendation counts when --only names it")
        return REGRESSION
    return CONFORMS if judgement.good else REGRESSION


def _named_failures(arguments: argparse.Namespace, report: "Report", baseline: "Baseline") -> list[str]:
    """What fails of the very requirements that somebody asked for, whatever their level."""
    known = baseline.expected.keys() | baseline.unstable.keys()
    wanted = set(_words(arguments.only)) - known
    return [
        result.requirement.id
        for result in report.results
        if result.requirement.id in wanted and result.outcome in ("fail", "error")
    ]


def _repeat(arguments: argparse.Namespace) -> list[str]:
    """The command line that checks the same again."""
    words = ["acpella", "check"]
    if arguments.client:
        return [*words, "--client"]
    if arguments.fake_model:
        words += ["--fake-model", arguments.fake_model]
    if arguments.baseline:
        words += ["--baseline", arguments.baseline]
    if arguments.target:
        return [*words, arguments.target]
    return [*words, "--", *arguments.command] if arguments.command else words


def _as_json(value: Any) -> str:
    import json

    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _write(path: str, content: str) -> None:
    Path(path).write_text(content, encoding="utf-8")


def _summarize(page: str) -> None:
    """In a GitHub job, the report is its summary."""
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        with open(summary, "a", encoding="utf-8") as file:
            file.write(page)
