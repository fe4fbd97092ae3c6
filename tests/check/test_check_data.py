"""Requirements as data: complete, well-formed, and each rule that can be seen from outside has one."""

import base64
import re
import zlib
from pathlib import Path

from acpella.check import AGENT_AREAS, CLIENT_AREAS, NEEDS, Requirement, frozen_set, set_names
from acpella.check.agent.prompting import PIXEL
from acpella.check.excluded import EXCLUDED
from acpella.check.requirement import LEVELS

RULES = Path(__file__).parents[2] / "docs" / "reference" / "protocol-rules.md"


def of(side: str) -> list[Requirement]:
    return [r for area in (AGENT_AREAS if side == "agent" else CLIENT_AREAS) for r in area.requirements]


ALL = [*of("agent"), *of("client")]


def test_there_are_enough_and_each_has_an_id_of_its_own() -> None:
    assert len(of("agent")) >= 150
    assert len(of("client")) >= 60
    assert len({r.id for r in ALL}) == len(ALL)


def test_each_is_complete() -> None:
    for requirement in ALL:
        assert re.fullmatch(r"(client\.)?[a-z]+\.[a-z0-9-]+", requirement.id), requirement.id
        assert requirement.level in LEVELS
        assert requirement.text[0].isupper() or requirement.text[0] in "`_t$", requirement.id
        assert requirement.text.endswith("."), requirement.id
        assert requirement.link.startswith("https://"), requirement.id
        assert set(requirement.needs) <= {*NEEDS, "user"}, requirement.id
        assert re.fullmatch(r"ACP-[A-Z]+(-[A-Z]+)?-\d{3}", requirement.tck) or not requirement.tck, (
            requirement.id
        )


def test_every_rule_has_a_requirement_or_a_reason_why_not() -> None:
    listed = set(re.findall(r"^- \*\*([RT]-\d{3})\*\* ", RULES.read_text(encoding="utf-8"), re.MULTILINE))
    covered = {r.rule for r in ALL}
    assert covered <= listed
    assert listed - covered - EXCLUDED.keys() == set()
    assert EXCLUDED.keys() & covered == set(), "these have a requirement by now"
    assert EXCLUDED.keys() <= listed


def test_frozen_sets_name_requirements_that_exist() -> None:
    assert set_names()
    for name in set_names():
        assert frozen_set(name) <= {r.id for r in ALL}


def test_the_picture_that_agents_get_is_whole() -> None:
    """Agents that decode it refused one whose checksum was wrong, and were blamed for that."""
    picture, place, pixels = base64.b64decode(PIXEL), 8, b""
    while place < len(picture):
        size = int.from_bytes(picture[place : place + 4])
        chunk, checksum = picture[place + 4 : place + 8 + size], picture[place + 8 + size : place + 12 + size]
        assert zlib.crc32(chunk).to_bytes(4) == checksum, chunk[:4]
        pixels += chunk[4:] if chunk.startswith(b"IDAT") else b""
        place += 12 + size
    assert zlib.decompress(pixels) == b"\x00\xff\x00\x00"
