"""Log set-up, done once by each process's edge. No memory content and no secret is ever handed to a logger."""

import logging
import sys
from typing import TextIO

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def set_up(level: str = "info", stream: TextIO | None = None) -> None:
    """Send every log line of this process to ``stream`` (standard error unless told)."""
    logging.basicConfig(level=level.upper(), format=FORMAT, stream=stream or sys.stderr, force=True)
    # httpx tells every request at INFO, uvicorn its own start, Alembic its plugins: our own lines tell what they mean.
    for noisy in ("httpx", "httpcore", "uvicorn", "watchdog", "alembic"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
