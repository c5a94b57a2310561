"""`cenotaph tasks`: what workflows are doing for a person, and where each stands."""

from typing import Annotated

import typer
from rich.table import Table

from cenotaph import answers
from ops import logs
from ops.cli.options import Json, Person
from ops.cli.output import coloured, out, plain, print_json, print_table
from ops.cli.places import memory


def tasks(
    task_id: Annotated[
        str | None, typer.Argument(help="Your own name for the task; without it, all are listed.", metavar="ID")
    ] = None,
    *,
    person: Person,
    json: Json = False,
) -> None:
    """List the tasks that workflows carry out for the person, or show one."""
    logs.configure("warning")
    with memory(person, role="person") as own:
        found = own.tasks() if task_id is None else own.task(task_id)
    if json:
        print_json(found)
    elif isinstance(found, answers.Tasks):
        _list(found)
    else:
        _show(found)


def _list(page: answers.Tasks) -> None:
    table = Table("task", "round", "status", "version", "errors", "expires", box=None, pad_edge=False)
    for each in page.tasks:
        numbers = (str(each.version), str(each.errors), f"{each.expires_at:%Y-%m-%d %H:%M}")
        table.add_row(plain(each.task_id), str(each.round), coloured(each.status), *numbers)
    print_table(table)


def _show(task: answers.Task) -> None:
    out.print(plain(task.task_id), " ", coloured(task.status), f"  round {task.round}, version {task.version}", sep="")
    one = {"goal": task.goal, "step": task.current_step, "last result": task.last_result, "last error": task.last_error}
    several = {
        "constraint": task.constraints,
        "done": task.completed,
        "pending": task.pending,
        "fact": task.key_facts,
    }
    lines = [(label, item) for label, item in one.items() if item is not None]
    lines += [(label, item) for label, items in several.items() for item in items]
    for label, item in lines:
        out.print(f"  {label:12}", plain("(forgotten)" if item.text is None else item.text), sep="")
    for lesson in task.lessons:
        out.print(f"  {'lesson':12}", plain(lesson.text), sep="")
    if task.budget_left:
        out.print("  budget left ", "  ".join(f"{name} {left}" for name, left in task.budget_left.items()), sep="")
