"""The background process that keeps a session and its agent alive between commands, and the way to it."""
