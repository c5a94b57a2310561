"""Named places between durable steps where a test may kill the process (kill -9), to show that nothing is lost there.

Does nothing unless the environment asks for it: `CENOTAPH_FAILPOINT=name:n` kills at the n-th hit of that name, and
`CENOTAPH_FAILPOINT_HITS=FILE` notes each hit of any name there, one a line.
"""

import os
import signal
from collections import Counter

_NAME, _, _NUMBER = os.environ.get("CENOTAPH_FAILPOINT", "").partition(":")
_NOTES = os.environ.get("CENOTAPH_FAILPOINT_HITS", "")
_hits: Counter[str] = Counter()


def hit(name: str) -> None:
    """Pass a failpoint."""
    if not _NAME and not _NOTES:
        return
    _hits[name] += 1
    if _NOTES:
        with open(_NOTES, "a", encoding="ascii") as notes:  # noqa: PTH123 - the shortest way there is
            notes.write(f"{name}\n")
    if name == _NAME and _hits[name] == int(_NUMBER or 1):
        os.kill(os.getpid(), signal.SIGKILL)
