def test_the_whole_conversation(acp_agent, acp_snapshot, tmp_path):
    with acp_agent(permissions="deny-all") as agent:
        agent.new_session(tmp_path).prompt("kiwi").wait()
    acp_snapshot()
