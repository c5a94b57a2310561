"""Long-term memory for AI agents that can prove it forgot: the client and the hooks that other programs import."""
