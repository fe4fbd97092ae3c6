"""What a person at the terminal sees and types: turns, questions, tables, keys."""
