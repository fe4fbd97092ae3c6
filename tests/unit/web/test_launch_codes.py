"""Codes that open the page."""

import pytest

from acpella.web.launch import MAX_CODES, LaunchCodes

pytestmark = pytest.mark.anyio


async def test_a_code_is_good_once() -> None:
    codes = LaunchCodes()
    code = codes.issue("token")
    assert await codes.redeem(code) == "token"
    assert await codes.redeem(code) is None


async def test_a_code_is_not_good_for_long() -> None:
    now = 0.0
    codes = LaunchCodes(clock=lambda: now)
    code = codes.issue("token")
    now = 60.0
    assert await codes.redeem(code) is None


async def test_what_was_never_issued_opens_nothing() -> None:
    assert await LaunchCodes().redeem("x" * 43) is None


async def test_codes_that_nobody_uses_make_room() -> None:
    codes = LaunchCodes()
    issued = [codes.issue(str(number)) for number in range(MAX_CODES + 1)]
    assert await codes.redeem(issued[0]) is None
    assert await codes.redeem(issued[-1]) == str(MAX_CODES)
