"""What Alembic runs to take steps: they run in the transaction of `memfs.server.store.layout`."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
