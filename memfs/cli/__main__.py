"""``memfs``, and ``python -I -m memfs.cli``: how memfs starts its own commands as child processes."""

import sys


def main() -> None:
    """Run the command line. What it needs is imported here, so that a Ctrl-C meanwhile is no traceback either."""
    try:
        from memfs.cli.app import run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
