"""The edge: commands, and the one place where an error becomes a message and an exit code."""
