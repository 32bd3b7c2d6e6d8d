"""The sync worker: mirrors the tree of each attached store to the remote and brings remote edits in."""
