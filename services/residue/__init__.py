"""Searching the raw files of every store for what must be gone (R43). Needs no store: only their files."""
