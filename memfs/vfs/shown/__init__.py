"""The virtual directory ``.memfs/`` at the mount's root: what is mounted and how it stands, as files that are read."""
