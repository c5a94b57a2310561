"""Measuring the write path: labelled scenarios through the real pipeline, scored."""
