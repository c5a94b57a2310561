"""What a check found, in words and as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from services.audit.evidence import Evidence, Trust
from services.audit.faults import Fault, Faults
from services.audit.verify import Audit

_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a check.

    `first` and `end` are the positions that were checked, `end` not included; `signed` is up to where a matching
    checkpoint vouches, `independent` up to where one does that lies outside the database.
    """

    first: int
    end: int
    bodies: int
    shredded: int
    signed: int
    independent: int
    checkpoints: int
    keys: int
    first_key: str | None
    pinned: bool
    cosigned: Mapping[str, tuple[int, datetime]]
    faults: Sequence[Fault]
    total: int

    @property
    def ok(self) -> bool:
        """Say whether nothing is wrong."""
        return self.total == 0

    @property
    def unsigned(self) -> int:
        """How many of the checked events no checkpoint outside the database covers: the operator's word."""
        return max(self.end - max(self.independent, self.first), 0)

    def as_json(self) -> dict[str, object]:
        """Return everything, for a machine."""
        return {
            "ok": self.ok,
            "first_position": self.first,
            "end_position": self.end,
            "events": self.end - self.first,
            "bodies": self.bodies,
            "shredded": self.shredded,
            "signed_events": self.signed,
            "independent_events": self.independent,
            "unsigned_events": self.unsigned,
            "checkpoints": self.checkpoints,
            "keys": self.keys,
            "first_key": self.first_key,
            "pinned": self.pinned,
            "cosigned": {name: {"events": size, "at": at.isoformat()} for name, (size, at) in self.cosigned.items()},
            "first_fault": _fault(self.faults[0]) if self.faults else None,
            "faults": [_fault(fault) for fault in self.faults],
            "fault_count": self.total,
        }

    def lines(self) -> list[str]:
        """Say it in a few lines: what is wrong, first position first, then up to where somebody vouches for it."""
        shown = [str(fault) for fault in self.faults[:_SHOWN]]
        if self.total > len(shown):
            shown.append(f"… and {self.total - len(shown)} more")
        return [*shown, self._summary(), self._vouched(), *self._trusted()]

    def _summary(self) -> str:
        what = f"{self.end - self.first} events"
        if self.bodies or self.shredded:
            what += f", {self.bodies} bodies; {self.shredded} are gone, fenced"
        return f"verified {what}" if self.ok else f"{self.total} faults in {what}; the log is not what was sealed"

    def _vouched(self) -> str:
        if self.independent <= self.first:
            return "no checkpoint outside the database covers these events: all of them are the operator's word"
        since = f"{self.unsigned} events since" + (", which are the operator's word" if self.unsigned else "")
        return f"verified to position {min(self.independent, self.end) - 1} by checkpoint; {since}"

    def _trusted(self) -> list[str]:
        if self.first_key is None:
            return []
        origin = "pinned" if self.pinned else "not pinned: believed as found; compare it with --key"
        cosigned = [f"cosigned by {name} up to {size} events at {at}" for name, (size, at) in self.cosigned.items()]
        return [f"{self.checkpoints} checkpoints, {self.keys} keys from {self.first_key} ({origin})", *cosigned]


def report_of(audit: Audit, evidence: Evidence, trust: Trust, faults: Faults) -> Report:
    """Sum up a finished check."""
    first = evidence.chain.first
    return Report(
        first=audit.start,
        end=audit.size,
        bodies=audit.bodies,
        shredded=audit.shredded,
        signed=max((mark.size for mark in audit.matched), default=0),
        independent=audit.independent,
        checkpoints=len({mark.size for mark in audit.matched}),
        keys=len(evidence.chain.keys),
        first_key=None if first is None else str(first),
        pinned=trust.pinned is not None,
        cosigned=evidence.cosigned,
        faults=faults.in_order(),
        total=faults.total,
    )


def _fault(fault: Fault) -> dict[str, object]:
    return {"kind": fault.kind, "position": fault.position, "what": fault.what}
