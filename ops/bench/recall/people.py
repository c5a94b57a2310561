"""The people of a filled system: who they are, what they said, under which vectors; all made again from a number."""

import random
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from events.ids import derived_id
from events.model import Scope, SubjectId, TenantId
from ops.bench.recall.words import sentences
from projections.embedding import DIMENSION, Vector


@dataclass(frozen=True)
class Person:
    """One of the people, with as many memories as the others have.

    Attributes:
        number: what the dice are thrown from.
        each: how many memories.
    """

    tenant: TenantId
    number: int
    each: int

    @cached_property
    def scope(self) -> Scope:
        """Whose memories."""
        return Scope(tenant_id=self.tenant, subject_id=SubjectId(derived_id(self.tenant, str(self.number))))

    @cached_property
    def said(self) -> tuple[str, ...]:
        """What the person said, one sentence a memory."""
        return tuple(sentences()[0][number] for number in self._numbers)

    @cached_property
    def tokens(self) -> tuple[tuple[str, ...], ...]:
        """Those of every sentence."""
        return tuple(sentences()[1][number] for number in self._numbers)

    @cached_property
    def vectors(self) -> Vector:
        """The vectors it is indexed under: float32 of length 1, shape (each, 384)."""
        raw = np.random.default_rng(self.number).standard_normal((self.each, DIMENSION), dtype=np.float32)
        return np.asarray(raw / np.linalg.norm(raw, axis=1, keepdims=True), dtype=np.float32)

    @cached_property
    def _numbers(self) -> list[int]:
        dice = random.Random(self.number)  # noqa: S311 - as above
        return dice.choices(range(len(sentences()[0])), k=self.each)
