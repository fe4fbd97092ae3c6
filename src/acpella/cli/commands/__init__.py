"""The commands: one module for each, imported when it is used. They do not import each other."""
