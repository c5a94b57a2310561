"""From a finished turn to memories: ingest stores it, the rememberer considers it."""
