"""What all tests share."""

import pytest
from hypothesis import settings

pytest_plugins = ("leftovers", "watchdog")

settings.register_profile("acpella", deadline=None)  # a busy machine is no failure
settings.load_profile("acpella")


@pytest.fixture
def anyio_backend() -> str:
    """acpella is written for asyncio."""
    return "asyncio"
