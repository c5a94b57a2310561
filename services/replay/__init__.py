"""Reading the log again: what happened, what was known and true at a time, whether the read models say so (R6)."""
