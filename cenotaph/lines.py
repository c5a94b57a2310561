"""JSON lines that arrive in pieces: an export is whole only if its last line vouches for all before it. No I/O."""

import json
from hashlib import sha256

from cenotaph.errors import CenotaphError


class Lines:
    """Cuts pieces into lines and keeps the digest of all but the last."""

    def __init__(self) -> None:
        self._digest = sha256()
        self._rest = b""
        self._last = b""

    def cut(self, piece: bytes) -> list[bytes]:
        """Return the lines that are complete with this piece, line ends included."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        whole = [line + b"\n" for line in lines]
        for line in whole:
            self._digest.update(self._last)
            self._last = line
        return whole

    def end(self) -> None:
        """Check that the last line is a tail with the digest of the lines before it.

        Raises:
            CenotaphError: there is no tail, so the export was cut short; or its digest is another, so it was changed.
        """
        try:
            tail = json.loads(self._last or b"{}")
        except ValueError:
            tail = {}
        if self._rest or not isinstance(tail, dict) or "digest" not in tail:
            raise CenotaphError("cut-short", "the export is not whole: its last line does not vouch for it; ask again")
        if tail["digest"] != self._digest.hexdigest():
            raise CenotaphError("changed", "the export was changed: its lines are not those its last line vouches for")
