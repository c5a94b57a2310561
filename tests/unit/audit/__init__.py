"""Tests of the log's check."""
