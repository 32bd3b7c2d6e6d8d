"""``python -I -m memfs.cli``: how memfs starts its own commands as child processes."""

from memfs.cli.app import main

main()
