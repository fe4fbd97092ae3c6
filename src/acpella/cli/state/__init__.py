"""What the command line remembers in files of the user: paths, sessions, settings, agents."""
