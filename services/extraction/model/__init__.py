"""The extractor over an OpenAI-compatible endpoint: a model proposes, the person's own words must bear it out (R12)."""
