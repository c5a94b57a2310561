"""Tests of the pure parts of the command line."""
