"""Archives of strangers: what an honest one becomes, and what a hostile one does not."""

import bz2
import gzip
import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from loopback import tar, zipped

from acpella.registry import unpack as unpack_module
from acpella.registry.errors import InstallError, UnsafeArchive
from acpella.registry.unpack import find_program, unpack


def run(tmp_path: Path, data: bytes, kind: str = "gz", cmd: str = "./tiny") -> Path:
    archive, into = tmp_path / "archive", tmp_path / "tree" / "files"
    archive.write_bytes(data)
    unpack(archive, kind, into, cmd=cmd)
    return into


def made(change: Callable[[tarfile.TarInfo], None], name: str = "x", data: bytes = b"") -> bytes:
    return tar({name: data}, change=change)


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> Callable[[tarfile.TarInfo], None]:
    def change(info: tarfile.TarInfo) -> None:
        info.name, info.type, info.linkname, info.size = name, kind, target, 0

    return change


def members(*items: tuple[str, bytes | str]) -> bytes:
    """A tar with files (bytes) and symbolic links (text), in this order."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as file:
        for name, what in items:
            info = tarfile.TarInfo(name)
            if isinstance(what, str):
                info.type, info.linkname = tarfile.SYMTYPE, what
                file.addfile(info)
            else:
                info.size = len(what)
                file.addfile(info, io.BytesIO(what))
    return out.getvalue()


FILES = {"bin/tiny": b"#!/bin/sh\n", "lib/data": b"1" * 100_000}


@pytest.mark.parametrize("kind", ["gz", "bz2", "tar", "zip"])
def test_every_format_is_unpacked(tmp_path: Path, kind: str) -> None:
    plain = gzip.decompress(tar(FILES))
    data = {"gz": tar(FILES), "bz2": bz2.compress(plain), "tar": plain, "zip": zipped(FILES)}[kind]
    tree = run(tmp_path, data, kind)
    assert {name: (tree / name).read_bytes() for name in FILES} == FILES
    assert os.access(tree / "bin" / "tiny", os.X_OK)


def test_a_bare_file_gets_the_name_of_the_command(tmp_path: Path) -> None:
    tree = run(tmp_path, b"#!/bin/sh\n", "file", cmd="./bin\\tiny")
    assert os.access(tree / "bin" / "tiny", os.X_OK)


def test_bits_that_give_rights_are_dropped(tmp_path: Path) -> None:
    tree = run(tmp_path, tar({"tiny": b"x"}, mode=0o6777))
    assert stat.S_IMODE((tree / "tiny").stat().st_mode) & 0o7022 == 0


def test_links_inside_are_kept(tmp_path: Path) -> None:
    tree = run(tmp_path, members(("app/v1/tiny", b"x"), ("app/current", "v1"), ("tiny", "app/current/tiny")))
    assert (tree / "tiny").read_bytes() == b"x"


@pytest.mark.parametrize(
    "data",
    [
        made(lambda i: setattr(i, "name", "../evil")),
        made(lambda i: setattr(i, "name", "a/../../evil")),
        made(lambda i: setattr(i, "name", "/tmp/evil")),
        made(lambda i: setattr(i, "name", "..\\evil")),
        made(lambda i: setattr(i, "name", "C:\\evil")),
        made(link("l", "/etc/passwd")),
        made(link("l", "../../evil")),
        made(link("l", "/etc/passwd", tarfile.LNKTYPE)),
        made(link("l", "../evil", tarfile.LNKTYPE)),
        made(lambda i: setattr(i, "type", tarfile.CHRTYPE)),
        made(lambda i: setattr(i, "type", tarfile.BLKTYPE)),
        made(lambda i: setattr(i, "type", tarfile.FIFOTYPE)),
        members(("x", b"1"), ("x", b"2")),
        # each link seems to stay inside; followed one after the other they do not
        members(("d/e/x", b""), ("up", "d/e/.."), ("out", "up/../..")),
        members(("a", "."), ("b", "a/.."), ("c", "b/../evil")),
    ],
    ids=lambda data: "",  # the bytes hold the time at which they were made
)
def test_what_would_leave_the_tree_is_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(UnsafeArchive):
        run(tmp_path, data)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["archive", "tree"]
    assert not (tmp_path / "evil").exists() and not (tmp_path / "tree" / "evil").exists()


def test_a_file_behind_a_link_is_not_written_through_it(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    with pytest.raises(InstallError):
        run(tmp_path, members(("d", str(outside)), ("d/evil", b"x")))
    with pytest.raises(InstallError):
        run(tmp_path, members(("e", "../../outside"), ("e/evil", b"x")))
    assert not list(outside.iterdir())


@pytest.mark.parametrize("kind", ["gz", "zip"])
@pytest.mark.parametrize("name", ["x/link", "x/new/deep/link", "X/link", "d/x/link"])
def test_a_link_behind_a_link_makes_nothing_outside(tmp_path: Path, kind: str, name: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    top = name.rpartition("x/")[0] if name.startswith("d") else ""
    up = "../" * (2 + name.count("d/x")) + "outside"
    links = ((f"{top}x", up), (name, "anything"))
    data = members(*links) if kind == "gz" else zipped({n: t.encode() for n, t in links}, mode=0o120777)
    with pytest.raises(UnsafeArchive, match="link behind a link|link that leaves"):
        run(tmp_path, data, kind)
    assert not list(outside.iterdir())


def test_a_link_beside_a_link_is_no_link_behind_it(tmp_path: Path) -> None:
    tree = run(tmp_path, members(("v1/tiny", b"x"), ("current", "v1"), ("bin/a", "../current/tiny")))
    assert (tree / "bin" / "a").read_bytes() == b"x"


@pytest.mark.parametrize("name", ["../evil", "/tmp/evil", "a\\..\\..\\evil", "C:/evil"])
def test_zip_names_that_leave_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UnsafeArchive):
        run(tmp_path, zipped({name: b"x"}), "zip")


def test_zip_links_and_devices_are_looked_at(tmp_path: Path) -> None:
    with pytest.raises(UnsafeArchive, match="link that leaves"):
        run(tmp_path, zipped({"l": b"../../evil"}, mode=stat.S_IFLNK | 0o777), "zip")
    with pytest.raises(UnsafeArchive, match="device"):
        run(tmp_path, zipped({"l": b""}, mode=stat.S_IFCHR | 0o777), "zip")


@pytest.mark.parametrize("kind", ["gz", "zip"])
def test_bombs_do_not_fill_the_disk(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack_module, "ALWAYS_ALLOWED", 100_000)
    files = {"zeros": bytes(30_000_000)}
    with pytest.raises(UnsafeArchive, match="bomb"):
        run(tmp_path, tar(files) if kind == "gz" else zipped(files), kind)
    written = sum(p.stat().st_size for p in (tmp_path / "tree").rglob("*") if p.is_file())
    assert written < 20_000_000


def test_a_million_files_are_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack_module, "MAX_FILES", 20)
    with pytest.raises(UnsafeArchive, match="more than 20 files"):
        run(tmp_path, tar({f"d{n}/": b"" for n in range(30)}))
    with pytest.raises(UnsafeArchive, match="more than 20 files"):
        run(tmp_path, zipped({f"f{n}": b"" for n in range(30)}), "zip")


def test_a_header_without_end_takes_no_memory(tmp_path: Path) -> None:
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.XHDTYPE, 1 << 40
    data = gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + bytes(1_000_000))
    with pytest.raises(
        InstallError, match="bomb|damaged"
    ):  # newer Pythons see by themselves that it ends too soon
        run(tmp_path, data)


def test_a_file_of_terabytes_is_not_waited_for(tmp_path: Path) -> None:
    info = tarfile.TarInfo("x")
    info.size = 1 << 40
    with pytest.raises(InstallError):
        run(tmp_path, gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + bytes(1024)))


@pytest.mark.parametrize("kind", ["gz", "bz2", "tar", "zip"])
def test_damaged_archives_say_so(tmp_path: Path, kind: str) -> None:
    whole = {"gz": tar(FILES), "bz2": bz2.compress(gzip.decompress(tar(FILES))), "zip": zipped(FILES)}
    for data in (b"", b"garbage" * 100, whole.get(kind, b"x" * 600)[:-200]):
        with pytest.raises(InstallError):
            run(tmp_path, data, kind)
        for path in sorted((tmp_path / "tree").rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()


def test_an_encrypted_zip_is_refused(tmp_path: Path) -> None:
    data = bytearray(zipped({"x": b"secret"}))
    for head, flag in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(head) + flag] |= 1
    with pytest.raises(InstallError, match="damaged"):
        run(tmp_path, bytes(data), "zip")
    assert zipfile.is_zipfile(io.BytesIO(bytes(data)))


def test_the_program_is_found_by_its_name_if_that_is_unique(tmp_path: Path) -> None:
    tree = run(tmp_path, tar({"pkg-1.0/bin/tiny": b"x", "a/other": b"", "b/other": b""}))
    assert find_program(tree, "pkg-1.0/bin/tiny") == ("pkg-1.0/bin/tiny", True)
    assert find_program(tree, "bin/tiny") == ("pkg-1.0/bin/tiny", False)
    with pytest.raises(InstallError, match="2 files of that name"):
        find_program(tree, "other")
    with pytest.raises(InstallError, match="no file of that name"):
        find_program(tree, "missing")
