"""When layers have proven enough, and what a signature is worth."""

import json
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import get_args
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.model import LayerFinding, MemoryId, Tombstoned
from events.schedule import Schedule
from services.forgetting.finisher import negatives_of
from services.forgetting.layers import State, finding
from services.forgetting.receipt import Signer, borne_out, decide, statement_of, verify
from tests.unit.forgetting.make import stored

NOW = datetime(2026, 8, 1, tzinfo=UTC)
NIGHTLY = Schedule(time(3), timedelta(days=1))
PROVEN = ("absent", "purged", "masked", "drained", "unreclaimed", "not_configured")
FINDINGS = st.builds(
    LayerFinding,
    layer=st.sampled_from(["facts", "vector_index", "async_queue"]),
    state=st.sampled_from(get_args(State)),
    checks=st.dictionaries(st.sampled_from(["by_id", "neighbours"]), st.integers(0, 1)),
    queries=st.just({"by_id": "select count(*) …"}),
    position=st.none() | st.integers(0, 20),
    at=st.just(NOW),
)


@given(st.lists(FINDINGS), st.integers(0, 20))
def test_one_unproven_layer_is_enough(findings: list[LayerFinding], position: int) -> None:
    """A receipt goes through only if there are layers, and every one proved its absence at or behind the tombstone.

    What is proven is asked for by a query that is named, and counted to nothing.
    """
    proven = bool(findings) and all(
        each.state in PROVEN
        and (each.position is None or each.position >= position)
        and not each.checks.get("by_id")
        and (each.state == "not_configured" or each.checks.keys() == {"by_id"})
        for each in findings
    )
    assert (decide(findings, position) == "deletion_propagated") is proven


@given(st.dictionaries(st.sampled_from(["by_id", "exact_text", "entries"]), st.integers(0, 3)))
def test_a_state_is_computed_from_its_counts(checks: dict[str, int]) -> None:
    """Any hit means present; what is only reported counts for nothing."""
    hits = any(count for name, count in checks.items() if name != "entries")
    found = finding("layer", checks, "absent", dict.fromkeys(checks, "select …"))
    assert (found.state == "present") is hits
    assert borne_out(found) is bool(checks)
    assert not borne_out(found.model_copy(update={"state": "absent" if hits else "present"}))


def test_the_statement_says_by_when_the_keys_die() -> None:
    """The time is that of the schedule, computed from the signature, in the words of the other times."""
    tombstone = stored(Tombstoned(memories=(MemoryId(uuid4()),), messages=(), keys=()), position=7)
    statement = json.loads(statement_of(tombstone, [], {}, NOW, NIGHTLY))
    assert datetime.fromisoformat(statement["keys_die_by"]) == NIGHTLY.keys_die_by(NOW)


def test_negative_queries_are_summed_over_layers() -> None:
    """Each way of asking is one number; counts of neighbours and entries are no queries."""
    findings = [
        finding("one", {"by_id": 1, "neighbours": 7}, "absent", {}),
        finding("two", {"by_id": 2, "paraphrase": 0}, "absent", {}),
    ]
    assert negatives_of(findings) == {"by_id": 3, "paraphrase": 0}


def test_a_signature_holds_for_one_statement_and_one_key(tmp_path: Path) -> None:
    """Another byte, another signature, another key, and garbage in their place all fail; the key is kept."""
    signer, other = Signer(tmp_path / "one"), Signer(tmp_path / "other")
    tombstone = stored(Tombstoned(memories=(MemoryId(uuid4()),), messages=(), keys=()), position=7)
    statement = statement_of(
        tombstone,
        [finding("facts", {"by_id": 0}, "absent", {"by_id": "select …"}, position=7)],
        {"by_id": 0},
        NOW,
        NIGHTLY,
    )
    signature = signer.sign(statement)
    assert verify(statement, signature, signer.public)
    assert verify(statement, signature, Signer(tmp_path / "one").public)
    assert not verify(statement + " ", signature, signer.public)
    assert not verify(statement, other.sign(statement), signer.public)
    assert not verify(statement, signature, other.public)
    for garbage in ("", "!", "AAAA", "签名"):
        assert not verify(statement, garbage, signer.public)
        assert not verify(statement, signature, garbage)
    assert (tmp_path / "one" / "receipts.key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("word", ["content", "value", "said"])
def test_a_statement_has_no_place_for_content(word: str) -> None:
    """The statement's names are ids, counts, states and times."""
    tombstone = stored(Tombstoned(memories=(MemoryId(uuid4()),), messages=(), keys=()))
    assert f'"{word}"' not in statement_of(tombstone, [], {}, NOW, NIGHTLY)
