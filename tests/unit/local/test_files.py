"""A jail reads and writes beneath its roots, and nothing leads out of it."""

import itertools
import os
import re
import socket
import stat
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from acpella.errors import AcpellaError
from acpella.local import (
    SECRET_PATHS,
    Entry,
    Jail,
    JailError,
    NotAFile,
    NotText,
    OutsideRoots,
    SecretPath,
    TooLarge,
    files,
)


@pytest.fixture(params=["openat", "simple"])
def ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to open a file: the one for POSIX systems, and the one for the rest."""
    if request.param == "simple":
        monkeypatch.setattr(files, "HAS_OPENAT", False)
    return request.param


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    return root


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file.txt").write_text("outside", encoding="utf-8")
    return outside


@pytest.fixture
def jail(root: Path) -> Jail:
    return Jail([root])


def put(path: Path, data: bytes = b"inside") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def every_call(jail: Jail) -> list[Callable[[str], object]]:
    def write(path: str) -> None:
        jail.write_text(path, "written")

    return [jail.read_text, jail.read_bytes, jail.resolve, jail.list_dir, write]


def no_leftovers(directory: Path) -> bool:
    return not [name for name in os.listdir(directory) if name.endswith(".tmp")]


# -- reading ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("ways")
def test_a_file_is_read_by_its_absolute_and_its_relative_path(jail: Jail, root: Path) -> None:
    path = put(root / "a/b.txt", "grüße".encode())
    assert jail.read_text(path) == jail.read_text("a/b.txt") == jail.read_text("./a//b.txt") == "grüße"
    assert jail.read_bytes(str(path), 100) == "grüße".encode()


@pytest.mark.usefixtures("ways")
def test_a_relative_path_starts_at_the_first_root(root: Path, outside: Path) -> None:
    put(root / "file.txt")
    jail = Jail([str(root), outside])
    assert jail.read_text("file.txt") == "inside"
    assert jail.read_text(outside / "file.txt") == "outside"
    assert jail.roots == (root, outside)


@pytest.mark.parametrize(
    ("line", "limit", "expected"),
    [
        (None, None, "1\n2\r\n3\n4"),
        (0, None, "1\n2\r\n3\n4"),
        (1, None, "1\n2\r\n3\n4"),
        (2, None, "2\r\n3\n4"),
        (4, None, "4"),
        (5, None, ""),
        (4_294_967_295, 4_294_967_295, ""),
        (None, 0, ""),
        (0, 0, ""),
        (2, 0, ""),
        (None, 1, "1\n"),
        (0, 1, "1\n"),
        (2, 2, "2\r\n3\n"),
        (3, 2, "3\n4"),
        (3, 99, "3\n4"),
        (4, 1, "4"),
    ],
)
def test_line_and_limit_choose_lines(
    jail: Jail, root: Path, line: int | None, limit: int | None, expected: str
) -> None:
    put(root / "f", b"1\n2\r\n3\n4")
    assert jail.read_text("f", line=line, limit=limit) == expected


@pytest.mark.parametrize("text", ["", "\n", "a", "a\n", "\n\n", "a\r\nb\rc\n", "\ufeffwith a mark\n"])
def test_text_is_kept_as_it_is(jail: Jail, root: Path, text: str) -> None:
    put(root / "f", text.encode())
    assert jail.read_text("f") == text
    jail.write_text("g", text)
    assert (root / "g").read_bytes() == text.encode()


def test_lines_of_a_large_file_can_be_read_though_the_whole_cannot(jail: Jail, root: Path) -> None:
    lines = [f"line {number} äöü\n" for number in range(1, 900_001)]
    put(root / "big", "".join(lines).encode())
    with pytest.raises(TooLarge, match="big has more than 10485760 bytes to read.*`line` and `limit`"):
        jail.read_text("big")
    for first in (1, 4096, 4097, 500_000, 899_999):
        assert jail.read_text("big", line=first, limit=3) == "".join(lines[first - 1 : first + 2])
    assert jail.read_text("big", line=899_990) == "".join(lines[899_989:])
    assert jail.read_text("big", max_bytes=1 << 30) == "".join(lines)
    with pytest.raises(TooLarge, match="read fewer lines"):
        jail.read_text("big", line=10, limit=100, max_bytes=50)


def test_a_file_of_exactly_the_limit_is_read(jail: Jail, root: Path) -> None:
    put(root / "f", b"x" * 100_000)
    assert len(jail.read_bytes("f", 100_000)) == 100_000
    with pytest.raises(TooLarge):
        jail.read_bytes("f", 99_999)


@pytest.mark.parametrize(
    "data", [b"a\0b", b"\x89PNG\r\n", b"ok\n\xff\xfe", "ä".encode("latin-1"), b"cut \xc3"]
)
def test_what_is_not_utf8_text_is_refused_as_text(jail: Jail, root: Path, data: bytes) -> None:
    put(root / "f", data)
    with pytest.raises(NotText, match="f is (a binary file|not UTF-8 text)"):
        jail.read_text("f")
    assert jail.read_bytes("f") == data


def test_the_error_for_other_encodings_names_the_line(jail: Jail, root: Path) -> None:
    put(root / "f", b"1\n2\n3 \xe4\n")
    with pytest.raises(NotText, match="byte 0xe4 in line 3"):
        jail.read_text("f")
    with pytest.raises(NotText, match="byte 0xe4 in line 3"):
        jail.read_text("f", line=2)


@pytest.mark.usefixtures("ways")
@pytest.mark.parametrize("path", ["missing", "missing/too", "directory/missing"])
def test_a_missing_file_is_a_file_not_found_error(jail: Jail, root: Path, path: str) -> None:
    (root / "directory").mkdir()
    with pytest.raises(FileNotFoundError, match=re.escape(str(root))):
        jail.read_text(path)


@pytest.mark.usefixtures("ways")
def test_a_missing_root_is_a_file_not_found_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Jail([tmp_path / "gone"]).read_text("f")


def test_a_file_on_the_way_is_not_a_directory(jail: Jail, root: Path) -> None:
    put(root / "f")
    for call in (
        lambda: jail.read_text("f/x"),
        lambda: jail.write_text("f/x", ""),
        lambda: jail.list_dir("f"),
    ):
        with pytest.raises(NotADirectoryError, match="root/f"):
            call()


def test_a_jail_needs_roots() -> None:
    with pytest.raises(ValueError, match="at least one root"):
        Jail([])
    with pytest.raises(ValueError, match="a list"):
        Jail("/tmp")


# -- kinds -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("ways")
def test_pipes_sockets_and_directories_are_not_files(jail: Jail, root: Path, tmp_path: Path) -> None:
    os.mkfifo(root / "fifo")
    (root / "directory").mkdir()
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(root / "sock"))
        for name, kind in [
            ("fifo", "pipe"),
            ("sock", "socket"),
            ("directory", "directory"),
            (".", "directory"),
        ]:
            with pytest.raises(NotAFile, match=f"is a {kind}"):
                jail.read_text(name)
            with pytest.raises(NotAFile, match=f"is a {kind}"):
                jail.write_text(name, "text")
    assert stat.S_ISFIFO((root / "fifo").stat().st_mode)
    assert no_leftovers(root) and no_leftovers(tmp_path)


@pytest.mark.usefixtures("ways")
def test_devices_are_not_files() -> None:
    with pytest.raises(NotAFile, match="/dev/null is a device"):
        Jail(["/dev"]).read_text("null")


@pytest.mark.usefixtures("ways")
@pytest.mark.parametrize("path", ["", "a\0b", "/etc/passwd\0.txt", "\ud800"])
def test_impossible_names_are_refused(jail: Jail, path: str) -> None:
    for call in every_call(jail):
        with pytest.raises(NotAFile, match="empty|no file name can"):
            call(path)


def test_writing_to_a_directorys_name_is_refused(jail: Jail, root: Path) -> None:
    with pytest.raises(NotAFile, match="names a directory"):
        jail.write_text("new/", "text")
    assert not (root / "new").exists()


# -- the fence -------------------------------------------------------------------------------


ESCAPES = [
    "../outside/file.txt",
    "a/../../outside/file.txt",
    "{root}/../outside/file.txt",
    "{outside}/file.txt",
    "{root}/a/../../../../../../../../../etc/passwd",
    "{root}-sibling/file.txt",
    "/etc/passwd",
    "/proc/self/environ",
    "link/file.txt",
    "link-to-file",
    "chain",
    "a/relative/file.txt",
    "dangling",
    "to-root/etc/passwd",
    "~/../../etc/passwd",
]


@pytest.mark.usefixtures("ways")
@pytest.mark.parametrize("path", ESCAPES)
def test_nothing_outside_the_roots_is_touched(jail: Jail, root: Path, outside: Path, path: str) -> None:
    (root / "a").mkdir()
    (root / "~").mkdir()
    put(root.parent / "root-sibling/file.txt")
    (root / "link").symlink_to(outside)
    (root / "link-to-file").symlink_to(outside / "file.txt")
    (root / "chain").symlink_to("link-to-file")
    (root / "a/relative").symlink_to("../../outside")
    (root / "dangling").symlink_to(outside / "new")
    (root / "to-root").symlink_to("/")
    spelled = path.format(root=root, outside=outside)
    for call in every_call(jail):
        with pytest.raises(OutsideRoots) as raised:
            call(spelled)
        assert spelled in str(raised.value) and str(root) in str(raised.value)
    assert os.listdir(outside) == ["file.txt"]
    assert (outside / "file.txt").read_text(encoding="utf-8") == "outside"


@pytest.mark.usefixtures("ways")
def test_a_refused_write_leaves_no_directory(jail: Jail, root: Path) -> None:
    for path in ("new/../../x", "new/deep/../../../x", f"{root}/new/../../outside/x"):
        with pytest.raises(OutsideRoots):
            jail.write_text(path, "x")
    assert os.listdir(root) == []
    jail.write_text("new/../x", "inside")
    assert os.listdir(root) == ["x"]


@pytest.mark.usefixtures("ways")
def test_dots_that_stay_inside_work(root: Path, outside: Path) -> None:
    put(root / "a/f.txt")
    (root / "b").mkdir()
    jail = Jail([root, outside])
    assert jail.read_text("b/../a/./f.txt") == "inside"
    assert jail.read_text(f"{root}/../root/a/f.txt") == "inside"
    assert jail.read_text("../outside/file.txt") == "outside", "from one root to another"


def test_dots_after_a_link_are_those_of_its_target(jail: Jail, root: Path) -> None:
    put(root / "deep/er/f.txt")
    put(root / "deep/g.txt", b"right")
    put(root / "g.txt", b"wrong")
    (root / "link").symlink_to("deep/er")
    assert jail.read_text("link/../g.txt") == "right"
    assert jail.resolve("link/../g.txt") == root / "deep/g.txt"


@pytest.mark.usefixtures("ways")
def test_links_inside_the_roots_are_followed(root: Path, outside: Path) -> None:
    put(root / "real/f.txt")
    (root / "relative").symlink_to("real")
    (root / "absolute").symlink_to(root / "real")
    (root / "real/file").symlink_to("f.txt")
    (root / "other").symlink_to(outside)
    jail = Jail([root, outside])
    for path in ("relative/f.txt", "absolute/f.txt", "absolute/file", "relative/../relative/file"):
        assert jail.read_text(path) == "inside"
        assert jail.resolve(path) == root / "real/f.txt"
    assert jail.read_text("other/file.txt") == "outside"


@pytest.mark.usefixtures("ways")
def test_a_root_can_be_named_through_a_link(root: Path, tmp_path: Path) -> None:
    put(root / "f.txt")
    alias, other = tmp_path / "alias", tmp_path / "other"
    alias.symlink_to(root)
    other.symlink_to(root)
    jail = Jail([alias])
    for path in (alias / "f.txt", root / "f.txt", other / "f.txt"):
        assert jail.read_text(path) == "inside"
        assert jail.resolve(path) == root / "f.txt"
    jail.write_text(alias / "new/g.txt", "x")
    assert (root / "new/g.txt").exists()


def test_the_whole_file_system_can_be_a_root(root: Path) -> None:
    put(root / "f.txt")
    jail = Jail(["/"])
    assert jail.read_text(root / "f.txt") == jail.read_text(f"/../..{root}/f.txt") == "inside"


def test_links_in_a_circle_end(jail: Jail, root: Path) -> None:
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    for call in (
        lambda: jail.read_text("a"),
        lambda: jail.read_text("a/x"),
        lambda: jail.write_text("a", ""),
    ):
        with pytest.raises(NotAFile, match="too many symbolic links"):
            call()


def test_a_root_within_a_root_is_no_way_out_when_swapped(root: Path, outside: Path) -> None:
    put(root / "a/b/file.txt")
    jail = Jail([root / "a/b", root])
    assert jail.read_text("file.txt") == "inside"
    (root / "a").rename(root / "moved")
    (outside / "b").mkdir()
    put(outside / "b/file.txt", b"outside")
    (root / "a").symlink_to(outside)
    with pytest.raises(OutsideRoots):
        jail.read_text("file.txt")


@pytest.mark.usefixtures("ways")
def test_a_path_that_does_not_exist_can_be_resolved(jail: Jail, root: Path) -> None:
    (root / "real").mkdir()
    (root / "link").symlink_to("real")
    assert jail.resolve("link/new/file") == root / "real/new/file"
    assert jail.resolve("link/new") == root / "real/new"
    assert jail.resolve("new/deep/../file") == root / "new/file"
    assert jail.resolve("new/../link/x") == root / "real/x"
    assert jail.resolve(".") == root
    with pytest.raises(OutsideRoots):
        jail.resolve("new/../../x")


def test_a_directory_need_not_be_listable_to_pass_through(jail: Jail, root: Path) -> None:
    put(root / "a/f")
    (root / "a").chmod(0o111)
    try:
        assert jail.read_text("a/f") == "inside"
    finally:
        (root / "a").chmod(0o755)


# -- secrets ---------------------------------------------------------------------------------


SECRETS = [
    ".ssh/config",
    ".SSH/config",
    "deep/.ssh/known_hosts",
    ".gnupg/x",
    ".aws/credentials",
    ".config/gcloud/token",
    ".env",
    ".env.local",
    "app/.ENV",
    ".netrc",
    "id_rsa",
    "id_rsa.pub",
    "id_ed25519_work",
    "cert.pem",
    "certs/Server.PEM",
    ".docker/config.json",
    ".npmrc",
    ".git/config",
    "deps/lib/.git/config",
    ".git/modules/deps/lib/config",
    ".git/modules/a/modules/b/config",
    ".git/config.worktree",
    "mirror.git/config",
    ".hg/hgrc",
    ".cargo/credentials.toml",
    ".my.cnf",
    ".git/modules/lib/config",
    ".vault-token",
    ".htpasswd",
    ".envrc",
    "release.jks",
    "android/app/upload.keystore",
    "credentials.json",
    "service-account.json",
    "service-account-prod.json",
    "infra/terraform.tfstate",
    "infra/terraform.tfstate.backup",
    "production.env",
    ".bash_history",
    ".zsh_history",
    ".zhistory",
    ".python_history",
    ".psql_history",
    ".node_repl_history",
    ".local/share/fish/fish_history",
    ".config/git/credentials",
    ".config/sops/age/keys.txt",
    ".config/containers/auth.json",
    ".cache/huggingface/token",
    ".kaggle/kaggle.json",
    ".databrickscfg",
    ".oci/config",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".config/solana/id.json",
    ".config/BraveSoftware/x",
    ".config/microsoft-edge/x",
    ".openai/auth.json",
    ".local/share/amp/secrets.json",
    ".NuGet/NuGet/NuGet.Config",
    "putty.ppk",
    ".vault_pass",
]


@pytest.mark.usefixtures("ways")
@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize("path", SECRETS)
def test_secret_paths_are_refused(jail: Jail, root: Path, path: str, exists: bool) -> None:
    if exists:
        put(root / path)
    (root / "plain").symlink_to(path)
    for spelled in (path, str(root / path), "plain"):
        for call in every_call(jail):
            with pytest.raises(SecretPath, match=re.escape(spelled)):
                call(spelled)
    assert exists or os.listdir(root) == ["plain"], "nothing is created on the way"
    open_jail = Jail([root], secrets=False)
    assert open_jail.resolve(path) == root / path
    if exists:
        assert open_jail.read_text(path) == "inside"


@pytest.mark.parametrize(
    "path",
    [
        "environment",
        "environment.json",
        ".git/HEAD",
        "git/config",
        "npmrc",
        "credentials.json.md",
        "history",
        "terraform.tf",
        "env",
        ".sshd",
        "ssh/config",
        "pem",
        "a.pem.txt",
        "proc/x",
        "dev/x",
        ".config/x",
    ],
)
def test_names_that_only_resemble_secrets_are_not_refused(jail: Jail, root: Path, path: str) -> None:
    put(root / path)
    assert jail.read_text(path) == "inside"


def test_a_link_with_a_secret_name_is_refused(jail: Jail, root: Path) -> None:
    put(root / "plain")
    (root / ".env").symlink_to("plain")
    with pytest.raises(SecretPath):
        jail.read_text(".env")


def test_no_directory_is_made_through_a_secret_name(jail: Jail, root: Path) -> None:
    with pytest.raises(SecretPath):
        jail.write_text(".ssh/../x", "")
    assert os.listdir(root) == []


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/proc/self/environ",
            "/sys/kernel/notes",
            "/dev/mem",
            "/etc/shadow",
            "/etc/shadow-",
            "/etc/gshadow",
        ),
        *("/etc/ssh/ssh_host_ed25519_key", "/etc/sudoers.d/x", "/run/secrets/x", "/var/run/secrets/x"),
    ],
)
def test_places_of_the_system_are_secret(path: str) -> None:
    with pytest.raises(SecretPath, match=path):
        Jail(["/"]).read_text(path)


def test_a_root_that_the_user_chose_is_not_secret_itself(root: Path) -> None:
    put(root / ".aws/work/notes.txt")
    put(root / ".aws/credentials")
    assert Jail([root / ".aws"]).read_text("credentials") == "inside"
    jail = Jail([root, root / ".aws/work"])
    assert jail.read_text(root / ".aws/work/notes.txt") == "inside"
    with pytest.raises(SecretPath):
        jail.read_text(".aws/credentials")


@pytest.mark.usefixtures("ways")
@pytest.mark.parametrize(
    "path",
    [
        ".config/acpella/permissions.toml",
        ".config/acpella/settings.json",
        ".config/acpella/keys.json",
        ".local/state/acpella/trusted.json",
        ".local/share/acpella/sessions.db",
        ".CONFIG/Acpella/permissions.toml",
        "elsewhere/acpella/permissions.toml",
        "link/permissions.toml",
    ],
)
def test_where_acpella_keeps_what_agents_may_do_is_neither_read_nor_written(
    root: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent that may only edit, in a session in the home directory, would answer its own questions."""
    monkeypatch.setenv("HOME", str(root))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(root / "elsewhere"))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    put(root / "elsewhere/acpella/permissions.toml")
    put(root / path)
    (root / "link").mkdir(exist_ok=True)
    put(root / "plain.txt")
    if path.startswith("link/"):
        (root / path).unlink()
        (root / path).symlink_to(root / "elsewhere/acpella/permissions.toml")
    jail = Jail([root])
    with pytest.raises(SecretPath, match="belongs to acpella"):
        jail.read_text(path)
    with pytest.raises(SecretPath, match="belongs to acpella"):
        jail.write_text(path, "allow")
    assert jail.read_text("plain.txt") == "inside"
    assert Jail([root / "elsewhere/acpella"]).read_text("permissions.toml") == "inside", "the user chose it"


