"""What changed between two texts, as the page shows it, is all that changed and little more."""

import json
import random
import subprocess
from pathlib import Path
from typing import Any

from test_page_fold import WEB, node

HERE = Path(__file__).parent


def compared(pairs: list[tuple[str, str]], directory: Path) -> list[list[dict[str, Any]]]:
    file = directory / "pairs.json"
    file.write_text(json.dumps(pairs), encoding="utf-8")
    done = subprocess.run(
        [node(), HERE / "lines_peer.mjs", WEB, file], capture_output=True, timeout=120, check=True
    )
    return json.loads(done.stdout)


def text_of(hunks: list[dict[str, Any]], *kinds: str) -> str:
    return "".join("".join(hunk["lines"]) for hunk in hunks if hunk["kind"] in kinds)


def changed(hunks: list[dict[str, Any]]) -> int:
    return sum(len(hunk["lines"]) for hunk in hunks if hunk["kind"] != "same")


def test_both_texts_can_be_read_from_what_is_shown(tmp_path: Path) -> None:
    dice = random.Random(7)
    pairs = [("", ""), ("", "a"), ("a\n", ""), ("a", "a\n"), ("a\nb\n", "b\na\n")]
    for length in (3, 40, 3000):
        for _ in range(10):
            old = [f"{dice.choice('abcd')}{dice.randrange(length)}\n" for _ in range(length)]
            new = [line for line in old if dice.random() > 0.1]
            for _ in range(length // 10):
                new.insert(dice.randrange(len(new) + 1), f"new {dice.randrange(length)}\n")
            pairs.append(("".join(old), "".join(new)))
    for (before, after), hunks in zip(pairs, compared(pairs, tmp_path), strict=True):
        assert text_of(hunks, "same", "del") == before
        assert text_of(hunks, "same", "add") == after


def test_a_line_here_and_there_in_a_long_file_is_what_changed(tmp_path: Path) -> None:
    old = [f"value_{n} = {n}\n" for n in range(10_000)]
    new = [line if n % 3 else f"value_{n} = other\n" for n, line in enumerate(old)]
    shuffled = old[5000:] + old[:5000]
    every_third, moved = compared([("".join(old), "".join(new)), ("".join(old), "".join(shuffled))], tmp_path)
    assert changed(every_third) == 2 * 3334
    assert changed(moved) == 10_000  # one half, out and in again
