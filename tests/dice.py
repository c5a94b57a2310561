"""Seeded chance, so that a failing run can be repeated."""

from random import Random


def dice(seed: float) -> Random:
    """Make a generator that always gives the same numbers for the same seed."""
    return Random(seed)  # noqa: S311 - repeatable on purpose, never a secret