def test_the_list_of_secrets_has_no_doubles_and_no_capitals() -> None:
    """Paths are looked up in lower case."""
    assert len(set(SECRET_PATHS)) == len(SECRET_PATHS)
    assert [path.lower() for path in SECRET_PATHS] == list(SECRET_PATHS)


# -- writing ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("ways")
def test_a_write_creates_the_file_and_its_directories(jail: Jail, root: Path) -> None:
    mask = os.umask(0o022)
    try:
        jail.write_text("a/b/c.txt", "text")
        jail.write_text(root / "a/d.txt", "")
    finally:
        os.umask(mask)
    assert (root / "a/b/c.txt").read_bytes() == b"text"
    assert (root / "a/d.txt").read_bytes() == b""
    assert stat.S_IMODE((root / "a/b/c.txt").stat().st_mode) == 0o644
    assert stat.S_IMODE((root / "a/b").stat().st_mode) == 0o755
    assert no_leftovers(root / "a/b")


@pytest.mark.usefixtures("ways")
@pytest.mark.parametrize("mode", [0o600, 0o755, 0o664])
def test_a_write_keeps_the_mode(jail: Jail, root: Path, mode: int) -> None:
    put(root / "f").chmod(mode)
    jail.write_text("f", "new")
    assert stat.S_IMODE((root / "f").stat().st_mode) == mode
    assert (root / "f").read_bytes() == b"new"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (b"a\r\nb\r\n", "x\ny\n", b"x\r\ny\r\n"),
        (b"a\r\nb\r\n", "x\r\ny\n", b"x\r\ny\n"),
        (b"a\r\nb\n", "x\ny\n", b"x\ny\n"),
        (b"a\nb\n", "x\r\ny\r\n", b"x\r\ny\r\n"),
        (b"no line ends", "x\n", b"x\n"),
        (b"", "x\n", b"x\n"),
        (b"a\r\n", "no line ends", b"no line ends"),
    ],
)
def test_a_write_keeps_crlf_if_the_file_has_nothing_else(
    jail: Jail, root: Path, old: bytes, new: str, expected: bytes
) -> None:
    put(root / "f", old)
    jail.write_text("f", new)
    assert (root / "f").read_bytes() == expected


