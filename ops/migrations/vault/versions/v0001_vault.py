"""The vault."""

from alembic import op

from events.postgres import statements
from ops.migrations import execute

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the schema."""
    execute(op.get_bind(), statements("events", "vault.sql"))
