"""The index of the registry: its agents, read with tolerance for what is broken or new."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

from acpella.client.installed import Kind, is_agent_id

from .errors import InstallError, RegistryError
from .specs import split_npm, split_pypi

__all__ = [
    "KINDS",
    "PLATFORMS",
    "BinaryTarget",
    "Index",
    "Package",
    "RegistryEntry",
    "parse_entry",
    "parse_index",
]

KINDS: tuple[Kind, ...] = ("binary", "npx", "uvx")

PLATFORMS = tuple(
    f"{system}-{cpu}" for system in ("darwin", "linux", "windows") for cpu in ("aarch64", "x86_64")
)

_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")
_VERSION_CHARS = re.compile(r"[0-9A-Za-z.+_-]{1,100}")
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")


class Package(msgspec.Struct, frozen=True, kw_only=True):
    """An agent that a package manager installs."""

    package: str
    args: list[str] = []
    env: dict[str, str] = {}


class BinaryTarget(msgspec.Struct, frozen=True, kw_only=True):
    """An agent for one platform, in an archive."""

    archive: str
    cmd: str
    args: list[str] = []
    env: dict[str, str] = {}
    sha256: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryEntry:
    """One agent of the registry."""

    id: str
    name: str
    version: str
    description: str = ""
    authors: tuple[str, ...] = ()
    license: str = ""
    repository: str = ""
    website: str = ""
    npx: Package | None = None
    uvx: Package | None = None
    binary: Mapping[str, BinaryTarget] = field(default_factory=dict[str, BinaryTarget])
    """By platform."""
    raw: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    """The entry as it is in the index, including unknown fields."""

    @property
    def kinds(self) -> list[Kind]:
        """The ways in which it is distributed."""
        return [kind for kind in KINDS if getattr(self, kind)]


@dataclass(frozen=True, slots=True)
class Index:
    """What the registry lists."""

    entries: Mapping[str, RegistryEntry]
    """By id, in the order of the index."""
    warnings: tuple[str, ...] = ()
    """Which entries were left out, and why."""

    def search(self, words: str) -> list[RegistryEntry]:
        """The agents with every one of the words in id, name, description or authors."""
        terms = words.lower().split()
        return [entry for entry in self.entries.values() if all(word in _text(entry) for word in terms)]


def _text(entry: RegistryEntry) -> str:
    return " ".join((entry.id, entry.name, entry.description, *entry.authors)).lower()


def parse_index(data: bytes, title: str = "the index") -> Index:
    """Read an index. One bad entry does not hide the others (G-011). `title` names it in an error.

    Raises:
        RegistryError: this is not an index at all.
    """
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RegistryError(f"{title} is not JSON: {error}") from None
    agents: Any = cast("dict[str, Any]", value).get("agents") if isinstance(value, dict) else None
    if not isinstance(agents, list):
        raise RegistryError(f"{title} is not one of the ACP registry: it has no list `agents`")
    entries: dict[str, RegistryEntry] = {}
    warnings: list[str] = []
    for number, item in enumerate(cast("list[Any]", agents)):
        try:
            entry, notes = parse_entry(item)
        except ValueError as error:
            id = cast("dict[str, Any]", item).get("id") if isinstance(item, dict) else None
            warnings.append(f"{id if isinstance(id, str) else f'entry {number}'} is left out: {error}")
            continue
        if entry.id in entries:
            warnings.append(f"{entry.id} is listed twice; the first one counts")
            continue
        warnings += [f"{entry.id}: {note}" for note in notes]
        entries[entry.id] = entry
    return Index(entries, tuple(warnings))


def parse_entry(value: Any) -> tuple[RegistryEntry, list[str]]:
    """One entry, and what was left out of it. Raises `ValueError`, which says what is wrong."""
    if not isinstance(value, dict):
        raise ValueError("it is not an object")
    raw = cast("dict[str, Any]", value)
    text: dict[str, str] = {}
    for key in ("id", "name", "version", "description"):
        field_value: Any = raw.get(key)
        if not isinstance(field_value, str) or not field_value.strip():
            raise ValueError(f"{key} must be a text that is not empty")
        text[key] = field_value
    if not is_agent_id(text["id"]):
        raise ValueError("id must be of a-z, 0-9 and -, and begin with a letter")
    if not _VERSION.match(text["version"]) or not _VERSION_CHARS.fullmatch(text["version"]):
        raise ValueError(f"version {text['version']!r} does not begin with three numbers")
    distribution: Any = raw.get("distribution")
    if not isinstance(distribution, dict):
        raise ValueError("distribution must be an object")
    kinds, notes = _distribution(cast("dict[str, Any]", distribution))
    authors: Any = raw.get("authors")
    names = cast("list[Any]", authors) if isinstance(authors, list) else []
    optional = {key: raw.get(key) for key in ("license", "repository", "website")}
    return (
        RegistryEntry(
            **text,
            **{
                key: field_value if isinstance(field_value, str) else ""
                for key, field_value in optional.items()
            },
            **kinds,
            authors=tuple(name for name in names if isinstance(name, str)),
            raw=raw,
        ),
        notes,
    )


def _distribution(table: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The kinds that are known and sound, and a note for each that is not."""
    kinds: dict[str, Any] = {}
    notes: list[str] = []
    for kind, value in table.items():
        try:
            if kind == "binary":
                kinds[kind] = _targets(value, notes)
            elif kind in KINDS:
                kinds[kind] = _package(value, split_npm if kind == "npx" else split_pypi)
            else:
                notes.append(f"the distribution {kind!r} is not known here")
        except (msgspec.ValidationError, ValueError, InstallError) as error:
            notes.append(f"the distribution {kind} cannot be used: {error}")
    if not any(kinds.values()):
        raise ValueError("; ".join(notes) or "it has no distribution")
    return kinds, notes


def _package(value: Any, split: Callable[[str], tuple[str, str]]) -> Package:
    package = msgspec.convert(value, Package)
    split(package.package)
    _check_words(package.args, package.env)
    return package


def _targets(value: Any, notes: list[str]) -> dict[str, BinaryTarget]:
    targets: dict[str, BinaryTarget] = {}
    for platform, item in msgspec.convert(value, dict[str, Any]).items():
        if platform not in PLATFORMS:
            notes.append(f"the platform {platform!r} is not known here")
            continue
        try:
            target = msgspec.convert(item, BinaryTarget)
            if not target.cmd or not target.archive:
                raise ValueError("archive and cmd must not be empty")
            if target.sha256 and not _SHA256.fullmatch(target.sha256):
                raise ValueError("sha256 must be 64 hexadecimal digits")  # rather than install it unchecked
            _check_words([target.cmd, target.archive, *target.args], target.env)
        except (msgspec.ValidationError, ValueError) as error:
            notes.append(f"{platform} cannot be used: {error}")
            continue
        targets[platform] = target
    return targets


def _check_words(words: list[str], env: Mapping[str, str]) -> None:
    """Refuse now what cannot be passed to a program, instead of failing when the agent is started."""
    if any("\0" in word for word in (*words, *env, *env.values())):
        raise ValueError("a word has a null character in it")
    if any(not name or "=" in name for name in env):
        raise ValueError("a variable has no usable name")
