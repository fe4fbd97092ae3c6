"""What the registry requires before it lists an entry: `agent.json` and `icon.svg` in a directory."""

import re
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import msgspec

from .download import Quiet, reach
from .entries import PLATFORMS, RegistryEntry, parse_entry
from .errors import InstallError, RegistryError
from .packages import NeedsBuild, resolve_npm, resolve_uv
from .platforms import find_tool
from .specs import split_npm, split_pypi
from .unpack import archive_format

__all__ = ["SubmissionFinding", "check_directory", "check_icon"]

LARGEST_FILE = 1024 * 1024
"""Bytes of an entry or an icon; both have a few thousand."""

_IN_URL = re.compile(r"/(?:download|releases)/(?:[^/]+/)*?v?([0-9]+\.[0-9]+\.[0-9]+[^/]*)/")
_COLOURS = ("currentColor", "none", "inherit")
_PAINT = re.compile(r"(?:fill|stroke)\s*:\s*([^;}\s]+)")


class SubmissionFinding(NamedTuple):
    """The result of one rule."""

    level: Literal["ok", "warning", "error"]
    text: str


def check_directory(directory: Path, *, online: bool = False) -> list[SubmissionFinding]:
    """Apply the rules to an entry; with `online`, also check that what it names exists.

    Raises `OSError` if nothing can be read there.
    """
    findings: list[SubmissionFinding] = []
    try:
        value: Any = msgspec.json.decode(_read(directory / "agent.json"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return [SubmissionFinding("error", f"agent.json is not JSON: {error}")]
    try:
        entry, notes = parse_entry(value)
    except ValueError as error:
        return [SubmissionFinding("error", f"agent.json: {error}")]
    findings += [SubmissionFinding("error", f"agent.json: {note}") for note in notes]
    findings += [SubmissionFinding("error", f"agent.json: {text}") for text in _unknown(entry.raw)]
    if entry.id != directory.resolve().name:
        text = f"the id {entry.id!r} must be the name of the directory, {directory.resolve().name!r}"
        findings.append(SubmissionFinding("error", text))
    findings += _versions(entry)
    findings += _binaries(entry)
    icon = directory / "icon.svg"
    if icon.is_file():
        findings += [SubmissionFinding("error", f"icon.svg: {text}") for text in check_icon(_read(icon))]
    else:
        findings.append(SubmissionFinding("error", "icon.svg is missing: 16x16, in currentColor"))
    if not any(finding.level == "error" for finding in findings):
        findings.insert(0, SubmissionFinding("ok", f"agent.json and icon.svg of {entry.id} keep the rules"))
    if online:
        findings += _archives_there(entry) + _packages_there(entry)
    return findings


def _archives_there(entry: RegistryEntry) -> list[SubmissionFinding]:
    findings: list[SubmissionFinding] = []
    for url in dict.fromkeys(target.archive for target in entry.binary.values()):
        try:
            reach(url)
        except RegistryError as error:
            findings.append(SubmissionFinding("error", str(error)))
    if entry.binary and not findings:
        findings.append(SubmissionFinding("ok", "every archive is there"))
    return findings


def _packages_there(entry: RegistryEntry) -> list[SubmissionFinding]:
    findings: list[SubmissionFinding] = []
    for tool, package, resolve in (("npm", entry.npx, resolve_npm), ("uv", entry.uvx, resolve_uv)):
        if package is None:
            continue
        if find_tool(tool) is None:
            findings.append(
                SubmissionFinding(
                    "warning", f"{tool} is not installed, so {package.package} was not looked up"
                )
            )
            continue
        with tempfile.TemporaryDirectory(prefix="acpella-check-") as place:
            try:
                resolved = resolve(package.package, Path(place), Quiet())
            except NeedsBuild as error:
                findings.append(SubmissionFinding("warning", f"{error}; it was not looked up"))
                continue
            except InstallError as error:
                findings.append(SubmissionFinding("error", str(error)))
                continue
        if resolved.version != entry.version:
            text = f"{package.package} is not to be had; the newest is {resolved.version}"
            findings.append(SubmissionFinding("error", text))
        else:
            findings.append(SubmissionFinding("ok", f"{package.package} is there"))
    return findings


def _read(path: Path) -> bytes:
    with open(path, "rb") as file:
        data = file.read(LARGEST_FILE + 1)
    if len(data) > LARGEST_FILE:
        raise InstallError(f"{path} is larger than {LARGEST_FILE} bytes")
    return data


def _unknown(raw: Any) -> list[str]:
    """Keys that the schema of an entry does not allow."""
    problems: list[str] = []
    distribution = cast("dict[str, Any]", raw["distribution"])
    package = {"package", "args", "env"}
    tables: list[tuple[str, Any, set[str]]] = [
        (f"distribution.{kind}.", distribution.get(kind), package) for kind in ("npx", "uvx")
    ]
    binary: Any = distribution.get("binary")
    if isinstance(binary, dict):
        for platform, target in cast("dict[str, Any]", binary).items():
            keys = {"archive", "cmd", "args", "env", "sha256"}
            tables.append((f"distribution.binary.{platform}.", target, keys))
    for where, table, field_names in tables:
        if isinstance(table, dict):
            problems += [
                f"{where}{key} is not a field"
                for key in cast("dict[str, Any]", table)
                if key not in field_names
            ]
    return problems


def _versions(entry: RegistryEntry) -> list[SubmissionFinding]:
    findings: list[SubmissionFinding] = []

    def compare(where: str, version: str) -> None:
        if version and version != entry.version:
            findings.append(
                SubmissionFinding("error", f"{where} has version {version}, the entry {entry.version}")
            )

    for kind, package, split in (("npx", entry.npx, split_npm), ("uvx", entry.uvx, split_pypi)):
        if package is None:
            continue
        _, version = split(package.package)
        if not version:
            findings.append(SubmissionFinding("error", f"{kind}: {package.package} must name its version"))
        else:
            compare(f"{kind}: {package.package}", version)
    for platform, target in entry.binary.items():
        if "/latest/" in target.archive:
            findings.append(
                SubmissionFinding("error", f"{platform}: an archive of `latest` changes; name a version")
            )
        elif match := _IN_URL.search(target.archive):
            compare(f"{platform}: {target.archive}", match[1])
    return findings


def _binaries(entry: RegistryEntry) -> list[SubmissionFinding]:
    findings: list[SubmissionFinding] = []
    for platform, target in entry.binary.items():
        try:
            archive_format(target.archive)
        except InstallError as error:
            findings.append(SubmissionFinding("error", f"{platform}: {error}"))
        if not target.sha256:
            findings.append(
                SubmissionFinding("warning", f"{platform}: without sha256 nobody can check the archive")
            )
    if entry.binary:
        systems = {platform.partition("-")[0] for platform in entry.binary}
        missing = sorted({platform.partition("-")[0] for platform in PLATFORMS} - systems)
        if missing:
            findings.append(SubmissionFinding("warning", f"there is no binary for {', '.join(missing)}"))
    return findings


def check_icon(data: bytes) -> list[str]:
    """What is wrong with an icon."""
    if b"<!--" in data:
        return ["comments are not allowed"]
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:  # entities can grow without end
        return ["a document type is not allowed"]
    try:
        root = ET.fromstring(data)
    except (ET.ParseError, ValueError, RecursionError) as error:
        return [f"it is not XML: {error}"]
    if root.tag.rpartition("}")[2] != "svg":
        return ["its root is not svg"]
    wrong: list[str] = []
    size = (root.get("width"), root.get("height"))
    if size == (None, None):
        box = (root.get("viewBox") or "").replace(",", " ").split()
        size = (box[2], box[3]) if len(box) == 4 else ("", "")
    if [str(side).removesuffix("px") for side in size] != ["16", "16"]:
        wrong.append("it must be 16x16")
    paints: list[str] = []
    for element in root.iter():
        paints += [value.strip() for name in ("fill", "stroke") if (value := element.get(name)) is not None]
        paints += _PAINT.findall(element.get("style") or "")
        if element.tag.rpartition("}")[2] == "style":
            paints += _PAINT.findall(element.text or "")
    if others := sorted({paint for paint in paints if paint not in _COLOURS}):
        wrong.append(f"only currentColor, none and inherit are allowed as colours, not {', '.join(others)}")
    if "currentColor" not in paints:
        wrong.append("currentColor must be used at least once")
    return wrong
