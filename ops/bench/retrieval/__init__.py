"""Measuring recall without a judge model: which of the memories that answer a question are among the first k."""
