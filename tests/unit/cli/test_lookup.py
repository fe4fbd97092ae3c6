"""Which session a word means."""

from pathlib import Path

import pytest

from acpella.cli.session.lookup import NoSession, matching, resolve
from acpella.cli.state.catalogue import Catalogue, SessionEntry


def entry(session_id: str, *, name: str = "", root: str = "/here") -> SessionEntry:
    return SessionEntry(
        key=f"{root}-{session_id}", root=root, cwd=root, agent="a", session_id=session_id, name=name
    )


def test_a_name_counts_before_an_id_and_an_id_before_its_start() -> None:
    named, same, longer = entry("11112222", name="abcd"), entry("abcd"), entry("abcdefgh")
    assert matching([longer, same, named], "abcd") == [named]
    assert matching([longer, same, named], "abcd", names=False) == [same]
    assert matching([longer, named], "abcd", names=False) == [longer]


def test_too_short_a_start_of_an_id_means_nothing() -> None:
    assert matching([entry("abcdefgh")], "abc") == []
    assert matching([entry("abcdefgh")], "abcd", shortest=8) == []
    assert matching([entry("abc")], "abc") != []


def test_names_of_other_repositories_do_not_count_but_ids_do(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    catalogue = Catalogue(tmp_path / "sessions.json")
    catalogue.add(entry("aaaa1111", name="work", root=str(there)))
    assert resolve(catalogue, "work", cwd=str(here)) is None
    found = resolve(catalogue, "aaaa", cwd=str(here))
    assert found is not None and found.session_id == "aaaa1111"
    assert resolve(catalogue, None, cwd=str(here)) is None


def test_a_start_of_several_ids_is_refused(tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path / "sessions.json")
    for session_id in ("aaaa1111", "aaaa2222"):
        catalogue.add(entry(session_id, root=str(tmp_path)))
    with pytest.raises(NoSession, match="may be any of aaaa(1111|2222), aaaa"):
        resolve(catalogue, "aaaa", cwd=str(tmp_path))
