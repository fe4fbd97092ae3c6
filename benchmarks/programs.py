"""The programs that the benchmarks pair up: where each SDK is found, or why it is not there."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
PEERS = Path(__file__).resolve().parent / "peers"

ACPELLA = "acpella"
PYTHON_SDK = "python-sdk"
TYPESCRIPT_SDK = "typescript-sdk"
RAW = "raw"

NODE_MODULES_VARIABLE = "ACPELLA_PEER_NODE_MODULES"
PYTHON_VARIABLE = "ACPELLA_PEER_PYTHON"


@dataclass(frozen=True, slots=True)
class Program:
    """One SDK's client and agent as commands; `missing` says why they cannot run."""

    name: str
    interpreter: str
    client: tuple[str, ...]
    agent: tuple[str, ...]
    version: str = ""
    missing: str = ""


def environment() -> dict[str, str]:
    """What every program runs with: this tree's acpella, the TypeScript SDK's folder, bytecode caches."""
    paths = [str(REPOSITORY / "src"), os.environ.get("PYTHONPATH", "")]
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        NODE_MODULES_VARIABLE: _node_modules(),
    }
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # a start that compiles everything anew is nobody's start
    return env


@cache
def programs() -> Mapping[str, Program]:
    """All programs by name."""
    found = (_acpella(), _python_sdk(), _typescript_sdk(), _raw())
    return {program.name: program for program in found}


def _acpella() -> Program:
    version, missing = _ask(
        sys.executable, "import acpella.rpc, acpella.schema.methods, acpella.transport; print('src')"
    )
    return _python_program(ACPELLA, sys.executable, "client_acpella.py", "agent_acpella.py", version, missing)


def _python_sdk() -> Program:
    python = os.environ.get(PYTHON_VARIABLE, sys.executable)
    code = "import acp, importlib.metadata; print(importlib.metadata.version('agent-client-protocol'))"
    version, missing = _ask(python, code)
    if missing:
        missing += f"; install agent-client-protocol, or name its Python in {PYTHON_VARIABLE}"
    return _python_program(PYTHON_SDK, python, "client_official.py", "agent_official.py", version, missing)


def _raw() -> Program:
    missing = "" if importlib.util.find_spec("msgspec") else "No module named 'msgspec'"
    return _python_program(RAW, sys.executable, "raw_client.py", "raw_agent.py", "", missing)


def _typescript_sdk() -> Program:
    node = shutil.which("node") or ""
    manifest = Path(_node_modules(), "@agentclientprotocol", "sdk", "package.json")
    version = missing = ""
    if not node:
        missing = "no node on the PATH"
    elif not manifest.exists():
        missing = (
            f"no @agentclientprotocol/sdk in {_node_modules()}; name its folder in {NODE_MODULES_VARIABLE}"
        )
    else:
        version = json.loads(manifest.read_text(encoding="utf-8"))["version"]
    client, agent = (str(PEERS / name) for name in ("client_typescript.mjs", "agent_typescript.mjs"))
    return Program(TYPESCRIPT_SDK, node, (node, client), (node, agent), version, missing)


def _python_program(name: str, python: str, client: str, agent: str, version: str, missing: str) -> Program:
    return Program(
        name, python, (python, str(PEERS / client)), (python, str(PEERS / agent)), version, missing
    )


def _node_modules() -> str:
    return os.environ.get(NODE_MODULES_VARIABLE) or str(REPOSITORY / "tests" / "peers" / "node_modules")


def _ask(python: str, code: str) -> tuple[str, str]:
    """What the code prints, and the last line of its error if it fails."""
    try:
        asked = subprocess.run([python, "-c", code], capture_output=True, encoding="utf-8", env=environment())
    except OSError as error:
        return "", str(error)
    if asked.returncode == 0:
        return asked.stdout.strip(), ""
    lines = asked.stderr.strip().splitlines()
    return "", lines[-1].removeprefix("ModuleNotFoundError: ") if lines else f"exit code {asked.returncode}"
