"""Installs agents: prepare, agree, put in place, try, switch. If a step fails, what was there stays in use.

<data>/agents/<id>/<version>-<hash>/    receipt.json and files/
<data>/agents/<id>/current.json         which of them is used, and which was used before
<data>/agents/digests.json              digests of archives without one in the index: the first one counts
"""

import hashlib
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import msgspec

from acpella import _directories as directories
from acpella.client.installed import (
    Installed,
    Kind,
    Receipt,
    Selection,
    agents_directory,
    find_installed,
    read_receipt,
    read_selection,
)
from acpella.errors import TransportError

from .download import Progress, Quiet, check_url, download
from .entries import BinaryTarget, Package, RegistryEntry
from .errors import InstallError
from .handshake import HandshakeFailed, greet
from .packages import NeedsBuild, Resolved, install_npm, install_uv, resolve_npm, resolve_uv
from .platforms import choose_kind, is_musl, platform_key
from .processes import runs_below
from .specs import split_npm, split_pypi
from .staging import Staging, agent_home, lock_agent, sweep
from .unpack import archive_format, find_program, program_path, unpack
from .variables import allowed_env

__all__ = ["InstallPlan", "install", "plan", "remove", "roll_back", "set_pin"]

_PATH_PROGRAMS = ("node", "python", "python3", "java", "ruby")
"""A `cmd` with one of these names means the program on the PATH (G-022)."""


@dataclass(slots=True)
class InstallPlan:
    """What would be installed. Close it, whether it was installed or not: `with plan(...) as planned:`."""

    entry: RegistryEntry
    kind: Kind
    version: str
    source: str
    digest: str
    details: tuple[str, ...]
    """More about what is downloaded, a line each."""
    warnings: tuple[str, ...]
    scripts: tuple[str, ...]
    """Packages with install scripts, which are run only on request."""
    args: list[str]
    env: dict[str, str]
    index_url: str
    pin: str = ""
    staging: Staging = field(repr=False, kw_only=True)
    resolved: Resolved | None = field(default=None, repr=False, kw_only=True)
    archive: Path | None = field(default=None, repr=False, kw_only=True)

    @property
    def directory(self) -> str:
        """The name of the directory, which is different for each source and digest."""
        key = "\n".join((self.kind, self.source, self.digest))
        return f"{self.version}-{hashlib.sha256(key.encode()).hexdigest()[:8]}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.staging.close()


def plan(
    entry: RegistryEntry,
    *,
    index_url: str,
    prefer: str = "",
    version: str = "",
    progress: Progress | None = None,
    allow_build: Callable[[str], bool] = lambda reason: False,
) -> InstallPlan:
    """Find out what would be installed; nothing of it is run, unless `allow_build` agrees.

    An archive without a digest in the index is downloaded, to show its actual digest. `allow_build` is asked
    when a package would have to be built, which runs code of it; it gets the reason.

    Raises:
        NeedsBuild: a package would have to be built, and `allow_build` did not agree.
        InstallError: the agent cannot be installed here, or the version is not available.
    """
    progress = progress or Quiet()
    kind = choose_kind(entry, prefer)
    staging = Staging(entry.id)
    try:
        if kind == "binary":
            return _plan_binary(entry, index_url, version, staging, progress)
        return _plan_package(entry, kind, index_url, version, staging, progress, allow_build)
    except BaseException:
        staging.close()
        raise