@pytest.mark.usefixtures("ways")
def test_a_write_through_a_link_replaces_its_target(jail: Jail, root: Path) -> None:
    put(root / "real/f")
    (root / "link").symlink_to("real/f")
    (root / "directory").symlink_to("real")
    (root / "dangling").symlink_to("new/g")
    jail.write_text("link", "through the link")
    assert (root / "real/f").read_bytes() == b"through the link"
    jail.write_text("directory/f", "through the directory")
    assert (root / "real/f").read_bytes() == b"through the directory"
    jail.write_text("dangling", "new")
    assert (root / "new/g").read_bytes() == b"new"
    assert all((root / name).is_symlink() for name in ("link", "directory", "dangling"))


def test_a_write_does_not_reach_through_a_hard_link(jail: Jail, root: Path, outside: Path) -> None:
    os.link(outside / "file.txt", root / "f")
    jail.write_text("f", "new")
    assert (outside / "file.txt").read_bytes() == b"outside"


@pytest.mark.usefixtures("ways")
@pytest.mark.parametrize("step", ["write", "fchmod", "fsync", "rename"])
def test_a_write_that_fails_leaves_the_old_content_and_nothing_else(
    jail: Jail, root: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(root / "f", b"old")

    def fail(*_: object, **__: object) -> None:
        assert len(os.listdir(root)) == 2, "the new content is beside the old"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, step, fail)
    if step == "rename":
        monkeypatch.setattr(files.os, "replace", fail)
    with pytest.raises(OSError, match="No space left"):
        jail.write_text("f", "new")
    monkeypatch.undo()
    assert os.listdir(root) == ["f"]
    assert (root / "f").read_bytes() == b"old"


