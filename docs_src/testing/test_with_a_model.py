from acpella.testing import recipe


def test_it_reads_the_file(acp_agent, acp_model, tmp_path):
    (tmp_path / "kiwi.txt").write_text("green inside\n", encoding="utf-8")
    built_in = recipe("acpella").prepare(acp_model, tmp_path / "home")
    with acp_agent(built_in.command, env=built_in.env, cwd=tmp_path) as agent:
        result = agent.new_session(tmp_path).prompt("!think Where is it?\n!read kiwi.txt")
        assert result.text == "The tool said: green inside"
    assert "!read kiwi.txt" in str(acp_model.requests[0].body)
