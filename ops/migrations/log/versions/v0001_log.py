"""The log, the read models and what runs them."""

from alembic import op
from sqlalchemy import text

from events.postgres import statements
from ops.migrations import execute
from projections.model_names import NOWHERE, default_model

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the schemas."""
    connection = op.get_bind()
    execute(connection, statements("events", "log.sql"))
    execute(connection, statements("projections", "checkpoint.sql"))
    for name in ("facts", "keywords", "sessions", "tasks"):
        execute(connection, statements("projections", f"{name}.sql").replace("{schema}", name))
        _checkpoint(name, name)
    _checkpoint("vectors", "memory_v1", default_model())
    _checkpoint("vectors_beside", NOWHERE)
    _checkpoint("embed", NOWHERE)
    _checkpoint("dispatch", "redis")
    _checkpoint("shred", "vault")
    execute(connection, statements("projections", "ops.sql"))
    execute(connection, statements("projections", "recall.sql"))


def _checkpoint(name: str, place: str, model: str | None = None) -> None:
    op.get_bind().execute(
        text("insert into read_model.checkpoint values (:name, 1, -1, :place, :model)"),
        {"name": name, "place": place, "model": model},
    )
