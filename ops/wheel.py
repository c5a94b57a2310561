"""Bundle the server into `cenotaph/_app`, so that no plain package name of ours lands in another's site-packages.

The folders are called `events`, `services`, `ops` …; others publish packages of the same names, and installing one of
them beside ours would overwrite it. An editable installation needs no bundle: it puts the whole tree on `sys.path`.
"""

from typing import Any

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BUNDLED = (
    *("events", "projections", "services", "workers", "ops"),
    # what the demo plays
    *("tests/golden/conversation.jsonl", "tests/golden/conversation.expect.json"),
)


class Bundle(BuildHookInterface[BuilderConfig]):
    """Hatchling's custom build hook; it finds the class by its base."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the bundled folders and files to a standard wheel, under the paths they have in the tree.

        Args:
            version: `standard` or `editable`.
            build_data: what the builder will do; changed in place, as the interface asks.
        """
        if self.target_name == "wheel" and version == "standard":
            build_data["force_include"].update({name: f"cenotaph/_app/{name}" for name in BUNDLED})
