"""Measuring how fast a deletion is in force, with and without load, and whether anything is read after it."""
