"""Directory mode: the stores at the same paths without FUSE, each a symbolic link to its tree on disk."""