def _plan_binary(
    entry: RegistryEntry, index_url: str, version: str, staging: Staging, progress: Progress
) -> InstallPlan:
    if version and version != entry.version:
        raise InstallError(f"{entry.id} is a binary, of which there is only version {entry.version}")
    target = entry.binary[platform_key()]
    archive_format(target.archive)
    check_url(target.archive)
    if target.cmd not in _PATH_PROGRAMS:
        program_path(target.cmd)
    archive = None
    details: list[str] = []
    digest = target.sha256.lower()
    if not digest:
        archive = staging.path / "archive"
        progress.step(f"download {entry.id} {entry.version}")
        digest = download(target.archive, archive, progress)
        known_digest = _known_digests().get(target.archive)
        if known_digest is not None and known_digest != digest:
            raise InstallError(
                f"{target.archive} has changed: its sha256 was {known_digest}, and is {digest} now. "
                "An archive of a released version must not change; ask its authors what happened"
            )
        details.append("the index gives no digest; this one was computed, and must not change from now on")
    env, dropped = allowed_env(target.env)
    warnings = _env_warnings(dropped)
    if is_musl():
        warnings.append("this system has musl; most binaries need glibc")
    return InstallPlan(
        entry,
        "binary",
        entry.version,
        target.archive,
        f"sha256:{digest}",
        tuple(details),
        tuple(warnings),
        (),
        list(target.args),
        env,
        index_url,
        staging=staging,
        archive=archive,
    )


def _plan_package(
    entry: RegistryEntry,
    kind: Kind,
    index_url: str,
    version: str,
    staging: Staging,
    progress: Progress,
    allow_build: Callable[[str], bool],
) -> InstallPlan:
    package = entry.npx if kind == "npx" else entry.uvx
    assert isinstance(package, Package)
    spec = package.package
    if version:
        spec = f"{split_npm(spec)[0]}@{version}" if kind == "npx" else f"{split_pypi(spec)[0]}=={version}"
    resolve = resolve_npm if kind == "npx" else resolve_uv
    try:
        resolved = resolve(spec, staging.files, progress)
    except NeedsBuild as error:
        if not allow_build(str(error)):
            how = f"`acpella registry install {entry.id} --scripts` allows that"
            raise NeedsBuild(f"{error}. {how}; nothing was installed") from None
        resolved = resolve(spec, staging.files, progress, build=True)
    if version and resolved.version != version:
        raise InstallError(
            f"version {version} of {entry.id} cannot be had; the newest below is {resolved.version}"
        )
    env, dropped = allowed_env(package.env)
    return InstallPlan(
        entry,
        kind,
        resolved.version,
        resolved.source,
        resolved.digest,
        resolved.details,
        tuple(_env_warnings(dropped)),
        resolved.scripts,
        list(package.args),
        env,
        index_url,
        version,
        staging=staging,
        resolved=resolved,
    )


def _env_warnings(dropped: list[str]) -> list[str]:
    return [f"the index may not set {', '.join(dropped)}; left out"] if dropped else []


def install(
    planned: InstallPlan,
    *,
    progress: Progress | None = None,
    scripts: bool = False,
    check: bool = True,
    retry_with_scripts: Callable[[str], bool] = lambda reason: False,
) -> Installed:
    """Install what was planned, try it, and use it from now on.

    `retry_with_scripts` is asked when a package does not work without its install scripts.

    Raises:
        InstallError: it failed; the version that was used before still is.
    """
    progress = progress or Quiet()
    home = agent_home(planned.entry.id)
    place = home / planned.directory
    with lock_agent(planned.entry.id, progress):
        sweep(home)
        try:
            _build_and_try(planned, place, progress, scripts=scripts, check=check, retry=retry_with_scripts)
        except HandshakeFailed as error:
            raise _does_not_work(planned, home, error) from None
        selection = _selected(home, place.name, planned.pin)
        _select(home, selection)
        _prune(home, selection)
    _remember_digest(planned)  # its lock is that of an agent `digests`, which an index may well list
    installed = find_installed(planned.entry.id)
    assert installed is not None
    return installed


