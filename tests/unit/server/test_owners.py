"""Which user made which session, kept in a file."""

from pathlib import Path

import pytest

from acpella.server.access.policy import Owners


@pytest.mark.parametrize("separator", ["\r", "\u2028", "\x85", "\x0b", "\r\n"])
def test_a_session_id_cannot_give_a_session_to_somebody_else(tmp_path: Path, separator: str) -> None:
    """The file was cut at more separators than the end of a line, so an id could hold a second entry."""
    file = tmp_path / "owners"
    owners = Owners(str(file))
    owners.made("secret", "alice")
    odd = f"a{separator}bob\tsecret"
    owners.made(odd, "alice")
    again = Owners(str(file))
    assert again.owner("secret") == "alice"
    if "\n" not in separator:
        assert again.owner(odd) == "alice"
