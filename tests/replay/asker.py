"""A process of its own that recalls: a query a line in, what came and whether it was cached a line out, as JSON."""

import asyncio
import json
import sys
from pathlib import Path
from uuid import UUID

from events.model import Scope, SubjectId, TenantId
from ops.composition import Composition
from ops.embedded import Endpoints
from ops.settings import load_settings


async def answer(data: Path, endpoints: Endpoints, scope: Scope) -> None:
    """Recall for every line until there are no more."""
    composition = Composition(load_settings(data=data), endpoints)
    try:
        while line := await asyncio.to_thread(sys.stdin.readline):
            found = await composition.recall.recall(scope, json.loads(line))
            assert found.found is not None
            came = {str(each.fact.memory_id): each.body.content for each in found.recalled}
            sys.stdout.write(json.dumps({"came": came, "cached": found.found.cached}) + "\n")
            sys.stdout.flush()
    finally:
        await composition.close()


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    person = Scope(tenant_id=TenantId(UUID(given["tenant"])), subject_id=SubjectId(UUID(given["subject"])))
    asyncio.run(answer(Path(given["data"]), Endpoints(**given["endpoints"]), person))
