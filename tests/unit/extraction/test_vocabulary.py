"""The semantic keys: one file says what they are, and the page of them is made from it."""

from pathlib import Path

from services.extraction.vocabulary import default_scope, key_table, vocabulary
from services.upkeep.rules import shipped_rules


def test_the_page_of_the_keys_is_the_vocabulary() -> None:
    """KEYS.md says what keys.yaml says."""
    page = Path("services/extraction/KEYS.md").read_text("utf-8")
    assert page.endswith(key_table())


def test_what_fades_is_what_upkeep_lets_fade() -> None:
    """The retention of a key is that of its kind, so that the page promises nothing else than what happens."""
    fading = set(shipped_rules().decay)
    assert {name for name, key in vocabulary().items() if key.retention == "fades"} == {
        name for name, key in vocabulary().items() if key.kind in fading
    }


def test_a_claim_without_a_context_has_the_scope_of_its_key() -> None:
    """Named keys say theirs; a key that nobody named is personal."""
    assert {default_scope(name) for name in vocabulary()} == {key.scope for key in vocabulary().values()}
    assert default_scope("beehive.tool") == default_scope(None) == "personal"
