"""Codes that open the page."""

from acpella.web.launch import MAX_CODES, LaunchCodes


def test_a_code_is_good_once() -> None:
    codes = LaunchCodes()
    code = codes.issue("token")
    assert codes.redeem(code) == "token"
    assert codes.redeem(code) is None


def test_a_code_is_not_good_for_long() -> None:
    now = 0.0
    codes = LaunchCodes(clock=lambda: now)
    code = codes.issue("token")
    now = 60.0
    assert codes.redeem(code) is None


def test_what_was_never_issued_opens_nothing() -> None:
    assert LaunchCodes().redeem("x" * 43) is None


def test_codes_that_nobody_uses_make_room() -> None:
    codes = LaunchCodes()
    issued = [codes.issue(str(number)) for number in range(MAX_CODES + 1)]
    assert codes.redeem(issued[0]) is None
    assert codes.redeem(issued[-1]) == str(MAX_CODES)