def _build_and_try(
    planned: InstallPlan,
    place: Path,
    progress: Progress,
    *,
    scripts: bool,
    check: bool,
    retry: Callable[[str], bool],
) -> None:
    """Put an agent in place, unless it is there already, and check that it answers."""
    receipt = read_receipt(place)
    fresh = receipt is None or (scripts and bool(planned.scripts) and not receipt.scripts)
    if fresh:
        _build(planned, place, progress, scripts=scripts)
    if not check:
        return
    progress.step(f"start {planned.entry.id} and greet it")
    receipt = read_receipt(place)
    assert receipt is not None
    try:
        server = Installed(place, receipt, Selection(current=place.name)).server
        greet([server.command, *server.args], server.env)
        return
    except TransportError as error:  # the program that runs it is missing
        failure = HandshakeFailed(str(error))
    except HandshakeFailed as error:
        failure = error
    if fresh:  # an agent that was there before is not deleted
        shutil.rmtree(place, ignore_errors=True)
    if not fresh or scripts or not planned.scripts or not retry(str(failure)):
        raise failure
    _plan_again(planned, progress)
    _build_and_try(planned, place, progress, scripts=True, check=True, retry=retry)


def _does_not_work(planned: InstallPlan, home: Path, error: HandshakeFailed) -> InstallError:
    current = read_selection(home)
    left = (
        "nothing was installed" if current is None else f"{current.current.rpartition('-')[0]} is still used"
    )
    more = ""
    if planned.scripts:
        more = f". Its install scripts ({', '.join(planned.scripts)}) were not run; --scripts runs them"
    return InstallError(f"{planned.entry.name} {planned.version} does not work; {left}: {error}{more}")


def _build(planned: InstallPlan, place: Path, progress: Progress, *, scripts: bool) -> None:
    staging = planned.staging
    runner, program, files, args = "", "", 0, list(planned.args)
    ran_code = scripts
    if planned.kind == "binary":
        runner, program, files, args = _build_binary(planned, progress)
    else:
        assert planned.resolved is not None
        ran_code = scripts or planned.resolved.builds
        if planned.kind == "npx":
            runner, program = install_npm(planned.resolved, staging.files, progress, scripts=scripts)
        else:
            runner, program = install_uv(planned.resolved, staging.files, progress)
        files = sum(len(names) for _, _, names in os.walk(staging.files))
    receipt = Receipt(
        id=planned.entry.id,
        name=planned.entry.name,
        version=planned.version,
        kind=planned.kind,
        source=planned.source,
        digest=planned.digest,
        runner=runner,
        program=program,
        args=args,
        env=planned.env,
        files=files,
        scripts=ran_code,
        installed_at=datetime.now(UTC).isoformat(timespec="seconds"),
        index_url=planned.index_url,
    )
    path = staging.path / "receipt.json"
    directories.write_private(path, msgspec.json.format(msgspec.json.encode(receipt)))
    with open(path, "rb") as file:
        os.fsync(file.fileno())
    if place.exists():  # but without a readable receipt
        shutil.rmtree(place)
    staging.move_to(place)


def _build_binary(planned: InstallPlan, progress: Progress) -> tuple[str, str, int, list[str]]:
    target: BinaryTarget = planned.entry.binary[platform_key()]
    staging = planned.staging
    archive = planned.archive
    if archive is None:
        archive = staging.path / "archive"
        progress.step(f"download {planned.entry.id} {planned.version}")
        digest = download(target.archive, archive, progress)
        if f"sha256:{digest}" != planned.digest:
            archive.unlink()
            raise InstallError(
                f"{target.archive} is not what the index says: its sha256 is {digest}, and should be "
                f"{planned.digest.removeprefix('sha256:')}. It was deleted, nothing was installed"
            )
    progress.step("unpack")
    try:
        files = unpack(archive, archive_format(target.archive), staging.files, cmd=target.cmd)
    except InstallError as error:
        raise type(error)(f"{target.archive} cannot be used: {error}; nothing was installed") from None
    archive.unlink()
    if target.cmd in _PATH_PROGRAMS:
        return target.cmd, "", files, [_inside(arg, staging, planned) for arg in target.args]
    program, exact = find_program(staging.files, program_path(target.cmd))
    if not exact:
        progress.step(f"{target.cmd} is not in the archive; {program} is taken instead")
    path = staging.files / program
    path.chmod(path.stat().st_mode | 0o500)
    return "", program, files, list(target.args)


