"""The index: which command an entry becomes, and what is left out of a broken one."""

import json
from pathlib import Path
from typing import Any

import pytest
from loopback import entry

from acpella.client.known_agents import KNOWN_AGENTS
from acpella.registry.entries import PLATFORMS, parse_index
from acpella.registry.errors import InstallError, RegistryError
from acpella.registry.platforms import choose_kind, platform_key
from acpella.registry.specs import split_npm, split_pypi
from acpella.registry.unpack import archive_format, program_path
from acpella.registry.variables import allowed_env

PUBLISHED = Path(__file__).parents[3] / "shared" / "registry" / "registry.json"


def index_of(*entries: Any, **more: Any) -> Any:
    return parse_index(json.dumps({"version": "1.0.0", "agents": entries, **more}).encode())


@pytest.mark.skipif(
    not PUBLISHED.is_file(), reason="needs a copy of the published index in ../shared/registry"
)
def test_every_published_entry_becomes_a_command() -> None:
    index = parse_index(PUBLISHED.read_bytes())
    assert len(index.entries) == 41 and not index.warnings
    for found in index.entries.values():
        assert found.kinds
        for platform, target in found.binary.items():
            assert platform in PLATFORMS
            assert archive_format(target.archive) in ("zip", "gz", "bz2", "file")
            assert "\\" not in program_path(target.cmd)
        if found.npx is not None:
            assert split_npm(found.npx.package)[1] == found.version
        if found.uvx is not None:
            assert split_pypi(found.uvx.package)[1] == found.version
    assert (
        program_path(index.entries["cursor"].binary["windows-x86_64"].cmd) == "dist-package/cursor-agent.cmd"
    )
    assert {agent.id for agent in KNOWN_AGENTS} <= index.entries.keys()


def test_one_bad_entry_does_not_hide_the_others() -> None:
    package = {"package": "x@1.0.0"}
    index = index_of(
        entry("good", npx=package),
        {"id": "no-name"},
        "nonsense",
        entry("Upper", npx=package),
        entry("odd-version", "latest", npx=package),
        entry("nothing"),
        entry("good", npx=package),
        entry("newer", npx={**package, "unknown": 1}, snap={"name": "x"}),
        entry("future", snap={"name": "x"}),
        entry("other-platform", binary={"plan9-mips": {"archive": "https://a.example/x", "cmd": "x"}}),
        entry("half", npx=package, binary={"linux-x86_64": {"archive": "https://a.example/x"}}),
        entry(
            "weak", binary={"linux-x86_64": {"archive": "https://a.example/x", "cmd": "x", "sha256": "12"}}
        ),
        entry("option", npx={"package": "--globalconfig=/tmp/evil"}),
        unknown_top=True,
    )
    assert list(index.entries) == ["good", "newer", "half"]
    warnings = "\n".join(index.warnings)
    for name in (
        "no-name",
        "entry 2",
        "Upper",
        "odd-version",
        "nothing",
        "future",
        "other-platform",
        "option",
    ):
        assert f"{name} is left out" in warnings, name
    assert "good is listed twice" in warnings
    assert "newer: the distribution 'snap' is not known here" in warnings
    assert "weak is left out" in warnings and "sha256 must be 64" in warnings
    assert index.entries["newer"].raw["distribution"]["snap"] == {"name": "x"}


@pytest.mark.parametrize("data", [b"", b"<html>", b"[]", b'{"agents": {}}', b"\xff\xfe", b'{"agents": null}'])
def test_what_is_no_index_is_refused(data: bytes) -> None:
    with pytest.raises(RegistryError):
        parse_index(data)


@pytest.mark.parametrize(
    "system, machine, key",
    [
        ("Linux", "x86_64", "linux-x86_64"),
        ("Darwin", "arm64", "darwin-aarch64"),
        ("Windows", "AMD64", "windows-x86_64"),
        ("Linux", "aarch64", "linux-aarch64"),
        ("Linux", "riscv64", ""),
        ("FreeBSD", "amd64", ""),
    ],
)
def test_platforms_have_the_names_of_the_registry(system: str, machine: str, key: str) -> None:
    assert platform_key(system, machine) == key


def test_the_first_kind_that_works_here_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    archive = {"archive": "https://a.example/x.zip", "cmd": "x"}
    index = index_of(
        entry(
            "all", npx={"package": "x@1.0.0"}, uvx={"package": "x==1.0.0"}, binary={"linux-x86_64": archive}
        )
    )
    found = index.entries["all"]
    tools: list[str] = []
    monkeypatch.setattr("acpella.registry.platforms.find_tool", lambda name: name if name in tools else None)
    assert choose_kind(found, key="linux-x86_64") == "binary"
    with pytest.raises(
        InstallError, match="no binary for darwin-x86_64; uv is missing.*Node.js with npm is missing"
    ):
        choose_kind(found, key="darwin-x86_64")
    tools.append("npm")
    assert choose_kind(found, key="darwin-x86_64") == "npx"
    tools.append("uv")
    assert choose_kind(found, key="darwin-x86_64") == "uvx"
    assert choose_kind(found, "npx", key="linux-x86_64") == "npx"


def test_an_index_cannot_steer_what_starts_the_agent() -> None:
    env = {
        "TINY": "1",
        "PATH": "/evil",
        "LD_PRELOAD": "x",
        "node_options": "--require x",
        "PYTHONPATH": "x",
        "SSL_CERT_FILE": "x",
        "https_proxy": "x",
        "AWS_PROFILE": "x",
        "RUBYOPT": "-rx",
        "JAVA_TOOL_OPTIONS": "-javaagent:x",
        "_JAVA_OPTIONS": "-javaagent:x",
        "JDK_JAVA_OPTIONS": "-javaagent:x",
        "CLASSPATH": "x",
        "PERL5OPT": "-Mx",
        "OPENSSL_CONF": "x",
        "GCONV_PATH": "x",
        "MODEL_HOME": "kept",
    }
    allowed, dropped = allowed_env(env)
    assert allowed == {"TINY": "1", "MODEL_HOME": "kept"}
    assert len(dropped) == 15


