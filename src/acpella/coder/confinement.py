"""Runs commands where they can do no harm: bubblewrap, if it is there and works.

A confined command sees the system's programs, the user's toolchains and the copies, and nothing else. A list
of what to hide would never be complete: whoever can see a socket can connect to it, read-only or not.
"""

import functools
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from acpella import _directories as directories
from acpella._processes import inherited_environment
from acpella._redact import rules

__all__ = ["Fence", "confinement"]

TRY_SECONDS = 10.0

READ_VARIABLE = "ACPELLA_SANDBOX_READ"
"""Names further directories to read, like PATH."""

PASS_VARIABLE = "ACPELLA_SANDBOX_ENV"
"""Names further variables that a command gets, whatever they hold."""

_SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt"),
    *("/nix", "/gnu", "/snap", "/run/current-system"),
)
"""Where systems keep programs and what they need."""

_HIDDEN = ("/etc/ssh", "/etc/acpella")
"""Directories there that no command needs."""

_TOOLS = (
    *(".local/bin", ".local/lib", ".local/pipx", ".local/share/pipx", ".local/share/uv", ".local/share/mise"),
    *(".local/share/fnm", ".local/share/pnpm", ".pyenv", ".rbenv", ".rvm", ".asdf", ".nvm", ".volta", ".fnm"),
    *(".cargo/bin", ".cargo/registry", ".cargo/git", ".rustup", "go/bin", "go/pkg", ".bun/bin", ".deno/bin"),
    *(".sdkman", ".ghcup", ".opam", ".elan", ".nix-profile", "miniconda3", "anaconda3", "miniforge3"),
    *(".m2/repository", ".gradle/caches", ".gradle/wrapper", ".ivy2/cache", ".nuget/packages"),
    *(".npm/_cacache", ".cache/pip", ".cache/uv", ".cache/pypoetry", ".cache/pre-commit", ".cache/go-build"),
    *(".cache/yarn", ".cache/pnpm", ".cache/ms-playwright"),
)
"""Toolchains and caches in a home. Not the directories around them, where some keep tokens."""

_TOOL_VARIABLES = (
    *("VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_ROOT", "NVM_DIR", "VOLTA_HOME", "RUSTUP_HOME", "GOROOT"),
    *("GOMODCACHE", "JAVA_HOME", "PLAYWRIGHT_BROWSERS_PATH", "UV_CACHE_DIR", "PIP_CACHE_DIR"),
)
"""Variables that name such directories."""

_EMPTY = ("/tmp", "/var/tmp", "/run")
"""Directories that programs expect, and that are empty here."""

_PASSED = frozenset(
    (
        # who and where one is, in which language and on what screen
        "HOME USER LOGNAME SHELL PATH PWD TMPDIR LANG LANGUAGE TZ TERM COLORTERM COLUMNS LINES NO_COLOR "
        "FORCE_COLOR CLICOLOR CLICOLOR_FORCE PAGER GIT_PAGER MANPAGER XDG_CACHE_HOME XDG_CONFIG_HOME "
        "XDG_DATA_HOME XDG_DATA_DIRS XDG_CONFIG_DIRS XDG_STATE_HOME "
        # what programs are told to do
        "CI DEBUG VERBOSE ENV NODE_ENV APP_ENV RAILS_ENV RACK_ENV MIX_ENV FLASK_APP FLASK_ENV "
        "DJANGO_SETTINGS_MODULE DEBIAN_FRONTEND SOURCE_DATE_EPOCH GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL "
        "GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_CONFIG_GLOBAL GIT_CONFIG_NOSYSTEM "
        # C, make and what is linked
        "CC CXX CPP LD AR AS NM RANLIB STRIP CFLAGS CXXFLAGS CPPFLAGS LDFLAGS MAKEFLAGS CMAKE_GENERATOR "
        "CMAKE_PREFIX_PATH CMAKE_BUILD_TYPE CMAKE_BUILD_PARALLEL_LEVEL PKG_CONFIG_PATH LIBRARY_PATH CPATH "
        "LD_LIBRARY_PATH LOCALE_ARCHIVE SSL_CERT_FILE SSL_CERT_DIR NIX_PATH NIX_PROFILES "
        "NIX_SSL_CERT_FILE CCACHE_DIR "
        # Python
        "VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV PYENV_ROOT PYENV_VERSION UV_CACHE_DIR UV_PYTHON "
        "UV_OFFLINE UV_PROJECT_ENVIRONMENT PIP_CACHE_DIR PIP_NO_INDEX POETRY_CACHE_DIR PYTEST_ADDOPTS "
        "MYPYPATH PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED PYTHONHASHSEED "
        "PYTHONIOENCODING PYTHONUTF8 PYTHONWARNINGS PYTHONNOUSERSITE PYTHONUSERBASE PYTHONPYCACHEPREFIX "
        "PYTHONSAFEPATH PYTHONDEVMODE PYTHONOPTIMIZE PYTHONFAULTHANDLER PYTHONASYNCIODEBUG PYTHON_COLORS "
        "PYTHON_GIL "
        # JavaScript, Rust, Go, the JVM, Ruby and others
        "NODE_OPTIONS NODE_PATH NODE_EXTRA_CA_CERTS NVM_DIR NVM_BIN VOLTA_HOME FNM_DIR PNPM_HOME "
        "BUN_INSTALL DENO_DIR PLAYWRIGHT_BROWSERS_PATH CARGO_HOME CARGO_TARGET_DIR CARGO_INCREMENTAL "
        "CARGO_BUILD_JOBS CARGO_BUILD_TARGET CARGO_NET_OFFLINE CARGO_TERM_COLOR RUSTUP_HOME "
        "RUSTUP_TOOLCHAIN RUSTFLAGS RUSTDOCFLAGS RUST_LOG RUST_BACKTRACE RUST_TEST_THREADS GOROOT GOPATH "
        "GOBIN GOCACHE GOMODCACHE GOFLAGS GOOS GOARCH GOTOOLCHAIN GOMAXPROCS GOEXPERIMENT GO111MODULE "
        "GOWORK CGO_ENABLED CGO_CFLAGS CGO_LDFLAGS JAVA_HOME JAVA_OPTS JAVA_TOOL_OPTIONS MAVEN_OPTS "
        "GRADLE_OPTS GRADLE_USER_HOME ANDROID_HOME ANDROID_SDK_ROOT SDKMAN_DIR GEM_HOME GEM_PATH RUBYLIB "
        "RUBYOPT RBENV_ROOT RBENV_VERSION ASDF_DIR ASDF_DATA_DIR MISE_DATA_DIR DOTNET_ROOT PERL5LIB "
        "LUA_PATH LUA_CPATH GHCUP_INSTALL_BASE_PREFIX OPAMROOT OPAMSWITCH JULIA_DEPOT_PATH R_LIBS "
        "R_LIBS_USER "
    ).split()
)
_PASSED_PREFIX = "LC_"
"""Variables that a confined command gets: which of the others hold a secret, no name tells."""

