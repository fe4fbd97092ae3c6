"""What "always" stands for when a command is asked about: a program, or exactly that command."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from acpella.coder.mcp_tools import McpCoderTool
from acpella.coder.tool import Announcement
from acpella.coder.tools.command_keys import known_program
from acpella.coder.tools.run import Run
from acpella.local import Jail
from acpella.mcp.servers import McpTool

COARSE = """
git status
git status -s
git status -sb src
git log --oneline -5
git log -n 3 src/a.py
git log -p main..origin/main
git diff --staged
git diff HEAD^ src/a.py
git show HEAD:src/a.py
git blame -L 1,5 src/a.py
git add src/a.py
git add -A
git commit -m 'mend the parser'
git commit -a -m done
git branch -a
git switch -c topic
git fetch --prune
git pull --ff-only
git rev-parse --abbrev-ref HEAD
ls
ls -la src
cat src/a.py
head -n 5 src/a.py
head -20 src/a.py
tail -n 5 src/a.py
wc -l src/a.py
tree -L 2 src
echo /etc/passwd
which python3
pytest
pytest -q tests
pytest -xvs tests/test_a.py::test_b
pytest -k 'parser and not slow'
mypy --strict src
ruff check src
ruff format --check .
pyright src
tsc --noEmit
cargo test --release parser
go test -v ./...
npm test
npm ci
pip list --outdated
uv sync --locked
"""

EXACT = """
mypy --python-executable ./evil src
mypy --config-file evil.ini src
mypy --install-types
mypy --junit-xml /x src
mypy @options src
pytest -p evil
pytest -p no:cacheprovider
pytest --basetemp src
pytest --basetemp=src
pytest -c evil.ini
pytest --rootdir /
pytest -o addopts=x
pytest -kx
pytest --pyargs os
pytest ../other
pytest /other/tests
pytest @options
ruff check --fix src
ruff check --output-file ../x src
ruff --config x.toml check
ruff @options
tsc --outDir /x
tsc -outdir /x
tsc --noEmit -p /other
tsc @options
npm test --script-shell ./evil
npm test -- --evil
npm install evil
npm install --registry http://x
npm ci --prefix /other
pip install --index-url http://x y
pip install requests
pip list --python ./evil
uv sync --index-url http://x
uv sync --directory /other
git push
git push --mirror
git push --mirror evil
git push origin +main
git push http://x main
git fetch --upload-pack ./evil .
git fetch --upl ./evil .
git fetch http://x
git pull http://x main
git diff --output x
git diff --no-index /etc/passwd src
git diff /etc/passwd /etc/shadow
git diff --ext-diff
git show HEAD:.env
git show :/fix
git log --output x
git branch -D main
git branch -f main HEAD^
git switch -C main
git switch --discard-changes main
git restore .
git stash clear
git commit --amend
git commit -F /etc/passwd
git commit -m -x
git add ../x
git -c core.pager=x log
git -C /other status
cat ~/.ssh/id_rsa
cat /etc/passwd
cat ../x
cat .env
cat src/outside
cat .git/config
head -n 5 /etc/passwd
tail --follow src/a.py
ls /
ls ~
wc --files0-from x
tree -o x
file -C -m x
date -s tomorrow
date 01010000
du --files0-from x
go test -exec ./evil
go build -o /x
go build -toolexec ./evil
cargo test --config x
cargo build --target-dir /x
cargo fmt -- --config-path /x
git status; rm -rf /
git status && ls
ls $(rm x)
ls `rm x`
echo x > /etc/passwd
cat src/*
X=1 ls
./ls
'git status' x
git 'status x'
python3 x.py
sh -c ls
find . -exec rm {} +
echo 'un
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("place") / "project"
    (place / "src").mkdir(parents=True)
    (place / "src" / "a.py").write_text("", encoding="utf-8")
    (place / "src" / "outside").symlink_to("/etc/passwd")
    return place


@pytest.mark.parametrize("command", EXACT.strip().splitlines())
def test_always_covers_one_command_where_its_words_can_make_something_else_of_it(
    project: Path, command: str
) -> None:
    assert known_program(command, project, Jail([project])) is None


@pytest.mark.parametrize("command", COARSE.strip().splitlines())
def test_always_covers_a_program_with_harmless_options_inside_the_project(
    project: Path, command: str
) -> None:
    words = command.split()
    program = known_program(command, project, Jail([project]))
    assert program in (words[0], " ".join(words[:2]))
    assert known_program(program, project, Jail([project])) == program


def test_a_command_with_a_hidden_character_is_remembered_as_it_is(project: Path) -> None:
    for command in ("ls \x1b]x\x07", "ls \u202esrc", "ls\tsrc", "ls \u200bsrc"):
        assert known_program(command, project, Jail([project])) is None


def test_a_directory_that_was_added_to_the_session_counts_as_inside(project: Path, tmp_path: Path) -> None:
    command = f"cat {tmp_path}/x"
    assert known_program(command, project, Jail([project])) is None
    assert known_program(command, project, Jail([project, tmp_path])) == "cat"


@pytest.mark.parametrize("blank", ["\u2003", "\u00a0", "\u3000", "\u2009", "\x0b", "\x0c", "\r"])
def test_a_blank_that_is_none_for_a_shell_belongs_to_the_name_of_a_file(project: Path, blank: str) -> None:
    """A link of such a name leads wherever the project wants; without the blank it is not there."""
    for command in (f"cat readme{blank}", f"cat {blank}readme", f"{blank}cat readme"):
        assert known_program(command, project, Jail([project])) is None


@pytest.mark.parametrize(
    "words",
    ["show HEAD:private.txt", "show", "diff", "diff HEAD:private.txt", "log -p", "blame private.txt"],
)
def test_git_shows_more_than_a_session_in_a_part_of_its_repository_may_see(
    tmp_path: Path, words: str
) -> None:
    (tmp_path / "part").mkdir()
    (tmp_path / ".git").mkdir()
    command = f"git {words}"
    assert known_program(command, tmp_path / "part", Jail([tmp_path / "part"])) is None
    assert known_program(command, tmp_path / "part", Jail([tmp_path])) == " ".join(command.split()[:2])


def test_git_reads_a_file_of_a_commit_from_the_top_of_the_repository(tmp_path: Path) -> None:
    for name in (".git", "part/config"):
        (tmp_path / name).mkdir(parents=True)
    show = "git show HEAD:{}"
    jail = Jail([tmp_path])
    assert known_program(show.format("part/a.py"), tmp_path / "part", jail) == "git show"
    assert known_program(show.format("private.pem"), tmp_path / "part", jail) is None
    assert known_program(show.format("../x"), tmp_path / "part", jail) is None


@pytest.mark.parametrize(
    ("command", "key", "covers"),
    [
        ("ls", "run program:ls", '"ls" with harmless options'),
        ("cat readme\u2003", "run:cat readme\u2003", "exactly this"),
        ("cat readme", "run program:cat", '"cat" with harmless options'),
        ("cat readme\\ ", "run:cat readme\\ ", "exactly this"),
    ],
)
def test_the_question_says_what_always_covers(project: Path, command: str, key: str, covers: str) -> None:
    """Also where the command is no more than the program, and where it ends with a blank."""
    told = Run(None).announce({"command": command}, project)  # type: ignore[arg-type] # announces without one
    assert (told.permission_key, told.covers) == (key, covers)
    assert told.title == f"Run {command.strip(' ')}"


def test_always_for_exactly_one_command_covers_no_others_once_the_session_has_more_directories(
    tmp_path: Path,
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "part").mkdir()

    def announced(command: str, *roots: Path) -> Announcement:
        session: Any = SimpleNamespace(session=SimpleNamespace(jail=lambda: Jail(roots)))
        return Run(session).announce({"command": command}, tmp_path / "part")

    exact = announced("git diff", tmp_path / "part")
    assert exact.covers == "exactly this"
    for command in ("git diff", "git diff HEAD"):
        wide = announced(command, tmp_path / "part", tmp_path)
        assert wide.covers == '"git diff" with harmless options'
        assert wide.permission_key != exact.permission_key
        assert not wide.permission_key.startswith("run:"), "what was remembered before was for either"


def test_always_for_a_tool_of_one_mcp_server_covers_no_tool_of_another() -> None:
    """A server calls its tools as it likes, also by what looks like the rest of another server's name."""

    def key(server: str, tool: str) -> str:
        described = McpTool("n", server, tool, title="t", description="", schema={}, read_only=False)
        return McpCoderTool(cast("Any", None), described).announce({}, Path()).permission_key

    assert key("work:files", "remove") != key("work", "files:remove")
    assert key("a%3Ab", "c") != key("a:b", "c")
    assert key("work", "remove") == "mcp:work:remove"
