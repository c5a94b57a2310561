"""Tests of the vocabulary, the envelope, the canonical bytes and the tree."""
