"""How the door is served."""

import uvicorn

from services.api.openapi import Api


def server_config(app: Api, *, host: str = "127.0.0.1", port: int = 8765, uds: str | None = None) -> uvicorn.Config:
    """Configure uvicorn: no access log, which would hold ids and query strings, and no logging set-up of its own.

    Args:
        app: The app of `create_app`.
        host: Address to listen on, unless `uds` is given.
        port: Port to listen on; 0 takes a free one.
        uds: Path of a unix socket to listen on instead.
    """
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        uds=uds,
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=10,
    )
