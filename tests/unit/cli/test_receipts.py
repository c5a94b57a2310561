"""`cenotaph receipts check`: a receipt and the public key, nobody asked."""

import json
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from cenotaph import answers
from events.errors import BadInputError, TamperError
from ops.cli.offline import check, said
from ops.cli.options import Place
from ops.cli.receipts import verify
from services.forgetting.receipt import Signer

NOW = datetime(2026, 8, 1, tzinfo=UTC)


def receipt(signer: Signer, changes: dict[str, object] | None = None, *, of_another: bool = False) -> answers.Receipt:
    """Sign a receipt with its end."""
    layer = {"layer": "facts", "state": "absent", "checks": {"id": 0}, "at": NOW.isoformat()}
    fields = {
        "receipt_id": str(uuid4()),
        "memory_id": None,
        "scope": "session",
        "memories": 0,
        "messages": 1,
        "tenant_id": str(uuid4()),
        "tombstone_version": 3,
        "decision": "deletion_propagated",
        "layers": [layer],
        "negative_queries": {"exact_text": 1},
        "keys_die_by": NOW.isoformat(),
        "out_of_scope": ["backups elsewhere"],
        "requested_at": NOW.isoformat(),
        "propagated_at": NOW.isoformat(),
    }
    first = json.dumps(fields)
    named = "0" * 64 if of_another else sha256(first.encode()).hexdigest()
    second = fields | {"decision": "deletion_purged", "at": NOW.isoformat(), "first_sha256": named}
    end = json.dumps(second)
    around = {
        "decision": "deletion_purged",
        "injected_turns": ["t-1"],
        "statement": first,
        "signature": signer.sign(first),
        "signing_key": signer.public,
        "end": {"layers": [layer], "at": NOW.isoformat(), "statement": end, "signature": signer.sign(end)},
    }
    return answers.Receipt.model_validate(fields | around | (changes or {}))


def test_both_statements_are_checked_with_the_key_that_is_given(tmp_path: Path) -> None:
    """A good file passes; a changed second statement, another key and two that do not belong together fail."""
    signer = Signer(tmp_path / "keys")
    good, public = receipt(signer), tmp_path / "keys" / "receipts.pub"
    file = tmp_path / "receipt.json"
    file.write_text(good.model_dump_json())
    verify(file, key=public, place=Place(tmp_path))
    moment = NOW.isoformat()
    assert said(good) == f"{good.receipt_id}  deletion_propagated {moment}  deletion_purged {moment}"
    assert good.end is not None
    changed = good.end.model_copy(update={"statement": good.end.statement.replace("purged", "healed")})
    with pytest.raises(TamperError):
        check(good.model_copy(update={"end": changed}), public)
    Signer(tmp_path / "other")
    with pytest.raises(TamperError):
        check(good, tmp_path / "other" / "receipts.pub")
    with pytest.raises(TamperError, match="belong together"):
        check(receipt(signer, of_another=True), public)


@pytest.mark.parametrize(
    "changes",
    [
        {"decision": "deletion_propagated"},
        {"memory_id": str(UUID(int=7))},
        {"tombstone_version": 4},
        {"layers": []},
        {"negative_queries": {}},
        {"keys_die_by": None},
        {"requested_at": "2020-01-01T00:00:00Z"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_field_that_says_something_else_than_what_was_signed_is_named(
    tmp_path: Path, changes: dict[str, object]
) -> None:
    """What a reader sees first is not taken for what was signed."""
    public = tmp_path / "receipts.pub"
    with pytest.raises(TamperError, match=next(iter(changes))):
        check(receipt(Signer(tmp_path), changes), public)


def test_what_was_closed_before_anything_was_proven_has_one_statement(tmp_path: Path) -> None:
    """The end alone is checked; nothing signed at all is no receipt that holds."""
    signer = Signer(tmp_path)
    whole = receipt(signer)
    end = json.dumps(
        {
            "receipt_id": str(whole.receipt_id),
            "tenant_id": str(whole.tenant_id),
            "tombstone_version": 3,
            "layers": [],
            "decision": "closed_unproven",
            "first_sha256": None,
            "at": NOW.isoformat(),
        }
    )
    ended = answers.ReceiptEnd(layers=(), at=NOW, statement=end, signature=signer.sign(end))
    closed = whole.model_copy(
        update={"statement": None, "signature": None, "decision": "closed_unproven", "end": ended}
    )
    check(closed, tmp_path / "receipts.pub")
    assert said(closed) == f"{whole.receipt_id}  closed_unproven {NOW.isoformat()}"
    with pytest.raises(TamperError):
        check(closed.model_copy(update={"end": None}), tmp_path / "receipts.pub")


def test_what_is_no_receipt_is_said_to_be_none(tmp_path: Path) -> None:
    """A missing file, other JSON and a missing key are told apart from a bad signature."""
    file = tmp_path / "receipt.json"
    with pytest.raises(BadInputError, match="is no receipt"):
        verify(file, key=None, place=Place(tmp_path))
    file.write_text("{}")
    with pytest.raises(BadInputError, match="is no receipt"):
        verify(file, key=None, place=Place(tmp_path))
    file.write_text(receipt(Signer(tmp_path / "keys")).model_dump_json())
    with pytest.raises(BadInputError, match="no public key"):
        verify(file, key=tmp_path / "nowhere.pub", place=Place(tmp_path))
