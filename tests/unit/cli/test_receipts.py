"""`cenotaph receipts check`: a receipt and the public key, nobody asked."""

import json
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import pytest

from cenotaph import answers
from events.errors import BadInputError, TamperError
from ops.cli.forget import check, signed
from ops.cli.options import Place
from ops.cli.receipts import verify
from services.forgetting.receipt import Signer

NOW = datetime(2026, 8, 1, tzinfo=UTC)


def receipt(signer: Signer, *, of_another: bool = False) -> answers.Receipt:
    """Sign a receipt with its end."""
    first = json.dumps({"receipt_id": "r", "decision": "deletion_propagated", "propagated_at": "then"})
    named = "0" * 64 if of_another else sha256(first.encode()).hexdigest()
    end = json.dumps({"decision": "deletion_purged", "at": "later", "first_sha256": named})
    return answers.Receipt(
        receipt_id=uuid4(),
        memory_id=None,
        scope="session",
        memories=0,
        messages=1,
        tenant_id=uuid4(),
        tombstone_version=3,
        decision="deletion_purged",
        layers=(),
        negative_queries={},
        keys_die_by=NOW,
        out_of_scope=(),
        injected_turns=(),
        requested_at=NOW,
        propagated_at=NOW,
        statement=first,
        signature=signer.sign(first),
        signing_key=signer.public,
        end=answers.ReceiptEnd(layers=(), at=NOW, statement=end, signature=signer.sign(end)),
    )


def test_both_statements_are_checked_with_the_key_that_is_given(tmp_path: Path) -> None:
    """A good file passes; a changed second statement, another key and two that do not belong together fail."""
    signer = Signer(tmp_path / "keys")
    good, public = receipt(signer), tmp_path / "keys" / "receipts.pub"
    file = tmp_path / "receipt.json"
    file.write_text(good.model_dump_json())
    verify(file, key=public, place=Place(tmp_path))
    assert signed(good) == "r  deletion_propagated then  deletion_purged later"
    assert good.end is not None
    changed = good.end.model_copy(update={"statement": good.end.statement.replace("later", "never")})
    with pytest.raises(TamperError):
        check(good.model_copy(update={"end": changed}), public)
    Signer(tmp_path / "other")
    with pytest.raises(TamperError):
        check(good, tmp_path / "other" / "receipts.pub")
    with pytest.raises(TamperError, match="belong together"):
        signed(receipt(signer, of_another=True))


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
