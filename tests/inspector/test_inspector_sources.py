"""Several conversations in one inspector: those of a server, for people with the scope `admin`."""

import asyncio
import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from inspector_pages import OpenPage, run_program

import acpella
from acpella.inspector.sources import of_directory

AGENT = """
import acpella

async def reply(turn):
    yield f"You said: {turn.text}"

acpella.run(reply)
"""
ADMIN, PLAIN = "a" * 64, "b" * 64
BEFORE_LOGIN = r"\b40[13]\b|Password forms"
"""What the browser itself reports of a page that asks for a token, and of what a token does not allow."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("served")
    (folder / "agent.py").write_text(AGENT)
    (folder / "tokens").write_text(f"ada {ADMIN}\nbob {PLAIN} scopes=read,prompt\n")
    (folder / "tokens").chmod(0o600)
    words = ["serve", "--web", "--inspect", "--port", "0", "--token-file", str(folder / "tokens")]
    pages = ("the page: ", "the inspector: ")
    with run_program(*words, str(folder / "agent.py"), announces=pages, cwd=folder) as address:
        yield address.removesuffix("/acp")


def ask(url: str, token: str) -> Any:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read())


def refusal(url: str, token: str) -> int:
    try:
        ask(url, token)
    except urllib.error.HTTPError as error:
        with error:
            return error.code
    return 200


async def talk(url: str, token: str, text: str) -> str:
    async with acpella.connect(f"{url}/acp", token=token) as agent:
        session = await agent.new_session(cwd="/tmp")
        return (await session.prompt(text)).text


def test_each_connection_of_a_server_is_a_conversation_of_its_own(server: str) -> None:
    assert asyncio.run(talk(server, ADMIN, "one")) == "You said: one"
    assert asyncio.run(talk(server, PLAIN, "two")) == "You said: two"
    sources = ask(f"{server}/inspect/sources", ADMIN)["sources"]
    assert sorted(source["name"].partition(" ")[0] for source in sources) == ["ada", "bob"]
    previews: dict[str, set[str]] = {}
    for source in sources:
        batch = ask(f"{server}/inspect/rows?after=0&source={source['id']}", ADMIN)
        assert batch["source"] == source["id"] and not batch["can_hold"]
        who = source["name"].partition(" ")[0]
        previews[who] = {row.get("preview", "") for row in batch["rows"]}
    assert "one" in previews["ada"] and "two" not in previews["ada"]
    assert "two" in previews["bob"] and "one" not in previews["bob"]


def test_of_connections_in_the_same_second_the_later_one_comes_last(tmp_path: Path) -> None:
    """The page shows the last one."""
    for changed, name in enumerate(("ada-ffffff", "bob-aaaaaa", "ada-000000"), 1):
        file = tmp_path / f"20261116T060000-{name}.jsonl"
        file.write_text("")
        os.utime(file, ns=(changed, changed))
    assert [source.id[16:26] for source in of_directory(tmp_path)()] == [
        "ada-ffffff",
        "bob-aaaaaa",
        "ada-000000",
    ]


@pytest.mark.parametrize("what", ["sources", "rows?after=0", "hold", "copy?n=1"])
def test_only_admins_look_at_a_server(server: str, what: str) -> None:
    for token, code in ((PLAIN, 403), ("c" * 64, 401)):
        assert refusal(f"{server}/inspect/{what}", token) == code


def test_both_pages_are_offered(server: str) -> None:
    for path, title in (("/", "<title>acpella"), ("/inspect", "<title>Inspector")):
        request = urllib.request.Request(f"{server}{path}", headers={"Accept": "text/html"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert title in answer.read().decode()


def test_a_recording_that_is_not_offered_cannot_be_asked_for(server: str) -> None:
    for name in ("../../etc/passwd", "nothing.jsonl", "/etc/passwd"):
        assert refusal(f"{server}/inspect/rows?after=0&source={name}", ADMIN) == 404


def test_a_person_types_a_token_chooses_a_conversation_and_copies_it(
    server: str, open_page: OpenPage
) -> None:
    from playwright.sync_api import expect

    expect.set_options(timeout=60_000)
    for token, text in ((ADMIN, "apples"), (PLAIN, "pears")):
        assert asyncio.run(talk(server, token, text)) == f"You said: {text}"
    page = open_page(f"{server}/inspect", may_report=BEFORE_LOGIN)
    page.context.grant_permissions(["clipboard-write"], origin=server)
    page.fill("[data-token]", ADMIN)
    page.keyboard.press("Enter")
    # the latest is shown, and another one can be chosen
    rows = page.locator("[data-list]")
    expect(rows).to_contain_text("pears")
    menu = page.locator("[data-conversations] option")
    others = [one for one in menu.all() if "ada" in (one.text_content() or "")]
    page.fill("[data-filter]", "apples")  # a text stays a filter for what is chosen then
    expect(rows).to_contain_text("No row fits the filter.")
    page.select_option("[data-conversations]", others[-1].get_attribute("value"))
    expect(rows).to_contain_text("apples")
    expect(rows).not_to_contain_text("initialize")
    page.fill("[data-filter]", "")
    expect(rows).to_contain_text("initialize")
    expect(rows).not_to_contain_text("pears")
    page.fill("[data-filter]", "method:session/prompt kind:res")
    page.locator("[data-row]").first.click()
    for kind, words in (
        ("python", "session_1.prompt('apples')"),
        ("pytest", "def test_the_conversation"),
    ):
        page.click(f"[data-copy={kind}]")
        expect(page.locator(f"[data-copy={kind}]")).to_have_text("copied")
        page.fill("[data-filter]", "")
        page.focus("[data-filter]")
        page.keyboard.press("ControlOrMeta+v")  # what a person would paste elsewhere
        assert words in page.input_value("[data-filter]")
        page.fill("[data-filter]", "")
    # from the page of the conversation, a link leads here, for those who may come
    page.goto(f"{server}/")
    page.get_by_label("Prompt", exact=True).fill("plums")
    page.keyboard.press("Enter")
    with page.context.expect_page() as opened:
        page.click("text=Open inspector")
    expect(opened.value.locator("[data-list]")).to_contain_text("plums")
    page = open_page(f"{server}/", may_report=BEFORE_LOGIN)
    page.get_by_label("Your token").fill(PLAIN)
    page.get_by_role("button", name="Log in").click()
    page.get_by_label("Prompt", exact=True).fill("figs")
    page.keyboard.press("Enter")
    expect(page.get_by_role("log")).to_contain_text("You said: figs")
    expect(page.locator("text=Open inspector")).to_have_count(0)
