import acpella


def test_it_plants_what_it_may(acp_agent, tmp_path):
    with acp_agent(permissions="allow-all", files=acpella.Workspace(write=True)) as agent:
        result = agent.new_session(tmp_path).prompt("kiwi")
        assert result.text == "I planted one kiwi."
        assert [call.status for call in result.tool_calls.values()] == ["completed"]
    assert (tmp_path / "kiwi.txt").read_text(encoding="utf-8") == "one kiwi\n"


def test_it_takes_no_for_an_answer(acp_agent, tmp_path):
    with acp_agent(permissions="deny-all") as agent:
        assert agent.new_session(tmp_path).prompt("kiwi").text == "Then I plant nothing."
    assert not (tmp_path / "kiwi.txt").exists()
