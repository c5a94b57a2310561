"""Finding the memories that somebody describes."""
