"""The transports that every behaviour is tried over."""

import pytest

from interaction.ends import PAIRS, Connect


@pytest.fixture(params=sorted(PAIRS))
def connect(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Connect:
    """Connects two ends, over each transport in turn."""
    monkeypatch.setattr("acpella.transport._pipes.CLOSE_TIMEOUT", 0.1)  # for peers that never read
    return Connect(PAIRS[request.param])
