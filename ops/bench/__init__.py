"""Measurements, and converters for the public data they run on."""
