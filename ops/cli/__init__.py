"""The command line: `cenotaph`."""

from ops.cli import backups as copies
from ops.cli import export as exporting
from ops.cli import keys, letters, receipts
from ops.cli import layers as foreign
from ops.cli.access import create, forget_tenant, system, tenant, token
from ops.cli.audit import audit
from ops.cli.backup import backup, restore
from ops.cli.bench import bench
from ops.cli.bundle import check, export
from ops.cli.demo import demo
from ops.cli.diff import diff
from ops.cli.errors import App
from ops.cli.evaluate import evaluate
from ops.cli.forget import forget, resume, suspend
from ops.cli.inbox import confirm, consent, explain, inbox, refuse, suppress
from ops.cli.ingest import ingest
from ops.cli.memory import memories, recall, remember
from ops.cli.move import move
from ops.cli.options import expanded
from ops.cli.parts import api, migrate, worker
from ops.cli.profile import profile
from ops.cli.rebuild import rebuild
from ops.cli.reindex import reindex
from ops.cli.replay import replay
from ops.cli.residue import residue
from ops.cli.signing import cosign, key, rotate_key
from ops.cli.status import status
from ops.cli.tasks import tasks
from ops.cli.trace import trace
from ops.cli.up import down, up
from ops.cli.upkeep import upkeep
from ops.cli.verify import verify
from ops.cli.where import where

__all__ = ["app"]

app = App(
    help="Long-term memory for AI agents that can prove it forgot.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
for command in (
    *(demo, up, down, status, remember, recall, memories, profile, where, forget, suspend, resume, move, ingest),
    *(inbox, confirm, refuse, consent, suppress, explain, trace, tasks),
    *(replay, verify, rebuild, reindex, upkeep, backup, restore, migrate, api, worker, token),
):
    app.command()(expanded(command))
for audits in (verify, export, check, diff, residue, key, rotate_key, cosign):
    audit.command()(expanded(audits))
app.add_typer(audit, name="audit")
tenant.command()(expanded(create))
tenant.command("forget")(expanded(forget_tenant))
tenant.command()(expanded(system))
app.add_typer(tenant, name="tenant")
for name, action in letters.COMMANDS.items():
    letters.letters.command(name)(expanded(action))
app.add_typer(letters.letters, name="dead-letters")
for name, action in foreign.COMMANDS.items():
    foreign.layers.command(name)(expanded(action))
app.add_typer(foreign.layers, name="layers")
for name, action in exporting.COMMANDS.items():
    exporting.exports.command(name)(expanded(action))
app.add_typer(exporting.exports, name="export")
for name, command in receipts.COMMANDS.items():
    receipts.receipts.command(name)(expanded(command))
app.add_typer(receipts.receipts, name="receipts")
for name, action in copies.COMMANDS.items():
    copies.backups.command(name)(expanded(action))
app.add_typer(copies.backups, name="backups")
for name, action in keys.COMMANDS.items():
    keys.keys.command(name)(expanded(action))
app.add_typer(keys.keys, name="keys")
app.add_typer(evaluate, name="eval")
app.add_typer(bench, name="bench")
