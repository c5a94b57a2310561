"""Checking the log against itself and against what was signed, with its database and without."""
