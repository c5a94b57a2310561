"""The check of a bundle: needs the file and, to trust it, the pinned key; no database and no data key (R5).

Whatever is imported here must be importable without the server's packages; a test holds it to that.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from events.errors import BadInputError
from services.audit.bundle import Bundle, notes_by
from services.audit.evidence import Source, Trust, judge
from services.audit.faults import Faults, Kind
from services.audit.part import Part
from services.audit.report import Report, report_of
from services.audit.verify import Audit


def check(
    path: Path,
    trust: Trust,
    held: Sequence[str] = (),
    progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> Report:
    """Check a bundle offline.

    Args:
        path: the file.
        trust: the pinned first key, and witnesses.
        held: checkpoints the auditor has from elsewhere; the bundle must agree with each.
        progress: called with positions done and positions to do.

    Raises:
        BadInputError: the file is no bundle at all.
    """
    faults = Faults()
    with Bundle(path) as bundle:
        manifest = bundle.manifest
        notes = [*bundle.checkpoints, *((Source.HELD, note) for note in held)]
        part = Part(manifest, bundle.proofs) if manifest.proven_by else None
        evidence = judge(notes_by(bundle.keys), notes, trust, faults, partial=part is not None)
        begun = part is None or part.begins(bundle.first_leaf(), evidence.marks, faults)
        within = [mark for mark in evidence.marks if part is None or (begun and mark.size <= manifest.end)]
        audit = Audit(within, faults, None if part is None else part.before)
        try:
            for chunk in bundle.chunks():
                audit.take(chunk)
                progress(audit.size - audit.start, manifest.end - manifest.first)
                if part is not None:
                    part.see(chunk.nodes)
        except BadInputError as error:
            faults.add(Kind.BUNDLE, audit.size, str(error))
        audit.finish(None)
        if part is not None and begun:
            audit.matched += part.prove(audit.range, evidence.marks, faults)
    return report_of(audit, evidence, trust, faults)
