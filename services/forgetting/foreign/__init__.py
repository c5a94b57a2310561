"""Layers of other applications (R47)."""
