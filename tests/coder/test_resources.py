"""What prompts carry and link to, as a model gets it (B7, C4, C12)."""

import asyncio
import base64
import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from acpella.agent import Agent
from acpella.coder import resources
from acpella.coder.resources import resolve
from acpella.errors import InternalError
from agent.editor import FS, FakeEditor, Json, editing, text
from coder.test_fetching import page, serving

pytestmark = pytest.mark.anyio

NOTICES: Any = {"session": {"notices": {}}}
IMAGES = {
    "image/png": b"\x89PNG\r\n\x1a\n" + b"\0" * 20,
    "image/jpeg": b"\xff\xd8\xff\xe0" + b"\0" * 20,
    "image/gif": b"GIF89a" + b"\0" * 20,
    "image/webp": b"RIFF\0\0\0\0WEBPVP8 " + b"\0" * 20,
}
WAV = b"RIFF\0\0\0\0WAVEfmt " + b"\0" * 20
MIB = 1024 * 1024


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / "state"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    place.mkdir()
    return place


def resolving(*accepts: Any, local: bool = True, **options: Any) -> Agent:
    """An agent that says as JSON what its model would get."""
    agent = Agent("tested", local=local, images=True, audio=True)

    @agent.on_prompt
    async def reply(turn: Any) -> str:
        parts = await resolve(turn, turn.prompt, frozenset(accepts), **options)
        return json.dumps([msgspec.to_builtins(part) for part in parts])

    return agent


async def given(editor: FakeEditor, cwd: Path, *blocks: Json, **session: Any) -> list[Json]:
    """What the model gets of these blocks."""
    opened = await editor.new(cwd=str(cwd), **session)
    editor.forget()
    assert await editor.prompt(opened, list(blocks)) == "end_turn"
    return json.loads(editor.updates("agent_message_chunk")[-1]["content"]["text"])  # warnings come before


async def one(editor: FakeEditor, cwd: Path, block: Json, **session: Any) -> Json:
    return (await given(editor, cwd, block, **session))[0]


def link(uri: str | Path) -> Json:
    return {"type": "resource_link", "uri": uri.as_uri() if isinstance(uri, Path) else uri, "name": "it"}


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def image(data: bytes, mime_type: str = "image/png") -> Json:
    return {"type": "image", "data": b64(data), "mimeType": mime_type}


async def refused(cwd: Path, block: Json, *words: str, accepts: tuple[str, ...] = ("image",)) -> None:
    """The model is told that it does not get this, the user is warned, and the turn goes on."""
    async with editing(resolving(*accepts), **NOTICES) as editor:
        before, part, after = await given(editor, cwd, text("before"), block, text("after"))
        assert (before["text"], after["text"]) == ("before", "after")
        assert part["type"] == "text" and "is not included: " in part["text"]
        (notice,) = editor.updates("notice")
        assert notice["severity"] == "warning" and notice["title"].startswith("Not given to the model: ")
        for word in words:
            assert word in part["text"] and word in notice["title"] + notice["description"]


# -- in the prompt -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", IMAGES)
async def test_images_of_the_known_kinds_are_given(kind: str, project: Path) -> None:
    async with editing(resolving("image")) as editor:
        part = await one(editor, project, image(IMAGES[kind], kind))
        assert part == {"type": "image", "data": b64(IMAGES[kind]), "mime_type": kind}
        wrong = await one(editor, project, image(IMAGES[kind], "image/png"))  # its bytes count
        assert wrong["mime_type"] == kind


@pytest.mark.parametrize(
    ("block", "words"),
    [
        (image(b"<svg/>", "image/webp"), "not a PNG, JPEG, GIF or WebP image"),
        (image(b"MZ\x90 a program", "image/png"), "not a PNG, JPEG, GIF or WebP image"),
        (image(IMAGES["image/png"] + b"\0" * 5 * MIB), "larger than 5 MiB"),
        ({"type": "image", "data": "!!!", "mimeType": "image/png"}, "not base64"),
        ({"type": "image", "data": "", "mimeType": "image/png"}, "empty"),
        (
            {"type": "image", "data": "", "mimeType": "image/png", "uri": "http://x/y.png"},
            "send it as a link",
        ),
        ({"type": "audio", "data": b64(b"what"), "mimeType": "audio/wav"}, "not a sound in a known format"),
    ],
)
async def test_other_images_and_sounds_are_skipped_with_a_warning(
    block: Json, words: str, project: Path
) -> None:
    await refused(project, block, words, accepts=("image", "audio"))


async def test_what_a_model_does_not_take_is_described(project: Path) -> None:
    sound = {"type": "audio", "data": b64(WAV), "mimeType": "audio/wav"}
    await refused(project, sound, "audio/wav", "this model takes no sounds")
    await refused(project, image(IMAGES["image/png"]), "this model takes no images", accepts=())
    async with editing(resolving("audio")) as editor:
        part = await one(editor, project, sound)
        assert part == {"type": "audio", "data": b64(WAV), "mime_type": "audio/wav"}


