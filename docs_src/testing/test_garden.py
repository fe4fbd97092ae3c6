from garden import plant

from acpella.testing import ScriptedAgent, ask, crash, raw, say, stderr


def test_it_shows_what_the_agent_says():
    agent = ScriptedAgent().on("kiwi", ask("Dig a hole", allowed=(say("Planted."),)))
    assert plant(agent.command, "kiwi") == "Planted."


def test_it_survives_a_banner():
    agent = ScriptedAgent().on_start(raw("Welcome to the garden!\n")).on("kiwi", say("Planted."))
    assert plant(agent.command, "kiwi") == "Planted."


def test_it_tells_why_the_agent_died():
    agent = ScriptedAgent().on("kiwi", stderr("out of water"), crash(3))
    assert "out of water" in plant(agent.command, "kiwi")
