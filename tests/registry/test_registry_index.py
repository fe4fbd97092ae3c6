"""Fetching the index: validators, the copy on the disk, servers that misbehave."""

import time
from pathlib import Path

import pytest
from loopback import Loopback, Page, entry

from acpella.registry import index as index_module
from acpella.registry.download import check_url, fetch
from acpella.registry.errors import RegistryError
from acpella.registry.index import find_index, index_url
from acpella.registry.settings import RegistrySettings, registry_settings

PACKAGE = {"package": "x@1.0.0"}


def ids(url: str, **options: bool) -> list[str]:
    return list(find_index(url, **options).index.entries)


def test_a_fresh_copy_is_used_without_asking(home: Path, server: Loopback) -> None:
    server.index(entry("one", npx=PACKAGE))
    assert ids(server.index_url) == ids(server.index_url) == ["one"]
    assert len(server.asked) == 1


def test_an_index_that_has_not_changed_is_not_sent_again(home: Path, server: Loopback) -> None:
    server.index(entry("one", npx=PACKAGE), ETag='"7"')
    assert ids(server.index_url) == ["one"]
    assert ids(server.index_url, refresh=True) == ["one"]
    assert ids(server.index_url, refresh=True) == ["one"]  # the validator has stayed
    assert [headers.get("If-None-Match") for _, headers in server.asked] == [None, '"7"', '"7"']
    server.index(entry("two", npx=PACKAGE), ETag='"8"')
    assert ids(server.index_url, refresh=True) == ["two"]


def test_a_stale_copy_is_renewed_or_kept(
    home: Path, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.index(entry("one", npx=PACKAGE))
    find_index(server.index_url)
    monkeypatch.setattr(time, "time", lambda now=time.time: now() + 2 * index_module.FRESH_FOR)
    server.index(entry("two", npx=PACKAGE))
    assert ids(server.index_url) == ["two"]
    monkeypatch.setattr(time, "time", lambda now=time.time: now() + 2 * index_module.FRESH_FOR)
    for page, problem in (
        (Page(b"no", status=500), "500"),
        (Page(b"<html>captive portal</html>"), "not JSON"),
        (Page(b"x" * 100, cut=10), "cut after 10 of 100"),
        (Page(b"x", headers={"Content-Length": "nonsense"}), ""),
    ):
        server.pages["/registry.json"] = page
        found = find_index(server.index_url)
        assert list(found.index.entries) == ["two"] and problem in found.problem
        assert found.age >= index_module.FRESH_FOR


@pytest.mark.parametrize("body, problem", [(b"<html>", "is not JSON"), (b"[]", "has no list `agents`")])
def test_what_is_no_index_is_named(
    home: Path, server: Loopback, tmp_path: Path, body: bytes, problem: str
) -> None:
    server.pages["/registry.json"] = Page(body)
    file = tmp_path / "our agents.json"
    file.write_bytes(body)
    for address, name in ((server.index_url, server.index_url), (file.as_uri(), str(file))):
        with pytest.raises(RegistryError) as raised:
            find_index(address)
        assert f"the index {name} is not" in str(raised.value) and problem in str(raised.value)


def test_without_a_network_the_copy_is_used(home: Path, server: Loopback) -> None:
    with pytest.raises(RegistryError, match="no copy of the index on this machine"):
        find_index(server.index_url, offline=True)
    server.index(entry("one", npx=PACKAGE))
    find_index(server.index_url)
    server.pages.clear()
    assert ids(server.index_url, offline=True) == ["one"]
    assert len(server.asked) == 1


def test_without_a_copy_the_reason_is_told(home: Path, server: Loopback) -> None:
    with pytest.raises(RegistryError, match="404"):
        find_index(server.index_url)
    dead = Loopback()
    dead.server_close()
    with pytest.raises(RegistryError, match="refused"):
        find_index(dead.index_url)


def test_a_damaged_copy_is_fetched_again(home: Path, server: Loopback) -> None:
    server.index(entry("one", npx=PACKAGE), ETag='"7"')
    find_index(server.index_url)
    for path in (home / "state" / "acpella" / "registry").iterdir():
        path.write_bytes(path.read_bytes()[:-5])
    assert ids(server.index_url) == ["one"]
    assert "If-None-Match" not in server.asked[-1][1]


def test_a_huge_index_is_refused(home: Path, server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "LARGEST_INDEX", 1000)
    server.archive("/registry.json", b"x" * 5000)
    with pytest.raises(RegistryError, match="larger than 1000"):
        find_index(server.index_url)


def test_only_https_is_followed(server: Loopback) -> None:
    for url in ("http://example.com/x", "ftp://example.com/x", "file:///etc/passwd", "https://"):
        with pytest.raises(RegistryError, match="not an https URL"):
            check_url(url)
    server.archive("/away", b"", status=302, headers={"Location": "http://192.0.2.1/x"})
    with pytest.raises(RegistryError, match="not an https URL"):
        fetch(f"{server.url}/away", limit=10, timeout=5)
    server.archive("/loop", b"", status=302, headers={"Location": "/loop"})
    with pytest.raises(RegistryError):
        fetch(f"{server.url}/loop", limit=10, timeout=5)
    assert len(server.asked) < 10


def test_a_server_that_trickles_is_left(server: Loopback) -> None:
    import threading

    server.archive("/slow", b"x" * 10, hold=threading.Event())
    with pytest.raises(RegistryError, match="no answer within 0.2 s"):
        fetch(f"{server.url}/slow", limit=100, timeout=0.2)


def test_the_index_can_be_a_file_and_is_chosen_in_order(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "my index.json"
    file.write_text('{"agents": []}', encoding="utf-8")
    assert ids(index_url(str(file))) == []
    settings = home / "config" / "acpella" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(
        '{"registry": {"url": "https://a.example/r.json", "pins": {"x": "1.0.0"}}}', encoding="utf-8"
    )
    mine = registry_settings()
    assert mine.pins == {"x": "1.0.0"}
    monkeypatch.delenv("ACPELLA_REGISTRY_URL")
    assert index_url(None, mine) == "https://a.example/r.json"
    monkeypatch.setenv("ACPELLA_REGISTRY_URL", "https://b.example/r.json")
    assert index_url(None, mine) == "https://b.example/r.json"
    assert index_url("https://c.example/r.json", mine) == "https://c.example/r.json"
    monkeypatch.delenv("ACPELLA_REGISTRY_URL")
    assert index_url(None, RegistrySettings()).endswith("/registry/v1/latest/registry.json")


def test_the_settings_of_a_project_say_nothing_about_the_registry(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".acpella").mkdir()
    evil = '{"registry": {"url": "https://evil.example/r.json"}}'
    (tmp_path / ".acpella" / "settings.json").write_text(evil, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert registry_settings() == RegistrySettings()
