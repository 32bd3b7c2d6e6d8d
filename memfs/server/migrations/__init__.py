"""The steps from one layout of the database to the next, as Alembic revisions.

A revision is never changed once it was released: what it made is what databases have.
"""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection


def configuration(connection: Connection | None = None) -> Config:
    """Return Alembic's configuration, which is all in code; with a connection to run steps in its transaction."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.attributes["connection"] = connection
    return config


def upgrade(connection: Connection, from_revision: str | None) -> None:
    """Take the steps from a revision, or from an empty database, to the newest, in the caller's transaction."""
    config = configuration(connection)
    if from_revision is not None:
        # The first release did not write its revision down.
        command.stamp(config, from_revision)
    command.upgrade(config, "head")
