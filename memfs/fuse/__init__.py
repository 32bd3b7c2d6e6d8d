"""The binding: a low-level FUSE session on libfuse 2.9, its invalidations, and the life of a mount."""
