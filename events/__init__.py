"""The vocabulary and the log; imports nothing of ours."""
