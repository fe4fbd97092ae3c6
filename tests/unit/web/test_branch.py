"""The branch that a page shows beside the directory."""

import os
import subprocess
from pathlib import Path

from acpella.web.shared.branch import branch_of


def git(*words: str, cwd: Path) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run(["git", *who, *words], cwd=cwd, check=True, capture_output=True, timeout=60)


def test_the_branch_of_a_directory_a_worktree_and_nothing(tmp_path: Path) -> None:
    home = tmp_path / "shop"
    (home / "src" / "deep").mkdir(parents=True)
    assert branch_of(str(home)) == ""
    git("init", "-q", "-b", "fix/rounding", cwd=home)
    assert branch_of(str(home / "src" / "deep")) == "fix/rounding"
    git("commit", "-q", "--allow-empty", "-m", "first", cwd=home)
    git("worktree", "add", "-q", "-b", "other", str(tmp_path / "second"), cwd=home)
    assert branch_of(str(tmp_path / "second")) == "other"
    git("checkout", "-q", "--detach", cwd=home)
    assert branch_of(str(home)) == ""
    (home / ".git" / "HEAD").write_bytes(b"\xff\xfe")
    assert branch_of(str(home)) == ""
    assert branch_of("") == "" and branch_of("\0") == ""


def test_a_pipe_in_the_place_of_a_file_holds_up_nobody(tmp_path: Path) -> None:
    """It would hang the server for everybody: an agent, or an unpacked archive, can put it there."""
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / ".git" / "HEAD")
    assert branch_of(str(tmp_path)) == ""
    (tmp_path / ".git" / "HEAD").unlink()
    (tmp_path / ".git" / "HEAD").symlink_to("/dev/zero")
    assert branch_of(str(tmp_path)) == ""
