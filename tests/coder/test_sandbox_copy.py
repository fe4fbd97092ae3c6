"""What is left of a sandbox's copy when it is thrown away: nothing, whatever a command did to it."""

import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from acpella.coder.places import Copy


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory for copies, seen by somebody whom permissions bind: root may do anything."""
    place = Path(tempfile.mkdtemp(prefix="copies-"))
    (place / "project").mkdir()
    (place / "project" / "a.txt").write_text("x", encoding="utf-8")
    (place / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place / "temporary"))
    as_root = os.geteuid() == 0
    if as_root:
        for path in (place, *place.rglob("*")):
            os.chown(path, 65534, 65534)
        os.seteuid(65534)
    try:
        yield place
    finally:
        if as_root:
            os.seteuid(0)
        for path in (place / "temporary", place):
            path.chmod(0o700)
        shutil.rmtree(place)


def copy_of(place: Path) -> tuple[Copy, Path]:
    copy = Copy([place / "project"])
    return copy, copy.pairs[0][1]


@pytest.mark.parametrize("mode", [0o500, 0o000])
def test_a_copy_is_removed_although_a_command_took_the_right_to_write_in_it(place: Path, mode: int) -> None:
    copy, root = copy_of(place)
    inner = root / "cache" / "module"
    inner.mkdir(parents=True)
    (inner / "a.go").write_text("x", encoding="utf-8")
    for path in (inner, inner.parent, root):
        path.chmod(mode)
    copy.remove()
    assert list((place / "temporary").iterdir()) == []


def test_removing_a_copy_changes_nothing_that_a_link_in_it_leads_to(place: Path) -> None:
    copy, root = copy_of(place)
    outside = place / "project"
    outside.chmod(0o500)
    locked = root / "locked"
    locked.mkdir()
    (locked / "link").symlink_to(outside)
    locked.chmod(0o500)
    copy.remove()
    assert list((place / "temporary").iterdir()) == []
    assert outside.stat().st_mode & 0o777 == 0o500 and (outside / "a.txt").exists()


def test_a_copy_that_cannot_be_removed_is_named_in_the_log(
    place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    copy, root = copy_of(place)
    (place / "temporary").chmod(0o500)
    with caplog.at_level(logging.WARNING, "acpella.coder.places"):
        copy.remove()
    assert str(root.parent) in caplog.text
