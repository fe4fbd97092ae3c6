"""What the coding agent can do."""
