"""Every way to read, listed: what is not listed here makes a test fail."""
