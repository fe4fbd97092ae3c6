"""An agent and a client that do what a test tells them, right or wrong."""
