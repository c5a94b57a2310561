"""Telling what was done to events that are not those sealed at their positions: changed, moved, removed, inserted."""

from dataclasses import dataclass

from services.audit.faults import Faults, Kind

_MOST = 10_000


@dataclass(frozen=True, slots=True)
class _Place:
    position: int
    found: bytes
    sealed: bytes
    repeated: bool


class Displaced:
    """Collects positions whose event is not the one that was sealed there, by leaf hashes.

    What is missing counts as sealed and nowhere. Beyond ten thousand, each is named as it is seen.
    """

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self._places: list[_Place] = []
        self._missing: set[bytes] = set()

    def lacks(self, sealed: bytes) -> None:
        """Note that the event sealed at some position is not there."""
        if len(self._missing) < _MOST:
            self._missing.add(sealed)

    def add(self, position: int, found: bytes, sealed: bytes, *, repeated: bool) -> None:
        """Note that another event stands at a position; `repeated` if its stream had that version before."""
        if len(self._places) < _MOST:
            self._places.append(_Place(position, found, sealed, repeated))
        else:
            self._faults.add(Kind.CHANGED, position, "this is not the event that was sealed here")

    def explain(self) -> None:
        """Name them all, once all are known."""
        home = {place.sealed: place.position for place in self._places}
        now = {place.found for place in self._places}
        for place in self._places:
            origin, lost = home.get(place.found), place.sealed not in now
            if lost and (origin is not None or place.found in self._missing):
                kind, what = Kind.REMOVED, "the event sealed here is gone, and another has taken its place"
            elif origin is not None:
                kind, what = Kind.MOVED, f"the event that stands here was sealed at position {origin}"
            elif place.repeated:
                kind, what = Kind.REPEATED, "the event that stands here stands at an earlier position too"
            elif lost:
                kind, what = Kind.CHANGED, "these are not the bytes that were sealed here"
            else:
                kind, what = Kind.INSERTED, "the event that stands here was never sealed"
            self._faults.add(kind, place.position, what)