async def test_embedded_resources_are_given(project: Path) -> None:
    def embedded(**held: str) -> Json:
        return {"type": "resource", "resource": {"uri": "file:///a b.py", **held}}

    async with editing(resolving("image", "audio")) as editor:
        parts = await given(
            editor,
            project,
            embedded(text="print(1)"),
            embedded(blob=b64(b"plain text")),
            embedded(blob=b64(IMAGES["image/gif"])),
            embedded(blob=b64(WAV)),
        )
        assert parts[0]["text"] == '<resource uri="file:///a b.py">\nprint(1)\n</resource>'
        assert "\nplain text\n" in parts[1]["text"]
        assert parts[2]["mime_type"] == "image/gif" and parts[3]["mime_type"] == "audio/wav"
    await refused(project, embedded(blob=b64(b"\0\1\2")), "not text", "file:///a b.py")
    await refused(project, embedded(text="x" * (MIB + 1)), "larger than 1 MiB")


# -- files -------------------------------------------------------------------------------------


async def test_a_linked_file_inside_the_roots_is_given(project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (project / "a b.txt").write_text("one\ntwo\nthree\nfour\n", encoding="utf-8")
    (other / "c.txt").write_text("sea", encoding="utf-8")
    (project / "inside").symlink_to(other / "c.txt")
    async with editing(resolving()) as editor:
        file = (project / "a b.txt").as_uri()
        parts = await given(
            editor,
            project,
            *(link(f"{file}{lines}") for lines in ("", "#L2", "#L2-L3", "#L2:3", "#anchor")),
            link(str(other / "c.txt")),
            link(project / "inside"),
            link(f"file://localhost{other}/c.txt"),
            additionalDirectories=[str(other)],
        )
        texts = [part["text"].split("\n", 1)[1].removesuffix("\n</resource>") for part in parts]
        whole = "one\ntwo\nthree\nfour\n"
        assert texts == [whole, "two\n", "two\nthree\n", "two\nthree\n", whole, "sea", "sea", "sea"]
        assert parts[0]["text"].startswith(f'<resource uri="{file}">\n')


async def test_a_linked_image_is_given_to_models_that_take_it(project: Path) -> None:
    (project / "a.png").write_bytes(IMAGES["image/png"])
    (project / "big.png").write_bytes(IMAGES["image/png"] + b"\0" * 2 * MIB)
    async with editing(resolving("image")) as editor:
        assert (await one(editor, project, link(project / "a.png")))["data"] == b64(IMAGES["image/png"])
        assert (await one(editor, project, link(project / "big.png")))["type"] == "image"
    await refused(project, link(project / "a.png"), "takes no images", accepts=())


async def test_files_elsewhere_are_refused(project: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("treasure", encoding="utf-8")
    (project / "escape").symlink_to(outside)
    (project / "up").symlink_to(tmp_path)
    (tmp_path / "project-two").mkdir()
    (tmp_path / "project-two" / "x").write_text("treasure", encoding="utf-8")
    for target in (
        outside,
        project / "escape",
        project / "up" / "outside.txt",
        project / ".." / "outside.txt",
        tmp_path / "project-two" / "x",
        Path("/etc/hostname"),
        Path("/proc/self/environ"),
    ):
        await refused(project, link(str(target)), "outside of")
    await refused(project, link(f"file://{project}/%2e%2e/outside.txt"), "outside of")
    await refused(project, link(f"file://elsewhere{outside}"), "another machine")
    await refused(project, link("file:relative.txt"), "must be absolute")
    await refused(project, link(f"file://{project}/a%00b"), "NUL")


async def test_secret_places_are_refused_inside_the_roots_too(tmp_path: Path) -> None:
    (tmp_path / ".ssh").mkdir()
    for name in (".ssh/id_ed25519", ".ssh/config", ".env", "key.pem"):
        (tmp_path / name).write_text("treasure", encoding="utf-8")
        await refused(tmp_path, link(tmp_path / name), "keys or passwords")
    await refused(Path("/"), link("file:///proc/self/environ"), "keys or passwords")
    await refused(Path("/"), link("file:///dev/zero"), "keys or passwords")


async def test_one_mebibyte_is_given_and_a_byte_more_is_not(project: Path) -> None:
    file = project / "big.txt"
    file.write_bytes(b"x" * MIB)
    async with editing(resolving()) as editor:
        assert len((await one(editor, project, link(file)))["text"]) > MIB
    file.write_bytes(b"x" * (MIB + 1))
    await refused(project, link(file), "1048576 bytes")


async def test_what_is_no_text_file_is_refused(project: Path) -> None:
    (project / "program").write_bytes(b"\x7fELF\0\1\2")
    (project / "latin").write_bytes("grüß".encode("latin-1"))
    (project / "folder").mkdir()
    os.mkfifo(project / "pipe")
    await refused(project, link(project / "program"), "is a binary file")
    await refused(project, link(project / "latin"), "not UTF-8")
    await refused(project, link(project / "folder"), "is a directory")
    await refused(project, link(project / "pipe"), "is a pipe")
    await refused(project, link(project / "missing.txt"), "there is no such file")
    await refused(project, link("ftp://example.test/x"), "only links to files and to web pages")
    await refused(project, link("zed:///agent/thread/1"), "only links to files and to web pages")


async def test_unsaved_changes_in_the_editor_are_seen(project: Path) -> None:
    file = project / "a.txt"
    file.write_text("saved", encoding="utf-8")
    async with editing(resolving(), **FS) as editor:
        editor.files[str(file)] = "unsaved"
        editor.files[str(project / "new.txt")] = "never saved"
        parts = await given(editor, project, link(file), link(project / "new.txt"))
        assert "\nunsaved\n" in parts[0]["text"] and "\nnever saved\n" in parts[1]["text"]
        del editor.files[str(file)]  # not open there
        assert "\nsaved\n" in (await one(editor, project, link(file)))["text"]
        editor.on["fs/read_text_file"] = InternalError("crashed")
        assert "\nsaved\n" in (await one(editor, project, link(file)))["text"]


async def test_the_editor_is_not_asked_for_what_is_refused(project: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("treasure", encoding="utf-8")
    (project / "escape").symlink_to(tmp_path / "outside.txt")
    os.mkfifo(project / "pipe")
    async with editing(resolving(), **FS) as editor:
        paths = [project / "escape", project / "pipe", project / ".env", Path("/etc/passwd")]
        parts = await given(editor, project, *map(link, paths))
        assert all("is not included" in part["text"] for part in parts)
        assert not editor.calls("fs/read_text_file")


async def test_a_buffer_of_the_editor_has_the_same_limit(project: Path) -> None:
    async with editing(resolving(), **FS) as editor:
        editor.files[str(project / "a.txt")] = "ü" * (MIB // 2 + 1)
        part = await one(editor, project, link(project / "a.txt"))
        assert "larger than 1 MiB" in part["text"]


async def test_an_editor_that_does_not_answer_has_a_deadline(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resources, "LINK_TIMEOUT", 0.2)
    async with editing(resolving(), **FS) as editor:
        editor.on["fs/read_text_file"] = lambda params: asyncio.Event().wait()
        part = await one(editor, project, link(project / "a.txt"))
        assert "took longer than 0.2 seconds" in part["text"]


async def test_an_agent_without_leave_reads_nothing_of_this_machine(project: Path) -> None:
    (project / "a.txt").write_text("here", encoding="utf-8")
    (project / "a.png").write_bytes(IMAGES["image/png"])
    async with editing(resolving("image", local=False)) as editor:
        parts = await given(editor, project, link(project / "a.txt"), link(project / "a.png"))
        assert all("may not read files of this machine" in part["text"] for part in parts)


async def test_there_is_an_end_to_links_and_to_what_they_hold(project: Path) -> None:
    (project / "a.txt").write_text("a", encoding="utf-8")
    (project / "big.txt").write_text("x" * MIB, encoding="utf-8")
    async with editing(resolving()) as editor:
        parts = await given(editor, project, *[link(project / "a.txt")] * 40)
        followed = ["is not included" not in part["text"] for part in parts]
        assert followed == [True] * 32 + [False] * 8
        parts = await given(editor, project, *[link(project / "big.txt")] * 5, link(project / "a.txt"))
        followed = ["is not included" not in part["text"] for part in parts]
        assert followed == [True, True, True, False, False, True]


# -- pages -------------------------------------------------------------------------------------


async def test_a_linked_page_and_a_linked_picture_are_given(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACPELLA_FETCH_PRIVATE", "1")
    with serving(page("<p>grüß".encode(), "text/html")) as (port, _):
        async with editing(resolving()) as editor:
            part = await one(editor, project, link(f"http://127.0.0.1:{port}/"))
            assert part["text"] == f'<resource uri="http://127.0.0.1:{port}/">\n<p>grüß\n</resource>'
    with serving(page(IMAGES["image/webp"], "image/webp")) as (port, _):
        async with editing(resolving("image")) as editor:
            assert (await one(editor, project, link(f"http://127.0.0.1:{port}/")))["type"] == "image"


async def test_pages_that_cannot_be_had_are_told(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(page(b"", status=302, Location="http://example.test/")) as (port, asked):
        here = f"http://127.0.0.1:{port}/"
        await refused(project, link(here), "an address of this machine")
        await refused(project, link("http://100.64.1.1/"), "100.64.1.1")
        await refused(project, link("http://[fd00::1]/"), "fd00::1")
        assert not asked
        monkeypatch.setenv("ACPELLA_FETCH_PRIVATE", "1")
        await refused(project, link(here), "redirects to http://example.test/")
        assert asked


async def test_a_name_that_changes_its_answer_gives_nothing_away(project: Path) -> None:
    answers = [["93.184.215.14", "127.0.0.1"], ["127.0.0.1"]]

    async def look_up(host: str, port: int) -> list[str]:
        return answers.pop(0)

    with serving(page(b"treasure")) as (port, asked):
        async with editing(resolving(resolver=look_up)) as editor:
            parts = await given(editor, project, *[link(f"http://rebind.test:{port}/")] * 2)
            assert all("is not included" in part["text"] for part in parts)
            assert not asked
