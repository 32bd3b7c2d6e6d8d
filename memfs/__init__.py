"""memfs: agents' memory stores as ordinary directories."""

__version__ = "0.1.0"