_SECRET_VALUE = re.compile(
    r"://[^/?#\s]*@|-----BEGIN |\b(?:Bearer|Basic)\s+\S"
    r"|(?:pass\w*|pwd?|psw|secret|token|key|auth\w*|cred(?:ential)?s?|cookies?|jwt|login"
    r"|(?<![a-z])(?:otp|pat|pin|sas))\s*=",
    re.IGNORECASE,
)
"""Values that even such a variable does not bring: addresses and options may hold passwords, too."""

_OPTION_RULES = ("options", "options named pass", "users")
"""Rules for secrets that find the same with a blank: `--password ...`. Others find secrets in a PATH."""


def _is_secret(value: str) -> bool:
    return _SECRET_VALUE.search(value) is not None or any(
        rules()[name].search(value) is not None for name in _OPTION_RULES
    )


@dataclass(frozen=True, slots=True)
class Fence:
    """A working bubblewrap."""

    program: str
    proc: bool
    """Whether it may mount a /proc of its own; inside containers it often may not."""

    def command(
        self, command: str, *, cwd: str, pairs: list[tuple[Path, Path]], private: Iterable[Path] = ()
    ) -> list[str]:
        """The words that run a shell command: no network, and only the copies and an empty home are writable.

        `private` are files of the agent's own, which are hidden wherever they are.
        """
        argv = self.base()
        homes = _homes()
        for home in homes:
            argv += ["--dir", str(home)]
        readable = list(_tools(homes))
        for path in readable:
            argv += ["--ro-bind", str(path), str(path)]
        for root, copy in pairs:
            argv += ["--bind", str(copy), str(root)]
        roots = [root for root, _ in pairs]
        for path in _hidden([*map(Path, _SYSTEM), *readable, *roots], roots):
            argv += ["--tmpfs", str(path)]
        for path in (Path(os.path.realpath(each)) for each in private):
            inside = (copy / path.relative_to(root) for root, copy in pairs if path.is_relative_to(root))
            if next(inside, path).is_file():
                argv += ["--ro-bind", os.devnull, str(path)]
        visible = [*map(Path, _SYSTEM), *readable, *roots]
        for name in dict.fromkeys([cwd, str(Path.home())]):
            real = os.path.realpath(name)
            if real != name and not any(Path(name).is_relative_to(path) for path in visible):
                argv += ["--symlink", real, name]  # the link that leads there cannot be seen
        for name in self.emptied():
            argv += ["--unsetenv", name]
        return [*argv, "--chdir", cwd, "--", "/bin/sh", "-c", command]

    def emptied(self) -> dict[str, str]:
        """What to lay over bubblewrap's own environment, which the command could read otherwise."""
        wanted = os.environ.get(PASS_VARIABLE, "").replace(",", " ").split()
        return {
            name: ""
            for name, value in os.environ.items()
            if name not in wanted
            and (not (name in _PASSED or name.startswith(_PASSED_PREFIX)) or _is_secret(value))
        }

    def base(self) -> list[str]:
        argv = [self.program]
        for path in dict.fromkeys([*_EMPTY, os.path.realpath(tempfile.gettempdir())]):
            argv += ["--tmpfs", path]
        for path in _SYSTEM:
            if os.path.isdir(path):
                argv += ["--ro-bind", path, path]
        argv += ["--dev", "/dev"]
        argv += ["--proc", "/proc"] if self.proc else ["--tmpfs", "/proc"]  # never that of this machine
        directories, files = _not_for_everybody("/etc")
        for path in (*_HIDDEN, *directories):
            if os.path.isdir(path):
                argv += ["--tmpfs", os.path.realpath(path)]
        for path in files:
            argv += ["--ro-bind", os.devnull, path]
        # Without capabilities: root could make everything writable again.
        return [*argv, "--unshare-all", "--cap-drop", "ALL", "--die-with-parent", "--new-session"]


