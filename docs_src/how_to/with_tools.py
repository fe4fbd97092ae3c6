from acpella import Agent
from acpella.mcp import SessionServers, transports

agent = Agent("mine", version="1.0", mcp=transports())
servers = SessionServers(agent)
agent.on_session(servers.open)
agent.on_close(servers.close)


@agent.on_prompt
async def reply(turn):
    mine = servers.of(turn.session)
    tools = await mine.prepare(turn)  # waits for servers that still start, tells of those that failed
    yield f"Tools: {len(tools)}. "
    for tool in tools:
        if tool.name.endswith("get_current_time"):
            result = await mine.call(tool, {"timezone": "UTC"})
            for block in result.content:
                await turn.say(block)


if __name__ == "__main__":
    agent.run()
