"""`cenotaph profile`: what is known of the person as such, what for, and until when."""

from rich.table import Table

from cenotaph import answers
from ops import logs
from ops.cli.options import Json, Person
from ops.cli.output import coloured, out, plain, print_json, print_table
from ops.cli.places import memory


def profile(*, person: Person, json: Json = False) -> None:
    """Show every field of the profile: its purpose, who sees and changes it, how long it is kept, and its values."""
    logs.configure("warning")
    with memory(person, role="person") as own:
        found = own.profile()
    if json:
        print_json(found)
        return
    table = Table("field", "for", "seen by", "changed by", "kept", "sensitive", box=None, pad_edge=False)
    for each in found.fields:
        kept = f"{each.retention_days} days" if each.retention_days is not None else "until revoked"
        seen = ", ".join(each.visible_to) or "the person"
        table.add_row(each.key, f"{each.purpose.zh} / {each.purpose.en}", seen, each.editable, kept, each.sensitivity)
    print_table(table)
    for each in found.fields:
        for value in each.values:
            _show(each.key, value)


def _show(key: str, value: answers.FieldValue) -> None:
    until = f"  until {value.kept_until.date().isoformat()}" if value.kept_until is not None else ""
    why = f"  {value.withheld or value.reason or ''}".rstrip()
    out.print(
        f"{key:18}", coloured(value.status), " ", plain(value.content or ""), f"  {value.memory_id}{until}{why}", sep=""
    )
