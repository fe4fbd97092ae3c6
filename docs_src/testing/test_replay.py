def test_the_recorded_agent_plants(acp_replay):
    with acp_replay("talk.jsonl") as agent:
        assert agent.new_session(".").prompt("kiwi").text == "Planted."
