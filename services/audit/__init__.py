"""Checking the log against itself: bytes, leaves, order, tree, bodies."""
