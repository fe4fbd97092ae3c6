"""Sessions that stay, with agents on the official SDKs."""

import shlex
import shutil
import sys
from pathlib import Path

import pytest
from cli_shell import Shell

TESTS = Path(__file__).parents[1]


def command(name: str) -> str:
    source = TESTS / "interop" / "peers" / name
    if source.suffix == ".py":
        pytest.importorskip("acp", reason="the official Python SDK is not installed; `make unit` installs it")
        return shlex.join([sys.executable, str(source)])
    node = shutil.which("node", path=str(Path(sys.executable).parent)) or shutil.which("node")
    packages = TESTS / "peers" / "node_modules"
    if node is None or not (packages / "@agentclientprotocol" / "sdk").is_dir():
        pytest.skip("the TypeScript peer is not installed; `make unit` installs it")
    copy = packages.parent / name  # Node looks for packages beside the program
    copy.write_bytes(source.read_bytes())
    return shlex.join([node, str(copy)])


@pytest.mark.parametrize("name", ["agent_official.py", "agent_typescript.mjs"])
def test_an_official_agent_stays_between_prompts(shell: Shell, name: str) -> None:
    assert shell("run", "-a", command(name), "-s", "work", "one two").stdout == "onetwo\n"
    pid = shell.address()["agent_pid"]
    assert shell("run", "-c", "three").stdout == "three\n"
    assert shell.address()["agent_pid"] == pid
