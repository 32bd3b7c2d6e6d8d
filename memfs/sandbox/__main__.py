"""``python -I -m memfs.sandbox``: the processes of a sandbox, started by `memfs run`.

``hold DESCRIPTOR PLAN`` makes the sandbox and runs the command; ``join PROCESS WORD…`` runs memfs's own words inside
its outer half. A program of its own, because the kernel gives a user namespace to processes of one thread only, and
because what the command is a child of should hold no key.
"""

import socket
import sys

from memfs.sandbox import outer
from memfs.sandbox.plan import Plan


def main(words: list[str]) -> int:
    """Run one of the two."""
    if words[0] == "join":
        outer.join(int(words[1]), words[2:])
    control = socket.socket(fileno=int(words[1]))
    control.set_inheritable(False)  # It came in by inheritance; the command shall not have it.
    return outer.hold(Plan.decoded(words[2]), control)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
