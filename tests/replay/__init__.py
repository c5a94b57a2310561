"""Replay: read models rebuilt from the log equal the live ones and a second, naive fold."""
