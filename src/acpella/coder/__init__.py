"""The built-in coding agent: tools, modes, models, MCP servers and memory, behind ACP."""
