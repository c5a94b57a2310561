"""Extractors propose: what a finished turn says about the person (R12)."""
