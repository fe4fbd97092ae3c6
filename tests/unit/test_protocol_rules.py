"""Every rule that code and tests name stands in docs/reference/protocol-rules.md, once."""

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "protocol-rules.md"

LISTED = re.compile(r"^- \*\*(.+?)\*\* ", re.MULTILINE)
NAMED = re.compile(
    r"""(?<![\w\\+#-])(?:
        [RT]-\d+ | CASE-\d+                    # rules of messages and of transports, and cases
        | [A-F]\d{1,2}(?![\w-])                 # features
        | FIELD-NOTES\ \d+(?:,\ \d+)*           # numbers of one list may follow each other
        | HOSTING\ (?:§?\d+|"[^"]+"(?:,\ "[^"]+")*)
        | hazard\ \d
    ) | §\d(?:\.\d)?""",
    re.VERBOSE,
)


def named_in(text: str) -> set[str]:
    """The ids in a text, each as the page lists it."""
    found: set[str] = set()
    for match in NAMED.findall(text):
        book, _, numbers = match.partition(" ")
        if numbers and book != "hazard":
            found |= {f"{book} {one}" for one in re.findall(r'"[^"]+"|\d+', numbers)}
        else:
            found.add(match)
    return found


def test_a_reader_of_the_code_finds_every_rule_id() -> None:
    listed = set(LISTED.findall(PAGE.read_text(encoding="utf-8")))
    unknown = {
        f"{path.relative_to(ROOT)}: {name}"
        for folder in ("src", "tests")
        for path in (ROOT / folder).rglob("*.py")
        if "node_modules" not in path.parts and path != Path(__file__)
        for name in named_in(path.read_text(encoding="utf-8")) - listed
    }
    assert not unknown


def test_no_rule_is_listed_twice() -> None:
    counted = Counter(LISTED.findall(PAGE.read_text(encoding="utf-8")))
    assert len(counted) > 300
    assert [name for name, times in counted.items() if times > 1] == []


def test_ids_are_recognised_however_they_are_written() -> None:
    text = (
        "R-208, CASE-8; FEATURES C6, FIELD-NOTES 1, 3 and hazard 2 (§2.5); "
        'HOSTING §6, HOSTING "Audit", "Scopes"'
    )
    assert named_in(text) == {
        *("R-208", "CASE-8", "C6", "FIELD-NOTES 1", "FIELD-NOTES 3", "hazard 2", "§2.5"),
        *("HOSTING 6", 'HOSTING "Audit"', 'HOSTING "Scopes"'),
    }
    assert named_in("UTF-8, ISO-8859-1, \\x1bB2, #C3, U+00A0, A1B2, gpt-T-1x") == set()
