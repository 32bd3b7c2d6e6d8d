"""Files on disk: durable writes, compare-and-swap, scans, ownership. Symbolic links are never followed."""