def test_package_specs_are_split_at_their_version() -> None:
    assert split_npm("@scope/name@1.2.3") == ("@scope/name", "1.2.3")
    assert split_npm("@scope/name") == ("@scope/name", "")
    assert split_npm("name@1.2.3") == ("name", "1.2.3")
    assert split_pypi("name==1.2.3") == split_pypi("name@1.2.3") == ("name", "1.2.3")
    assert split_pypi("name[extra]==1") == ("name[extra]", "1")
    assert split_npm("name@latest") == split_pypi("name@latest") == ("name", "")


NOT_A_PACKAGE = [
    *("", "-g@1.0.0", "--prefix=/tmp/x@1.0.0", "-r evil.txt", "../x@1.0.0", "./x@1.2.3", "/tmp/x", "..", "."),
    *(
        "file:x@1.0.0",
        "x@file:/tmp/x",
        "x@npm:evil@1.0.0",
        "x@https://evil.example/x.tgz",
        "x@../y",
        "x@1.0.0\n",
    ),
    *(
        "git+https://evil.example/x.git@1.0.0",
        "x@git+file:///tmp/x",
        "user/repo",
        "user/repo@1.2.3",
        "x#1.0.0",
    ),
    *(
        "@a/../../b@1.0.0",
        "@a/b/c@1.0.0",
        "@a",
        "@/b",
        "x@1.0.0 y@1",
        "x@>=1",
        "x@*",
        "x@1.0.0 - 2",
        "x@next",
    ),
    *("x y", "x@", "x@@1.0.0", "\u202ex@1.0.0", "C:\\x@1.0.0"),
]
ONLY_NPM = [
    "evil.tgz",
    "evil.tar.gz@1.0.0",
    "x@1.0.0-a.tgz",
    "x@1.0.0-a.TAR",
    "x==1.0.0",
    "x[a]@1.0.0",
    "x@1",
]
ONLY_PYPI = [
    *("x @ https://evil.example/x.whl", "x==1.0.0; import os", "x==1.0.0 --hash=sha256:0", "x==1.0.0#egg"),
    *("x==1.0.0\n-i https://evil.example", "--index-url=https://evil.example/==1", "x==1.*", "x>=1", "x===1"),
    *("x==1,<2", "x[a]@file:///tmp/x", "@scope/x@1.0.0", "x==", "x[a"),
]


@pytest.mark.parametrize(
    "kind, spec",
    [
        *(("npx", spec) for spec in NOT_A_PACKAGE + ONLY_NPM),
        *(("uvx", spec) for spec in NOT_A_PACKAGE + ONLY_PYPI),
    ],
)
def test_what_is_not_a_package_of_npm_or_pypi_is_left_out(kind: str, spec: str) -> None:
    distribution: dict[str, Any] = {kind: {"package": spec}}
    index = index_of(entry("evil", **distribution))
    assert not index.entries
    assert f"the distribution {kind} cannot be used" in index.warnings[0]
    assert "is not the name of a package" in index.warnings[0]


@pytest.mark.parametrize(
    "kind, spec, name, version",
    [
        (
            "npx",
            "@agentclientprotocol/claude-agent-acp@0.70.0",
            "@agentclientprotocol/claude-agent-acp",
            "0.70.0",
        ),
        ("npx", "@google/gemini-cli@0.64.0-preview.2", "@google/gemini-cli", "0.64.0-preview.2"),
        (
            "npx",
            "@google/gemini-cli@0.64.0-nightly.20260727.g1+b.2",
            "@google/gemini-cli",
            "0.64.0-nightly.20260727.g1+b.2",
        ),
        ("npx", "@-a/B_c.d@latest", "@-a/B_c.d", ""),
        ("npx", "dimcode", "dimcode", ""),
        ("uvx", "fast-agent-acp==0.10.1", "fast-agent-acp", "0.10.1"),
        ("uvx", "agentao@0.5.10", "agentao", "0.5.10"),
        ("uvx", "hermes-agent[acp]==0.18.0", "hermes-agent[acp]", "0.18.0"),
        ("uvx", "x[a,b]==1!2.0.0rc1.post2+local.3", "x[a,b]", "1!2.0.0rc1.post2+local.3"),
        ("uvx", "package-name", "package-name", ""),
    ],
)
def test_packages_as_registries_name_them_are_taken(kind: str, spec: str, name: str, version: str) -> None:
    distribution: dict[str, Any] = {kind: {"package": spec}}
    assert index_of(entry("good", **distribution)).entries["good"].kinds == [kind]
    split = split_npm if kind == "npx" else split_pypi
    assert split(spec) == (name, version)


@pytest.mark.parametrize("cmd", ["/bin/sh", "../x", "a/../../x", "C:\\x.exe", "\\\\server\\x", ""])
def test_a_command_outside_the_agents_files_is_refused(cmd: str) -> None:
    with pytest.raises(InstallError):
        program_path(cmd)


@pytest.mark.parametrize("ending", [".dmg", ".pkg", ".deb", ".rpm", ".msi", ".AppImage"])
def test_installers_are_refused(ending: str) -> None:
    with pytest.raises(InstallError, match="installer"):
        archive_format(f"https://a.example/agent{ending}?x=1")
