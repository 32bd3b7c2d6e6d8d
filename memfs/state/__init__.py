"""What the worker knows, in SQLite. The worker writes it; the mount and the command line only read it."""
