from acpella.testing import ScriptedAgent, ask, fail, plan, say, think, tool, wait

agent = (
    ScriptedAgent("gardener")
    .on("kiwi", think("Sun or shade?"), plan("dig", "plant"), tool("Dig", kind="execute"), say("Planted."))
    .on("palm", ask("Cut down the oak", allowed=(say("Cut."),), refused=(say("It stays."),)))
    .on("bonsai", say("This takes years …"), wait())
    .on("cactus", fail("Ouch"))
)

if __name__ == "__main__":
    agent.run()
