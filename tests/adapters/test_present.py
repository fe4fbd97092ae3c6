"""What a tool call looks like to the user."""

from dataclasses import dataclass
from typing import Any

import pytest

from acpella.adapters.jsonable import as_text, plain, to_json
from acpella.adapters.present import Change, Presented, present


@pytest.mark.parametrize(
    ("name", "arguments", "shown"),
    [
        ("read_file", {"path": "a.py"}, Presented("Read a.py", "read", ["a.py"])),
        ("readFile", {"filename": "a.py", "line": 3}, Presented("Read a.py", "read", [("a.py", 3)])),
        ("bash", {"command": "ls -l"}, Presented("ls -l", "execute")),
        ("run", {"cmd": ["ls", "a b"]}, Presented("ls 'a b'", "execute")),
        (
            "str_replace",
            {"path": "a.py", "old_str": "x", "new_str": "y"},
            Presented("str_replace a.py", "edit", ["a.py"], Change("a.py", "x", "y")),
        ),
        (
            "write_file",
            {"file_path": "a.py", "content": "x"},
            Presented("Write a.py", "edit", ["a.py"], Change("a.py", None, "x")),
        ),
        ("update_ticket", {"id": 7}, Presented("update_ticket(id=7)", "other")),
        ("delete_file", {"path": "a"}, Presented("Delete a", "delete", ["a"])),
        ("delete_user", {"id": 7}, Presented("delete_user(id=7)", "other")),
        ("web_search", {"query": "x"}, Presented("web_search(query=x)", "fetch")),
        ("fetch", {"path": "https://example.org"}, Presented("fetch(path=https://example.org)", "fetch")),
        ("weather", {}, Presented("weather()", "other")),
    ],
)
def test_name_and_arguments_become_words(name: str, arguments: dict[str, Any], shown: Presented) -> None:
    assert present(name, arguments) == shown


def test_a_long_command_is_shown_whole_and_a_long_title_is_not() -> None:
    command = "echo " + "x" * 1000
    assert present("bash", {"command": command}).title == command
    assert len(present("other", {"value": "y" * 1000, "more": "z" * 1000}).title) < 130


def test_an_author_says_it_better() -> None:
    overrides: Any = {
        "deploy": {"kind": "execute", "title": "Deploy {env}"},
        "look": lambda arguments: {"title": f"Look at {arguments['what']}", "location": "what"},
    }
    assert present("deploy", {"env": "prod"}, overrides) == Presented("Deploy prod", "execute")
    assert present("deploy", {}, overrides).title == "Deploy {env}"
    assert present("look", {"what": "a.py"}, overrides) == Presented("Look at a.py", "other", ["a.py"])
    with pytest.raises(ValueError, match="knows title, kind and location, not colour"):
        present("deploy", {}, {"deploy": {"colour": "red"}})


@dataclass
class Point:
    x: int
    inner: object = None


def test_any_value_becomes_json() -> None:
    assert to_json({1: Point(2, b"ab"), "s": {3}}) == {"1": {"x": 2, "inner": "YWI="}, "s": [3]}
    assert to_json(float("nan")) == "nan"
    loop: list[Any] = []
    loop.append(loop)
    assert as_text(loop)  # ends
    assert as_text("plain") == "plain" and as_text(None) == ""
    assert as_text(Point(1)) == '{"x":1,"inner":null}'


def test_a_str_of_a_framework_becomes_one_of_ours() -> None:
    class Text(str):
        def __str__(self) -> str:
            return self

    assert type(plain(Text("a"))) is str and plain(Text("a")) == "a"
    value = to_json({"text": Text("a"), "kinds": [Text("b")]})
    assert type(value["text"]) is str and type(value["kinds"][0]) is str
    assert type(as_text(Text("a"))) is str