def test_readers_see_the_old_or_the_new_content_only(jail: Jail, root: Path) -> None:
    texts = {letter * 200_000 for letter in "abc"}
    jail.write_text("f", "a" * 200_000)
    with in_background(lambda: [jail.write_text("f", text) for text in texts]):
        assert all(jail.read_text("f") in texts for _ in range(200))
    assert no_leftovers(root)


def test_a_read_only_file_is_not_replaced(jail: Jail, root: Path) -> None:
    put(root / "f").chmod(0o444)
    if os.access(root / "f", os.W_OK):
        pytest.skip("nothing is read-only for root")
    with pytest.raises(PermissionError, match="root/f"):
        jail.write_text("f", "new")


def test_text_with_half_a_character_is_not_written(jail: Jail, root: Path) -> None:
    with pytest.raises(NotText, match="half a pair"):
        jail.write_text("f", "a\ud83d")
    assert os.listdir(root) == []


# -- listing ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("ways")
def test_a_directory_is_listed_with_kinds(jail: Jail, root: Path, outside: Path) -> None:
    put(root / "d/b")
    (root / "d/a").mkdir()
    (root / "d/c").symlink_to(outside)
    os.mkfifo(root / "d/p")
    expected = [Entry("a", "directory"), Entry("b", "file"), Entry("c", "link"), Entry("p", "other")]
    assert jail.list_dir("d") == expected
    (root / "link").symlink_to("d")
    assert jail.list_dir("link") == expected
    assert [entry.name for entry in jail.list_dir()] == ["d", "link"]
    with pytest.raises(FileNotFoundError):
        jail.list_dir("missing")
    with pytest.raises(OutsideRoots):
        jail.list_dir("d/c")