@functools.cache
def _not_for_everybody(top: str) -> tuple[list[str], list[str]]:
    """Directories and files that are not readable by everybody; as root, a command could read them."""
    directories: list[str] = []
    files: list[str] = []
    for place, below, names in os.walk(top):
        for name in list(below):
            mode = os.lstat(path := os.path.join(place, name)).st_mode
            if stat.S_ISDIR(mode) and mode & 0o005 != 0o005:
                directories.append(path)
                below.remove(name)
        for name in names:
            mode = os.lstat(path := os.path.join(place, name)).st_mode
            if stat.S_ISREG(mode) and not mode & 0o004:
                files.append(path)
    return directories, files


def _homes() -> list[Path]:
    """The user's home, and that of the account where HOME names another."""
    homes = [os.path.realpath(Path.home())]
    if sys.platform != "win32":
        import pwd

        try:
            homes.append(os.path.realpath(pwd.getpwuid(os.getuid()).pw_dir))
        except KeyError:
            pass  # a user without an account, as in containers
    return [Path(home) for home in dict.fromkeys(homes) if home != "/"]


def _tools(homes: list[Path]) -> Iterator[Path]:
    """The directories of toolchains that are there, outer ones first."""
    candidates = [home / name for home in homes for name in _TOOLS]
    candidates += [Path(value) for name in _TOOL_VARIABLES if (value := os.environ.get(name))]
    for entry in os.get_exec_path():
        path = Path(entry)
        candidates.append(path.parent if (path.parent / "pyvenv.cfg").is_file() else path)
    candidates += [Path(value) for value in os.environ.get(READ_VARIABLE, "").split(os.pathsep) if value]
    around = [*homes, *map(Path, _EMPTY), Path(tempfile.gettempdir())]
    for path in sorted({each for each in candidates if each.is_absolute() and each.is_dir()}):
        if any(Path(os.path.realpath(outer)).is_relative_to(os.path.realpath(path)) for outer in around):
            continue  # a whole home, or what lies around it
        if not any(path.is_relative_to(system) for system in _SYSTEM):
            yield path


def _hidden(visible: list[Path], roots: list[Path]) -> list[Path]:
    """The names under which directories of acpella's own would be seen; one may stand behind a link."""
    names: set[Path] = set()
    for own in _own_directories():
        if any(root.is_relative_to(own) for root in roots):
            continue  # that is a copy
        for path in visible:
            real = os.path.realpath(path)
            if own.is_relative_to(real):
                names.add(path / own.relative_to(real))
            elif path.is_relative_to(own):
                names.add(own)
    return sorted(names)


def _own_directories() -> Iterator[Path]:
    """Where acpella keeps settings, sessions and the sockets of running sessions, as far as they exist."""
    paths = [Path(path) for path in directories.own()]
    for temporary in {"/tmp", os.environ.get("TMPDIR") or "/tmp"}:
        paths += Path(temporary).glob("acpella-*")
    if store := os.environ.get("ACPELLA_STORE"):
        paths.append(Path(store).expanduser())
    for path in sorted({Path(os.path.realpath(each)) for each in paths}):
        if path.is_dir():
            yield path


@functools.cache
def confinement() -> Fence | str:
    """How commands can be confined here, or why they cannot; found out by trying. Blocks for a moment."""
    program = shutil.which("bwrap")
    if program is None:
        return "bubblewrap (`bwrap`) is not installed"
    why = ""
    for proc in (True, False):
        fence = Fence(program, proc)
        try:
            tried = subprocess.run(
                [*fence.base(), "--", "/bin/sh", "-c", "true"],
                stdin=subprocess.DEVNULL,
                env=inherited_environment(),
                capture_output=True,
                timeout=TRY_SECONDS,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"bubblewrap does not work here ({error})"
        if tried.returncode == 0:
            return fence
        why = tried.stderr.decode("utf-8", "replace").strip() or f"exit code {tried.returncode}"
    return f"bubblewrap does not work here ({why})"
