"""The process that holds Milvus Lite: `python -m ops.embedded.milvus_host DIR SOCKET`.

The package is pinned: its own server binds a TCP port without any authentication, so the server is built from its parts
and bound to a socket of mode 0600.
"""

import logging
import signal
import sys
import threading
from pathlib import Path

from milvus_lite.adapter.grpc.server import _build_server
from milvus_lite.db import MilvusLite

WORKERS = 4
GRACE_S = 5.0


def serve(data: Path, socket: Path, stop: threading.Event) -> None:
    """Serve until told to stop, then finish calls under way and close the files.

    Raises:
        OSError: The socket cannot be bound.
    """
    db = MilvusLite(str(data))
    server = _build_server(db, WORKERS)
    hidden = socket.with_name(f"{socket.name}.new")
    hidden.unlink(missing_ok=True)
    server.add_insecure_port(f"unix:{hidden}")
    hidden.chmod(0o600)
    server.start()
    hidden.rename(socket)  # whoever sees the path can connect
    stop.wait()
    socket.unlink(missing_ok=True)
    server.stop(GRACE_S).wait()
    db.close()


def main() -> None:
    """Run with the arguments of the command line."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    serve(Path(sys.argv[1]), Path(sys.argv[2]), stop)


if __name__ == "__main__":
    main()