# -- races and leaks -------------------------------------------------------------------------


@contextmanager
def in_background(step: Callable[[], object]) -> Generator[None]:
    """Another thread that does something again and again, and is known to have begun."""
    begun, stop = threading.Event(), threading.Event()
    failures: list[BaseException] = []

    def repeat() -> None:
        try:
            while not stop.is_set():
                step()
                begun.set()
        except BaseException as error:
            failures.append(error)
            begun.set()

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        assert begun.wait(5)
        yield
    finally:
        stop.set()
        thread.join()
    assert not failures


def swap(path: Path, inside: Path, outside: Path) -> None:
    """What an attacker does: in turns the real thing, a link to it, a link out."""
    temporary = path.with_name("swapped")
    for target in (outside, inside):
        temporary.symlink_to(target)
        os.replace(temporary, path)


@pytest.mark.parametrize("what", ["directory", "file"])
def test_a_link_swapped_during_calls_never_leads_out(root: Path, outside: Path, what: str) -> None:
    put(root / "inside/file.txt")
    put(root / "outer/x")
    path = root / "outer" / ("file.txt" if what == "file" else "d")
    if what == "file":
        inside_target, outside_target, name = root / "inside/file.txt", outside / "file.txt", "outer/file.txt"
    else:
        inside_target, outside_target, name = root / "inside", outside, "outer/d/file.txt"
    jail = Jail([root])
    worked = refused = 0
    with in_background(lambda: swap(path, inside_target, outside_target)):
        for number in range(2000):
            try:
                if number % 4:
                    assert jail.read_text(name) in ("inside", "written")
                else:
                    jail.write_text(name, "written")
                worked += 1
            except (OutsideRoots, FileNotFoundError):
                refused += 1
    assert worked and refused, "both were met"
    assert (outside / "file.txt").read_bytes() == b"outside"
    assert os.listdir(outside) == ["file.txt"]


