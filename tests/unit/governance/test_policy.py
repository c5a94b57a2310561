from pathlib import Path

import pytest

from events.errors import BadInputError
from services.governance.policy import load_policy
from services.governance.reasons import Reason, reason_table


def test_the_shipped_policy_is_valid_and_digested() -> None:
    """The digest is a SHA-256 in hex and the same for the same policy."""
    policy = load_policy()
    assert len(policy.digest) == 64
    assert policy.digest == load_policy().digest


def test_another_threshold_is_another_digest_but_a_comment_is_not(tmp_path: Path) -> None:
    """What decides is digested, not how the file is written."""
    source = Path("services/governance/policy.yaml").read_text("utf-8")
    (tmp_path / "a.yaml").write_text(source + "\n# a remark\n", "utf-8")
    (tmp_path / "b.yaml").write_text(source.replace("hold: 0.5", "hold: 0.6"), "utf-8")
    assert load_policy(tmp_path / "a.yaml").digest == load_policy().digest
    assert load_policy(tmp_path / "b.yaml").digest != load_policy().digest


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("hold: 0.5", "hold: 0.1"),
        ("hold_days: 7", "hold_days: 0"),
        ("hold_days: 7", "hold_day: 7"),
        ("confidence:", "["),
    ],
)
def test_a_policy_that_cannot_be_meant_is_refused(tmp_path: Path, old: str, new: str) -> None:
    """Contradictions, ranges, unknown names and broken YAML are errors that say so."""
    source = Path("services/governance/policy.yaml").read_text("utf-8")
    (tmp_path / "bad.yaml").write_text(source.replace(old, new, 1), "utf-8")
    with pytest.raises(BadInputError, match="policy file"):
        load_policy(tmp_path / "bad.yaml")


def test_a_missing_policy_is_refused(tmp_path: Path) -> None:
    """A path that is not there is an error, not the default."""
    with pytest.raises(BadInputError, match="policy file"):
        load_policy(tmp_path / "none.yaml")


def test_the_reason_page_lists_every_code_once() -> None:
    """The table is made from the codes themselves."""
    table = reason_table()
    assert all(table.count(f"`{reason.value}`") == 1 for reason in Reason)
    assert all(reason.value == reason.value.lower().replace(" ", "_") for reason in Reason)


def test_the_reason_page_in_the_tree_is_the_generated_one() -> None:
    """Whoever adds a code writes the page anew."""
    assert Path("services/governance/REASONS.md").read_text("utf-8") == reason_table()
