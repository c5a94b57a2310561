"""Read models: they follow the log and can be lost and rebuilt from it."""
