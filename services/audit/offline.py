"""`cenotaph audit check` where the server is not installed, but only the extra `audit`."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from events.errors import BadInputError, CenotaphError
from events.note import VerifierKey
from services.audit.check import check
from services.audit.evidence import Trust


def main(arguments: Sequence[str]) -> int:
    """Check a bundle; print what is wrong and up to where it is vouched for; return the exit code."""
    asked = _parser().parse_args(arguments)
    try:
        trust = trust_in(asked.key, asked.witness)
        report = check(asked.bundle, trust, read_notes(asked.checkpoint), _progress)
    except CenotaphError as error:
        sys.stderr.write(f"cenotaph: {error}\n")
        return 1
    said = json.dumps(report.as_json(), indent=2) if asked.json else "\n".join(report.lines())
    sys.stdout.write(said + "\n")
    return 0 if report.ok else 1


def trust_in(key: str | None, witnesses: Sequence[str]) -> Trust:
    """Read the keys a check starts from.

    Raises:
        BadInputError: one is not a public key.
    """
    return Trust(None if key is None else VerifierKey.parse(key), tuple(map(VerifierKey.parse, witnesses)))


def read_notes(paths: Sequence[Path]) -> list[str]:
    """Read signed notes from files.

    Raises:
        BadInputError: one cannot be read.
    """
    try:
        return [path.read_text(encoding="utf-8") for path in paths]
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"a checkpoint cannot be read: {error}") from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cenotaph audit check", description="Verify a bundle offline: no database, no data key."
    )
    parser.add_argument("bundle", type=Path, help="the file `cenotaph audit export` wrote")
    parser.add_argument("--key", help="the first signing key, as `cenotaph audit key` prints it; pin it once")
    parser.add_argument("--witness", action="append", default=[], help="public key of a witness; may be repeated")
    parser.add_argument(
        "--checkpoint",
        action="append",
        default=[],
        type=Path,
        help="a checkpoint you kept; the bundle must agree with it",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _progress(done: int, of: int) -> None:
    if sys.stderr.isatty():
        end = "\n" if done >= of else ""
        sys.stderr.write(f"\rverifying {done}/{of} events{end}")
        sys.stderr.flush()
