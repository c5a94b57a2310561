"""Rings of tests: unit, contract, integration, faults, end to end, replay."""
