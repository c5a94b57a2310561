"""A receipt checked without asking anybody: its signatures, and that what is readable around them says the same."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Final

from cenotaph import answers
from events.errors import TamperError
from services.forgetting.receipt import verify

_FIRST: Final = (
    "receipt_id",
    "memory_id",
    "scope",
    "memories",
    "messages",
    "tenant_id",
    "tombstone_version",
    "decision",
    "layers",
    "negative_queries",
    "keys_die_by",
    "out_of_scope",
    "requested_at",
    "propagated_at",
)
_SECOND: Final = ("receipt_id", "tenant_id", "tombstone_version", "decision")
_END: Final = ("layers", "at")


def check(receipt: answers.Receipt, public: Path) -> None:
    """Verify a signed receipt.

    Args:
        receipt: with what was signed of it: the first statement, the second one, or both.
        public: the signer's public key as a file; where there is none, the key the receipt names.

    Raises:
        TamperError: a signature does not hold, or is not by that key; the two statements do not belong together; or a
            field around them says something else.
    """
    named = receipt.signing_key or ""
    known = public.read_text(encoding="ascii").strip() if public.exists() else named
    statements = [(receipt.statement or "", receipt.signature or "")] if receipt.statement or not receipt.end else []
    if receipt.end is not None:
        statements.append((receipt.end.statement, receipt.end.signature))
    if known != named or not all(verify(statement, signature, known) for statement, signature in statements):
        raise TamperError(f"the signature of receipt {receipt.receipt_id} does not hold; do not rely on it")
    if receipt.end is not None and _end(receipt.end)["first_sha256"] != _digest(receipt.statement):
        raise TamperError(f"the two statements of receipt {receipt.receipt_id} do not belong together")
    if other := sorted(_contradicted(receipt)):
        raise TamperError(
            f"receipt {receipt.receipt_id} was changed: {', '.join(other)} is not what was signed; rely on its "
            "statement alone"
        )


def said(receipt: answers.Receipt) -> str:
    """Say what a checked receipt states, in the words that were signed."""
    words = [str(receipt.receipt_id)]
    if receipt.statement is not None:
        first = json.loads(receipt.statement)
        words.append(f"{first['decision']} {first['propagated_at']}")
    if receipt.end is not None:
        end = _end(receipt.end)
        words.append(f"{end['decision']} {end['at']}")
    return "  ".join(words)


def _contradicted(receipt: answers.Receipt) -> set[str]:
    """Name the fields that do not say what the statements say; of two, the second one has the last word."""
    stated: dict[str, object] = {}
    if receipt.statement is not None:
        first = json.loads(receipt.statement)
        stated |= {name: first[name] for name in _FIRST}
    if receipt.end is not None:
        end = _end(receipt.end)
        stated |= {name: end[name] for name in _SECOND}
        stated["end"] = receipt.end.model_dump(mode="json") | {name: end[name] for name in _END}
    whole = answers.Receipt.model_validate(receipt.model_dump(mode="json") | stated)
    return {name for name in stated if getattr(whole, name) != getattr(receipt, name)}


def _end(end: answers.ReceiptEnd) -> dict[str, object]:
    read: dict[str, object] = json.loads(end.statement)
    return read


def _digest(statement: str | None) -> str | None:
    return None if statement is None else sha256(statement.encode()).hexdigest()
