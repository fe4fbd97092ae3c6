"""One session with an agent: which one is meant, how it is reached, what the agent may do in it."""
