"""The garbage collector of a process that serves: what was there when it started is looked through no more.

Modules, schemas and models are a quarter of a million objects that live as long as the process. A recall makes a few
ten thousand that are freed by their counts alone, so with Python's defaults each of them had the collector walk all of
that several times: a third of its processor time, and up to 0.3 s at once.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

THRESHOLDS: Final = (50_000, 20, 20)
"""Objects that are new before the youngest are looked through (more than one recall makes), and rounds between ages."""


@contextmanager
def settled() -> Iterator[None]:
    """Leave alone, for the time being, what is there now, and look through the rest more rarely."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
