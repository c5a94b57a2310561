"""`cenotaph demo`: a conversation of several weeks through the whole path, with every step checked."""


def demo() -> None:
    """Play a conversation in Chinese and English, forget one thing of it, and check every step."""
