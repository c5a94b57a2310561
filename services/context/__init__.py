"""The context an agent gets: memories and turns as labelled, escaped text within a token budget."""
