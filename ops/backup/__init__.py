"""Backups of what cannot be made again, and bringing them back without what was forgotten meanwhile (R44, ADR 0017)."""
