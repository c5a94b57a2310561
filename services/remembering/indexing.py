"""What the indexes get of a memory: sealed once beside it, so that a rebuild does not embed again (R71)."""

from base64 import b64encode
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from events.keyring import Keyring
from events.model import Claim, IndexBody, MemoryBody
from projections.tokens import keyed, tokenize
from services.governance.sameness import tag_basis


def index_of(
    keyring: Keyring,
    body: MemoryBody,
    vector: NDArray[np.float32],
    model: str,
    tokens: Sequence[str] | None = None,
) -> IndexBody:
    """Make the index part of a memory.

    Args:
        keyring: the person's; tag and terms are digests under their secrets.
        body: what the memory says.
        vector: of its content, float32.
        model: which model and centring made the vector.
        tokens: those of its content, where they are known already.
    """
    tag = tag_of(keyring, body)
    hashed = keyed(tokenize(body.content) if tokens is None else tokens, keyring.secret("terms"))
    return IndexBody(
        tag=None if tag is None else tag.hex(),
        terms=hashed,
        length=len(hashed),
        model=model,
        vector=b64encode(vector.tobytes()).decode(),
    )


def tag_of(keyring: Keyring, claim: Claim) -> bytes | None:
    """Return the keyed digest by which claims about the same thing find each other; None where nothing is named."""
    basis = tag_basis(claim)
    return None if basis is None else keyring.digest("tag", basis)
