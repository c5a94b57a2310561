"""Binding a person's scope to a project and a task, by the outside ids of the caller (R30)."""

from events.errors import BadInputError
from events.model import Audience, ProjectId, Scope, TaskId
from events.vault import Vault
from services.governance.audience import project_name


async def bound(vault: Vault, scope: Scope, project: str | None, task_id: str | None) -> Scope:
    """Return the scope bound to the project and the task; both are made where they are new.

    A project is known however it is written: in another case, width or script. A task is that of the project.

    Raises:
        BadInputError: the project's name has no visible character.
    """
    audience = Audience()
    if project is not None:
        if not project_name(project):
            raise BadInputError("project: has nothing that can be seen")
        name = ("project", project_name(project))
        audience = Audience(project=ProjectId((await (await vault.keyring(scope)).intern([name]))[name]))
    if task_id is not None:
        task = ("task", task_id)
        keyring = await vault.keyring(scope.within(audience))
        audience = Audience(project=audience.project, task=TaskId((await keyring.intern([task]))[task]))
    return scope.within(audience)
