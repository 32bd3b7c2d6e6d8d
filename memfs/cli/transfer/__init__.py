"""Whole stores in and out: to and from directories and tar files, and from one store to another."""
