"""The profile of a person as its readers see it: every field, what it is for, what is kept under it (R16)."""

from collections import defaultdict

from events.model import Kind, MemoryBody, Scope
from events.postgres import Database
from events.vault import Vault
from projections.changes import LIVING, fold, touched_by, within
from projections.facts import newer_events, read_kinds, read_memories
from projections.memories import open_memories
from services.access.rights import TokenRole
from services.extraction.vocabulary import kinds_of
from services.profile.fields import Fields, ProfileField
from services.recall.catalogue import recorded_views
from services.wire.profile import FieldRules, FieldValue, FieldView, ProfileView, PurposeView


class Profiles:
    """Shows profiles.

    Args:
        reader: a pool under `cenotaph_reader`.
        vault: with the right to open keys.
        fields: the fields there are.
    """

    def __init__(self, reader: Database, vault: Vault, fields: Fields) -> None:
        self._reader = reader
        self._vault = vault
        self._fields = fields
        self._kinds = kinds_of(fields) | {Kind.PROFILE}

    async def show(self, scope: Scope, *, reader: TokenRole) -> ProfileView:
        """Show every field with what lives under it, as far as a reader may see it, and record the read."""
        keyring = await self._vault.keyring(scope)
        async with self._reader.transaction(scope) as connection:
            newer, _ = await newer_events(connection, scope)
            known = await read_kinds(connection, scope, self._kinds)
            state = within(fold(known | await read_memories(connection, scope, touched_by(newer)), newer), scope)
            facts = [fact for fact in state.values() if fact.status in LIVING and fact.kind in self._kinds]
            bodies = await open_memories(connection, keyring, facts)
            keys = {
                fact.event_id: body.key
                for fact in facts
                if isinstance(body := bodies.get(fact.event_id), MemoryBody) and body.key in self._fields
            }
            own = sorted((fact for fact in facts if fact.event_id in keys), key=lambda fact: fact.recorded_at)
            views = await recorded_views(connection, keyring, own, reader, "list")
        values: dict[str | None, list[FieldValue]] = defaultdict(list)
        for fact, view in zip(own, views, strict=True):
            key = keys[fact.event_id]
            until = self._fields[key or ""].kept_until(fact.verified_at)
            values[key].append(FieldValue(**dict(view), kept_until=until))
        return ProfileView(
            fields=tuple(
                FieldView(**dict(rules_of(key, field)), values=tuple(values[key]))
                for key, field in self._fields.items()
            )
        )


def rules_of(key: str, field: ProfileField) -> FieldRules:
    """Say what holds for a field, in the form the door answers."""
    return FieldRules(
        key=key,
        purpose=PurposeView(zh=field.purpose.zh, en=field.purpose.en),
        visible_to=tuple(sorted(field.visible_to)),
        editable=field.editable,
        retention_days=field.retention_days,
        sensitivity=field.sensitivity,
    )
