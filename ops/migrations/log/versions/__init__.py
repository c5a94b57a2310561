"""Migrations, read by Alembic."""
