"""What stays of a forgotten memory: a keyed digest of what it was about, to know it by when it comes back (R41)."""

from events.keyring import Keyring
from events.model import Claim
from services.governance.sameness import topic_basis


def topic_of(keyring: Keyring, claim: Claim) -> str:
    """Digest what a claim is about under the person's lookup secret, in hex."""
    return keyring.digest("topic", topic_basis(claim)).hex()
