"""The `cenotaph` command: find the server's code, bundled or in the working tree, and run its command line."""

import os
import sys
from importlib import import_module
from pathlib import Path


def code_root(package: Path) -> Path:
    """Return the folder that holds `ops` and its siblings: the bundle of a wheel, else the working tree."""
    bundle = package / "_app"
    return bundle if bundle.is_dir() else package.parent


def main() -> None:
    """Run the command line, or say which extra it needs.

    Raises:
        SystemExit: with the command's exit code, or with a message when the extra `server` is not installed.
    """
    root = str(code_root(Path(__file__).resolve().parent))
    sys.path.insert(0, root)
    # Child processes (the Milvus host, migrations) start with `python -m` and must find the same code.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    try:
        app = import_module("ops.cli").app
    except ModuleNotFoundError as missing:
        name = (missing.name or "").partition(".")[0]
        if Path(root, name).exists():
            raise  # a module of ours: a fault, not a missing extra
        if sys.argv[1:3] == ["audit", "check"]:
            raise SystemExit(_check(sys.argv[3:])) from None
        raise SystemExit(
            f"cenotaph: the command needs the server, and {name} is not installed; install cenotaph[server]"
        ) from missing
    app()


def _check(arguments: list[str]) -> int:
    """Check a bundle, which needs the extra `audit` only."""
    try:
        run = import_module("services.audit.offline").main
    except ModuleNotFoundError as missing:
        raise SystemExit(f"cenotaph: {missing.name} is not installed; install cenotaph[audit]") from missing
    code: int = run(arguments)
    return code
