"""What tests of the command line share."""

from collections.abc import Generator
from pathlib import Path

import pytest
from cli_shell import Shell


@pytest.fixture
def shell(tmp_path: Path) -> Generator[Shell, None, None]:
    """A user's shell in a repository; what it left in the background is ended."""
    made = Shell(tmp_path)
    yield made
    made.end()
