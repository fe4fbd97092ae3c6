"""`acpella chat`: the conversation, its screen and its slash commands."""
