"""What the indexes get of a memory: sealed once beside it, so that a rebuild does not embed again (R71)."""

from base64 import b64encode

import numpy as np
from numpy.typing import NDArray

from events.keyring import Keyring
from events.model import Claim, IndexBody, MemoryBody
from projections.tokens import terms
from services.governance.sameness import tag_basis


def index_of(keyring: Keyring, body: MemoryBody, vector: NDArray[np.float32], model: str) -> IndexBody:
    """Make the index part of a memory.

    Args:
        keyring: the person's; tag and terms are digests under their secrets.
        body: what the memory says.
        vector: of its content, float32.
        model: which model and centring made the vector.
    """
    tag = tag_of(keyring, body)
    tokens = terms(body.content, keyring.secret("terms"))
    return IndexBody(
        tag=None if tag is None else tag.hex(),
        terms=tokens,
        length=len(tokens),
        model=model,
        vector=b64encode(vector.tobytes()).decode(),
    )


def tag_of(keyring: Keyring, claim: Claim) -> bytes | None:
    """Return the keyed digest by which claims about the same thing find each other; None where nothing is named."""
    basis = tag_basis(claim)
    return None if basis is None else keyring.digest("tag", basis)
