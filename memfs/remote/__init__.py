"""The far side: what a remote must do, and how it is reached over HTTP."""
