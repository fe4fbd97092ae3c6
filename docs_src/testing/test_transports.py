import pytest

from acpella.testing import TRANSPORTS


@pytest.mark.parametrize("acp_transport", TRANSPORTS)
def test_it_answers_over_every_transport(acp_agent, tmp_path):
    with acp_agent("agent.py:agent", permissions="deny-all") as agent:
        assert agent.new_session(tmp_path).prompt("kiwi").text == "Then I plant nothing."
