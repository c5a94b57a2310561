"""pymilvus without what it does when it is imported.

It reads MILVUS_URI and refuses the unix sockets of Milvus Lite, and it loads any `.env` above its own folder into our
environment. Whoever needs pymilvus takes it from here, and the environment stays as the operator set it.
"""

import logging
import os
from typing import Final

import grpc

_before = dict(os.environ)
os.environ["MILVUS_URI"] = ""  # set, so that a `.env` does not set it either
try:
    from pymilvus import DataType, MilvusClient, MilvusException
finally:
    for _name in os.environ.keys() - _before.keys():
        del os.environ[_name]
    os.environ.update(_before)

__all__ = ["NO_ANSWER", "DataType", "MilvusClient", "MilvusException", "code_of", "connect"]

# pymilvus logs a traceback for every error it also raises.
logging.getLogger("pymilvus").setLevel(logging.CRITICAL)

NO_ANSWER: Final = (MilvusException, grpc.RpcError, grpc.FutureTimeoutError)
"""Whatever is raised where the server does not answer or refuses; a passed deadline escapes pymilvus as gRPC's own."""


# pymilvus pings every ten seconds, calls or none; the server of Milvus Lite allows that every five minutes, hangs up,
# and gRPC complains on stderr. A unix socket needs no pings: its peer's end is noticed.
_NO_PINGS: Final = {"grpc.keepalive_time_ms": 2**31 - 1, "grpc.keepalive_permit_without_calls": 0}


def connect(uri: str, token: str, timeout_s: float) -> MilvusClient:
    """Open a connection of our own: a shared one would be closed under whoever else here uses the address."""
    options = _NO_PINGS if uri.startswith("unix:") else {}
    return MilvusClient(uri, token=token, dedicated=True, timeout=timeout_s, grpc_options=options)


def code_of(error: Exception) -> str:
    """Name an error by its code; its message may hold a filter."""
    code = getattr(error, "code", None)
    code = code() if callable(code) else code
    return str(getattr(code, "name", type(error).__name__ if code is None else code))