def _inside(arg: str, staging: Staging, planned: InstallPlan) -> str:
    """The full path if an argument names a file of the archive: the agent is started somewhere else."""
    relative = arg.replace("\\", "/").removeprefix("./")
    if not relative or relative.startswith("/") or ".." in relative.split("/"):
        return arg
    if not (staging.files / relative).is_file():
        return arg
    return os.fspath(agent_home(planned.entry.id) / planned.directory / "files" / relative)


def _plan_again(planned: InstallPlan, progress: Progress) -> None:
    """Prepare a second attempt: the first one used up the staging directory. Raises `InstallError`."""
    planned.staging = Staging(planned.entry.id)
    again = resolve_npm(planned.source, planned.staging.files, progress, build=True)  # as scripts may run now
    if again.digest != planned.digest:
        raise InstallError(f"{planned.source} has changed meanwhile; nothing was installed")


# -- which version is used -----------------------------------------------------------------------------


def _selected(home: Path, name: str, pin: str) -> Selection:
    before = read_selection(home)
    if before is None:
        return Selection(current=name, pin=pin)
    if before.current == name:
        return Selection(current=name, previous=before.previous, pin=pin)
    return Selection(current=name, previous=before.current, pin=pin)


def _select(home: Path, selection: Selection) -> None:
    directories.write_private(home / "current.json", msgspec.json.encode(selection))


def _prune(home: Path, selection: Selection) -> None:
    """Delete versions that are neither used nor kept for rolling back, and of which nothing is running."""
    for path in home.iterdir():
        if path.name.startswith(".") or path.name in (selection.current, selection.previous):
            continue
        if path.is_dir() and not runs_below(path):
            shutil.rmtree(path, ignore_errors=True)


def roll_back(agent_id: str, *, progress: Progress | None = None) -> Installed:
    """Go back to the version that was used before. Raises `InstallError` if there is none."""
    with lock_agent(agent_id, progress or Quiet()):
        home = agent_home(agent_id)
        selection = read_selection(home)
        if selection is None:
            raise InstallError(f"{agent_id} is not installed")
        if not selection.previous or read_receipt(home / selection.previous) is None:
            raise InstallError(f"there is no earlier version of {agent_id} on this machine")
        _select(home, Selection(current=selection.previous, previous=selection.current, pin=selection.pin))
    installed = find_installed(agent_id)
    assert installed is not None
    return installed


def set_pin(agent_id: str, version: str, *, progress: Progress | None = None) -> None:
    """Pin an agent to a version, so that updates skip it; empty: unpin it. Raises `InstallError`."""
    with lock_agent(agent_id, progress or Quiet()):
        home = agent_home(agent_id)
        selection = read_selection(home)
        if selection is None:
            raise InstallError(f"{agent_id} is not installed")
        _select(home, Selection(current=selection.current, previous=selection.previous, pin=version))


def remove(agent_id: str, *, progress: Progress | None = None) -> None:
    """Delete an agent's files; its own settings and credentials are not touched. Raises `InstallError`."""
    home = agent_home(agent_id)
    with lock_agent(agent_id, progress or Quiet()):
        if find_installed(agent_id) is None and not home.is_dir():
            raise InstallError(f"{agent_id} is not installed")
        (home / "current.json").unlink(missing_ok=True)  # first: a half-deleted agent must not start
        sweep(home)
        for path in home.iterdir():
            if not path.name.startswith(".staging-"):
                shutil.rmtree(path, ignore_errors=True)
        try:
            home.rmdir()
        except OSError:
            pass  # another process is preparing an installation there


# -- digests that are not in the index -----------------------------------------------------------------


def _known_digests() -> dict[str, str]:
    try:
        return msgspec.json.decode((agents_directory() / "digests.json").read_bytes(), type=dict[str, str])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return {}


def _remember_digest(planned: InstallPlan) -> None:
    if planned.kind != "binary" or planned.entry.binary[platform_key()].sha256:
        return
    with lock_agent("digests", Quiet()):
        digests = {**_known_digests(), planned.source: planned.digest.removeprefix("sha256:")}
        directories.write_private(agents_directory() / "digests.json", msgspec.json.encode(digests))
