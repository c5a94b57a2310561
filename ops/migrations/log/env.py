"""Alembic's entry: runs on the connection `ops.migrations.migrate` hands over."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
