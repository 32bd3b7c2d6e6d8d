"""File-system semantics: an inode table and one method per operation. Knows no kernel and no network."""
