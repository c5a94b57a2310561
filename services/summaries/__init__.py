"""Summaries of sessions: slots that say where each text comes from, compared before they replace what was (R51)."""