def test_a_directory_exchanged_for_a_link_during_calls_never_leads_out(root: Path, outside: Path) -> None:
    put(root / "d/file.txt")
    jail = Jail([root])

    def exchange() -> None:
        os.rename(root / "d", root / "away")
        (root / "d").symlink_to(outside)
        (root / "d").unlink()
        os.rename(root / "away", root / "d")

    with in_background(exchange):
        for number in range(2000):
            # Making no directory: one made in the gap would stop the other thread.
            with suppress(OutsideRoots, FileNotFoundError):
                if number % 2:
                    assert jail.read_text("d/file.txt") == "inside"
                else:
                    assert jail.resolve("d/file.txt") == root / "d/file.txt"
    assert os.listdir(outside) == ["file.txt"]


class Exchange:
    """Exchanges a directory or file for a link out of the root, or back, just before a call to the system."""

    def __init__(self, root: Path, outside: Path, what: str, *, back: bool) -> None:
        self._real, self._away = root / what, root / "away"
        self._out = outside / Path(what).relative_to("d")
        self._back = back
        put(root / "d/file.txt")
        if back:
            self._lead_out()
        self.done = False

    def _lead_out(self) -> None:
        self._real.rename(self._away)
        self._real.symlink_to(self._out)

    def use(self, use: Callable[[Jail], object], jail: Jail, moment: int) -> object:
        """What the use returned or raised, with the exchange before its call number `moment`."""
        calls = 0
        with pytest.MonkeyPatch.context() as patch:

            def watched(original: Callable[..., object]) -> Callable[..., object]:
                def call(*args: object, **kwargs: object) -> object:
                    nonlocal calls
                    if calls == moment and not self.done:
                        patch.undo()
                        self.done = True
                        if self._back:
                            self._real.unlink()
                            self._away.rename(self._real)
                        else:
                            self._lead_out()
                    calls += 1
                    return original(*args, **kwargs)

                return call

            for name in ("open", "stat", "lstat", "readlink", "mkdir", "rename", "replace", "unlink"):
                patch.setattr(os, name, watched(getattr(os, name)))
            try:
                return use(jail)
            except (JailError, OSError) as error:
                return error


