"""What `memfs run` puts around a command: namespaces, what is seen in them, and the end of every privilege."""
