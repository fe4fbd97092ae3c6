"""The file of sessions: many writers, damage, bounds."""

import subprocess
import sys
from pathlib import Path

import pytest
from cli_shell import EXAMPLES, Shell

from acpella.cli.state import catalogue as module
from acpella.cli.state.catalogue import Catalogue, SessionEntry

ADDING = """
import sys
from pathlib import Path
from acpella.cli.state.catalogue import Catalogue, SessionEntry

catalogue = Catalogue(Path(sys.argv[1]))
for number in range(25):
    name = f"{sys.argv[2]}-{number}"
    catalogue.add(SessionEntry(key=name, root="/r", cwd="/r", agent="a", session_id=name))
    catalogue.update(name, title="t")
"""


def entry(key: str, **values: str) -> SessionEntry:
    return SessionEntry(key=key, root="/r", cwd="/r", agent="a", session_id=key, **values)


def test_many_processes_write_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "state" / "sessions.json"
    writers = [subprocess.Popen([sys.executable, "-c", ADDING, str(path), str(n)]) for n in range(6)]
    assert [writer.wait(timeout=60) for writer in writers] == [0] * 6
    entries = Catalogue(path).entries()
    assert len(entries) == 150 and {e.title for e in entries} == {"t"}
    assert path.stat().st_mode & 0o777 == 0o600
    assert [p.name for p in path.parent.iterdir() if p.name.startswith(".sessions")] == []


def test_a_name_is_given_once(tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path / "s.json")
    assert catalogue.add(entry("one", name="work")).key == "one"
    assert catalogue.add(entry("two", name="work")).key == "one"


def test_the_longest_unused_sessions_without_a_name_go_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_ENTRIES", 3)
    catalogue = Catalogue(tmp_path / "s.json")
    for number, name in enumerate(["old but named", "", "", "", ""]):
        catalogue.add(entry(f"k{number}", name=name, updated_at=f"2026-01-0{number + 1}T00:00:00Z"))
    assert [e.key for e in catalogue.entries()] == ["k4", "k3", "k0"]


@pytest.mark.parametrize("damage", ["", "{", '{"sessions": 5}', "\x00\xff", '{"sessions": [{"key": 1}]}'])
def test_a_damaged_file_is_set_aside_with_a_warning(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "sessions.json"
    path.write_bytes(damage.encode("latin-1"))
    warnings: list[str] = []
    catalogue = Catalogue(path, warn=warnings.append)
    assert catalogue.entries() == []
    assert "is damaged" in warnings[0]
    catalogue.add(entry("k"))
    assert [e.key for e in catalogue.entries()] == ["k"]
    (aside,) = tmp_path.glob("sessions.broken-*.json")
    assert aside.read_bytes() == damage.encode("latin-1") and aside.name in warnings[-1]


def test_a_damaged_file_does_not_stop_a_prompt(shell: Shell) -> None:
    shell.state.mkdir(parents=True)
    (shell.state / "sessions.json").write_text("not JSON", encoding="utf-8")
    ran = shell("run", "-a", str(EXAMPLES / "echo.py"), "hi")
    assert (ran.returncode, ran.stdout) == (0, "You said: hi\n")
    assert "set aside" in ran.stderr
    assert shell("run", "-a", str(EXAMPLES / "echo.py"), "hi").stderr == ""


def test_where_nothing_can_be_written_single_prompts_still_work(shell: Shell) -> None:
    shell.state.parent.parent.mkdir(exist_ok=True)
    shell.state.parent.write_text("a file, not a directory", encoding="utf-8")  # holds for root, too
    ran = shell("run", "-a", str(EXAMPLES / "echo.py"), "hi")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "You said: hi\n", "")
    ran = shell("run", "-a", str(EXAMPLES / "echo.py"), "-s", "x", "hi")
    assert ran.returncode == 2 and "sessions cannot be remembered" in ran.stderr
    assert shell("status").returncode == 0
