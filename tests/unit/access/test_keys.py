from datetime import UTC, datetime
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.model import TenantId
from services.access.credentials import CredentialError
from services.access.keys import StoredKey, matches, mint_key, parse_key, tenant_of

TENANT = TenantId(uuid4())


class Keys:
    """Keys in a dict."""

    def __init__(self, *keys: StoredKey) -> None:
        self._keys = {key.key_id: key for key in keys}

    async def find(self, key_id: str) -> StoredKey | None:
        """Look one up."""
        return self._keys.get(key_id)


def test_round_trip() -> None:
    """A minted key parses and matches what is stored."""
    text, stored = mint_key(TENANT)
    presented = parse_key(text)
    assert presented.key_id == stored.key_id
    assert matches(presented, stored)


def test_store_holds_no_secret() -> None:
    """Neither the secret nor the whole key is in what is stored."""
    text, stored = mint_key(TENANT)
    assert parse_key(text).secret not in stored.model_dump_json(exclude={"digest"})
    assert parse_key(text).secret.encode() not in stored.digest


def test_keys_differ() -> None:
    """No two keys share an id or a secret."""
    keys = [parse_key(mint_key(TENANT)[0]) for _ in range(200)]
    assert len({key.key_id for key in keys}) == len({key.secret for key in keys}) == 200


@given(st.integers(min_value=0, max_value=42), st.sampled_from("Aa0_-"))
def test_any_other_secret(place: int, char: str) -> None:
    """A secret that differs in one character matches nothing."""
    text, stored = mint_key(TENANT)
    presented = parse_key(text)
    other = presented.secret[:place] + char + presented.secret[place + 1 :]
    assert matches(presented._replace(secret=other), stored) == (other == presented.secret)


def test_revoked_and_unknown() -> None:
    """A revoked key, an unknown one and one stored under another id match nothing."""
    text, stored = mint_key(TENANT)
    presented = parse_key(text)
    assert not matches(presented, stored.model_copy(update={"revoked_at": datetime.now(UTC)}))
    assert not matches(presented, stored.model_copy(update={"key_id": "0" * 16}))
    assert not matches(presented, None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "cnk_",
        "cnk__",
        f"cnk_0123456789abcdef_{'a' * 42}",
        f"cnk_0123456789abcdef_{'a' * 44}",
        f"cnk_0123456789ABCDEF_{'a' * 43}",
        f"cnk_0123456789abcdef_{'密' * 43}",
        f"cnk_0123456789abcdef_{'a' * 43}\n",
        f"sk_0123456789abcdef_{'a' * 43}",
        f" cnk_0123456789abcdef_{'a' * 43}",
    ],
)
def test_not_a_key(text: str) -> None:
    """What is no key is refused with its shape and without itself."""
    with pytest.raises(CredentialError, match="looks like cnk_") as caught:
        parse_key(text)
    assert not text.strip() or text not in str(caught.value) or text.startswith("cnk_")


async def test_tenant_of() -> None:
    """A living key gives its tenant, anything else None."""
    text, stored = mint_key(TENANT)
    foreign, _ = mint_key(TENANT)
    assert await tenant_of(Keys(stored), text) == TENANT
    assert await tenant_of(Keys(stored), foreign) is None
    assert await tenant_of(Keys(stored), "no key") is None
    assert await tenant_of(Keys(), text) is None
