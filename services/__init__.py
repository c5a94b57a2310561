"""The cores that decide, recall and forget, and the door in front of them."""
