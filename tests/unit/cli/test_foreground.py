"""Programs that have the terminal of a chat for themselves."""

from pathlib import Path

import pytest

from acpella.cli.chat.foreground import Foreground
from acpella.cli.terminal.questions import Asker

pytestmark = pytest.mark.anyio


async def test_ctrl_c_is_the_chats_again_after_a_program_that_cannot_be_started(tmp_path: Path) -> None:
    foreground = Foreground(Asker(), str(tmp_path))
    with pytest.raises(ValueError, match="cannot run /no/such: No such file"):
        await foreground.run(["/no/such"], None)
    assert not foreground.is_running


async def test_the_code_of_a_program_is_told(tmp_path: Path) -> None:
    foreground = Foreground(Asker(), str(tmp_path))
    assert await foreground.run(["/bin/sh", "-c", "exit 7"], None) == 7
    assert not foreground.is_running
