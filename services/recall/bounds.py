"""Binding a person's scope to a project, a task, an assistant and a purpose, by the outside ids of the caller (R30)."""

from events.model import PRIVATE, Audience, Scope, TaskId
from events.vault import Vault
from services.governance.audience import place_name
from services.wire.names import Bounds


async def bound(vault: Vault, scope: Scope, bounds: Bounds) -> Scope:
    """Return the scope bound to what is named; each is made where it is new.

    All but a task are known however they are written: in another case, width or script. A task is that of the rest.

    Raises:
        BadInputError: a name has no visible character.
    """
    audience = await place_of(vault, scope, bounds)
    if bounds.task_id is None:
        return scope.within(audience)
    task = ("task", bounds.task_id)
    keyring = await vault.keyring(scope.within(audience))
    return scope.within(audience.model_copy(update={"task": TaskId((await keyring.intern([task]))[task])}))


async def place_of(vault: Vault, scope: Scope, bounds: Bounds) -> Audience:
    """Return whom something is for that is for a project, an assistant or a purpose; each is made where it is new.

    Raises:
        BadInputError: a name has no visible character.
    """
    given = {"project": bounds.project, "assistant": bounds.assistant, "purpose": bounds.purpose}
    names = {kind: (kind, place_name(kind, each)) for kind, each in given.items() if each is not None}
    if not names:
        return PRIVATE
    ids = await (await vault.keyring(scope.person)).intern(list(names.values()))
    return Audience.model_validate({kind: ids[name] for kind, name in names.items()})
