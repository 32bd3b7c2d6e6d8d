"""The rules, pure: they take values and return values, and know no file, clock, network or log."""
