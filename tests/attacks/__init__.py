"""Attacks across scopes: what strangers try on a door to read what is not theirs."""