def exchange_at_each_call(
    root: Path, outside: Path, what: str, use: Callable[[Jail], object]
) -> list[object]:
    """What a use returned or raised, with an exchange before its first call to the system, its second, …"""
    results: list[object] = []
    for back in (False, True):
        for moment in itertools.count():
            place = root / f"{back}-{moment}"
            exchange = Exchange(place, outside, what, back=back)
            results.append(exchange.use(use, Jail([place]), moment))
            assert no_leftovers(place) and no_leftovers(place / "d")
            if not exchange.done:
                break
    assert len(results) > 8
    return results


def read_it(jail: Jail) -> str:
    return jail.read_text("d/file.txt")


def write_it(jail: Jail) -> None:
    jail.write_text("d/file.txt", "written")


@pytest.mark.parametrize("what", ["d", "d/file.txt"])
def test_an_exchange_at_no_moment_of_a_read_leads_out(root: Path, outside: Path, what: str) -> None:
    results = exchange_at_each_call(root, outside, what, read_it)
    assert "inside" in results and "outside" not in results
    assert all(isinstance(each, OutsideRoots) for each in results if each != "inside")


@pytest.mark.parametrize("what", ["d", "d/file.txt"])
def test_an_exchange_at_no_moment_of_a_write_leads_out(root: Path, outside: Path, what: str) -> None:
    results = exchange_at_each_call(root, outside, what, write_it)
    assert None in results
    assert all(isinstance(each, OutsideRoots) for each in results if each is not None)
    assert os.listdir(outside) == ["file.txt"]
    assert (outside / "file.txt").read_bytes() == b"outside"


def test_these_tests_notice_a_jail_that_looks_first_and_opens_then(
    monkeypatch: pytest.MonkeyPatch, root: Path, outside: Path
) -> None:
    monkeypatch.setattr(files, "HAS_OPENAT", False)
    assert "outside" in exchange_at_each_call(root, outside, "d", read_it)


def test_no_descriptor_is_left_open(jail: Jail, root: Path, outside: Path) -> None:
    put(root / "a/b/f.txt")
    (root / "a/link").symlink_to("b")
    (root / "a/out").symlink_to(outside)
    os.mkfifo(root / "a/fifo")
    before = os.listdir("/proc/self/fd")
    for path in (
        "a/link/f.txt",
        "a/out/file.txt",
        "a/fifo",
        "a/b",
        "a/../..",
        "a/missing/x",
        "x\0",
        ".env",
        "a/b/f.txt/x",
    ):
        for call in every_call(jail):
            with suppress(JailError, OSError):
                call(path)
    assert os.listdir("/proc/self/fd") == before


def test_each_error_is_one_of_ours() -> None:
    for kind in (OutsideRoots, SecretPath, NotAFile, NotText, TooLarge):
        assert issubclass(kind, JailError) and issubclass(kind, AcpellaError)
