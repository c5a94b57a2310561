"""Verified forgetting: tombstone and fence, erasure layer by layer, probes, signed receipts (R40-R42)."""
