"""Files are listed, and nothing that the listed repository names is run."""

import subprocess
from pathlib import Path

from acpella.local.listing import ListedFiles


def git(project: Path, *words: str) -> str:
    named = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.com"]
    done = subprocess.run(["git", *named, *words], cwd=project, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_files_that_git_ignores_are_left_out(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / ".gitignore").write_text("built\n", encoding="utf-8")
    for name in ("built", "source.py"):
        (tmp_path / name).touch()
    assert sorted(ListedFiles(tmp_path).names()) == [".gitignore", "source.py"]


def test_listing_an_unpacked_repository_runs_none_of_its_programs(tmp_path: Path) -> None:
    """Its `.git/config` names a file watcher, and a program to fetch an object with that is missing."""
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "-q")
    (project / "inner").mkdir()
    (project / "inner" / ".gitignore").write_text("built\n", encoding="utf-8")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "all")
    git(project, "update-index", "--skip-worktree", "inner/.gitignore")
    digest = git(project, "rev-parse", ":inner/.gitignore")
    (project / ".git" / "objects" / digest[:2] / digest[2:]).unlink()
    (project / "inner" / ".gitignore").unlink()
    (project / "inner" / "other").touch()
    for name, value in {
        "core.fsmonitor": f"touch {tmp_path}/watched; false",
        "core.repositoryformatversion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.url": str(project),
        "remote.origin.promisor": "true",
        "remote.origin.uploadpack": f"touch {tmp_path}/fetched; false",
    }.items():
        git(project, "config", name, value)
    assert "inner/other" in ListedFiles(project).names()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["project"]
