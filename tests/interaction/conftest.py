"""The transports that every behaviour is tried over."""

import pytest

from interaction.ends import PAIRS, Connect


@pytest.fixture(params=sorted(PAIRS))
def connect(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Connect:
    """Connects two ends, over each transport in turn."""
    for module in ("_pipes", "_threads"):  # for peers that never read
        monkeypatch.setattr(f"acpella.transport.{module}.CLOSE_TIMEOUT", 0.1)
    return Connect(PAIRS[request.param])
