"""The gates of R13, one module each: a pure function of candidate and view; None lets the candidate pass."""
