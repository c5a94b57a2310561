"""The numbers upkeep decides by, from one validated YAML file, and what follows from them for one memory. Pure."""

from datetime import datetime, timedelta
from functools import lru_cache
from importlib.resources import files
from math import exp
from typing import Annotated, Literal, Self

import yaml
from pydantic import Field, model_validator

from events.model import Frozen, Kind, Unit
from projections.changes import Fact

Tier = Literal["hot", "warm", "cold"]
Days = Annotated[int, Field(ge=1)]
_DAY_S = 86_400


class Room(Frozen):
    """From which share of its capacity on a kind is full, and down to which share room is made."""

    full: Unit
    room: Unit

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.room > self.full:
            raise ValueError("capacity.room must not be above capacity.full")
        return self


class Worth(Frozen):
    """What counts how much, and how fast it fades."""

    importance: Unit
    confidence: Unit
    a_day: Annotated[float, Field(gt=0, le=1)]


class Tiers(Frozen):
    """Until how many days after it was last said or used a memory is hot, and warm."""

    hot_days: Days
    warm_days: Days
    always: frozenset[Kind]


class Merging(Frozen):
    """How close two memories must be for one to stand for both, and how new one of them must be to be compared."""

    closeness: Unit
    recent_days: Days


class Consolidation(Frozen):
    """When a session is over, how many turns it must have, and how many sessions of one person a round takes."""

    quiet_hours: Annotated[int, Field(ge=1)]
    turns: Annotated[int, Field(ge=2)]
    sessions: Annotated[int, Field(ge=1)]


class UpkeepRules(Frozen):
    """What upkeep decides by."""

    capacity: Room
    worth: Worth
    decay: dict[Kind, Unit]
    tiers: Tiers
    merge: Merging
    consolidate: Consolidation
    noted_days: Days

    def worth_of(self, fact: Fact, now: datetime) -> float:
        """Return what a memory is worth, in [0, 1]: (0.6·importance + 0.4·confidence) · e^(−a·days/(1+said again)).

        Never more with more days; never less with more importance, confidence or repetition.
        """
        weights = self.worth
        whole = (weights.importance * fact.importance + weights.confidence * fact.confidence) / 1000
        return whole * exp(-weights.a_day * _days(fact, now) / (1 + fact.reinforced))

    def has_decayed(self, fact: Fact, now: datetime) -> bool:
        """Say whether a memory has faded so far that it ends; never what the person asked to remember."""
        floor = self.decay.get(fact.kind)
        return floor is not None and not fact.asked and self.worth_of(fact, now) < floor

    def tier_of(self, fact: Fact, now: datetime) -> Tier:
        """Return the tier a memory belongs to; what always holds, or was asked for, is never cold."""
        days = _days(fact, now)
        if days < self.tiers.hot_days:
            return "hot"
        return "warm" if days < self.tiers.warm_days or fact.asked or fact.kind in self.tiers.always else "cold"

    def noted_before(self, now: datetime) -> datetime:
        """Return before when a use must have been noted to be noted again."""
        return now - timedelta(days=self.noted_days)


def _days(fact: Fact, now: datetime) -> float:
    last = max(fact.verified_at, fact.used_at or fact.verified_at)
    return max(0.0, (now - last).total_seconds() / _DAY_S)


@lru_cache(maxsize=1)
def shipped_rules() -> UpkeepRules:
    """Read the rules that ship with the program."""
    return UpkeepRules.model_validate(yaml.safe_load((files(__package__) / "upkeep.yaml").read_text("utf-8")))
