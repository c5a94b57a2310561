"""Upkeep (R53): what nobody asks for and memory needs all the same, as jobs that say why and do it by events."""
