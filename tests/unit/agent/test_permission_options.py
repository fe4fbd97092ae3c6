"""What a question of permission offers, and under what name its answer is kept."""

import os
from pathlib import Path

from acpella.agent.questions import decision_owner, permission_options


def test_the_lasting_answers_say_what_they_cover() -> None:
    names = [option.name for option in permission_options("ls", everywhere=False)]
    assert names == ["Allow", "Always allow ls in this project", "Reject", "Always reject ls in this project"]
    names = [option.name for option in permission_options(None, everywhere=True)]
    assert names == ["Allow", "Always allow in every project", "Reject", "Always reject in every project"]


def test_each_option_is_found_again_by_its_id() -> None:
    options = permission_options("ls", everywhere=True)
    assert [option.option_id for option in options] == [option.kind for option in options]


def test_each_user_and_each_project_decides_alone(tmp_path: Path) -> None:
    assert decision_owner("fixer", "", None) == "fixer"
    assert decision_owner("fixer", "alice", None) == "fixer for alice"
    assert decision_owner("fixer", "alice", tmp_path) == f"fixer for alice in {os.path.realpath(tmp_path)}"


def test_a_link_to_a_project_is_the_project(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    link = tmp_path / "link"
    link.symlink_to(project)
    assert decision_owner("fixer", "", link) == decision_owner("fixer", "", project)
