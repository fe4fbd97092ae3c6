"""The variables that count: one list, from whoever reads them."""

import re
from pathlib import Path

import pytest

from acpella.cli import environment

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "reference" / "environment.md"


def test_the_names_that_commands_check_are_those_that_are_declared() -> None:
    names = [variable.name for variable in environment.every_variable()]
    own = sorted(name for name in names if not name.startswith(environment.SERVER))
    assert sorted(environment.NAMES) == own and len(set(names)) == len(names)


def test_every_variable_that_the_code_names_is_declared() -> None:
    declared = {variable.name for variable in environment.every_variable()}
    read = {
        name
        for path in (ROOT / "src").rglob("*.py")
        for name in re.findall(r"\"(ACPELLA_[A-Z_]+[A-Z])\"", path.read_text(encoding="utf-8"))
    }
    assert read - declared == set()


def test_every_variable_says_what_it_does() -> None:
    for variable in environment.every_variable():
        assert variable.about and variable.kind, variable
        assert variable.about.split()[0] not in ("After", "Between", "For", "That"), variable


@pytest.mark.parametrize(
    "name, kind",
    [
        ("ACPELLA_SERVER_REQUESTS_PER_SECOND", "number"),
        ("ACPELLA_SERVER_DRAIN_SECONDS", "seconds"),
        ("ACPELLA_TERMINAL_TIMEOUT", "seconds"),
        ("ACPELLA_SERVER_MAX_BODY", "bytes"),
        ("ACPELLA_SERVER_MAX_SESSIONS", "number"),
        ("ACPELLA_SERVER_RECORD", "path"),
        ("ACPELLA_SERVER_FINISH_TURNS", "1 or 0"),
    ],
)
def test_a_variable_says_what_it_holds(name: str, kind: str) -> None:
    assert next(v.kind for v in environment.every_variable() if v.name == name) == kind


def test_the_page_is_what_the_code_says() -> None:
    """Written by `make reference`."""
    assert PAGE.read_text(encoding="utf-8") == environment.environment_page()


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("ACPELLA_MAX_STORED_SESSIONS", None),
        ("ACPELLA_MAX_SESIONS", "ACPELLA_MAX_SESSIONS"),
        ("ACPELLA_SERVER_MAX_PROMPTS", None),
        ("ACPELLA_SOMETHING_ELSE", None),
    ],
)
def test_a_slip_is_noticed(name: str, meant: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.environ", {name: "3", "HOME": "/"})
    assert environment.find_misspelt() == ([] if meant is None else [(name, meant)])
