"""`acpella cluster status`: a look at the nodes, without being one."""

import json
import subprocess
import sys

import pytest

from acpella.sessions import PostgresStore
from postgres import PostgresServer

pytestmark = pytest.mark.anyio


def status(*words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "acpella", "cluster", "status", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


async def test_nodes_are_shown_by_name(postgres_server: PostgresServer, schema: str) -> None:
    dsn = f"{postgres_server.dsn()}&schema={schema}"
    assert status(dsn).returncode == 2  # nobody was there
    stores = [PostgresStore(dsn, node_name=name) for name in ("n2", "n1")]
    for store in stores:
        await store.open()
    shown = status(dsn)
    assert shown.returncode == 0, shown.stderr
    assert [line.split()[:2] for line in shown.stdout.splitlines()] == [
        ["node", "state"],
        ["n1", "alive"],
        ["n2", "alive"],
    ]
    nodes = json.loads(status(dsn, "--json").stdout)
    assert [(node["name"], node["alive"], node["sessions"]) for node in nodes] == [
        ("n1", True, 0),
        ("n2", True, 0),
    ]
    for store in stores:
        await store.close()
    assert status(dsn).stdout == "no node has this store open\n"


@pytest.mark.parametrize(
    "given", ["sessions.db", "env:NOT_SET_ANYWHERE", "postgresql://nobody:pw@127.0.0.1:1/x"]
)
def test_what_is_wrong_is_said_without_the_password(given: str) -> None:
    told = status(given)
    assert told.returncode == 2
    assert told.stderr.startswith("acpella: ") and "pw" not in told.stderr.replace("acpella", "")
