"""Embedded servers: PostgreSQL twice, Valkey and Milvus Lite as children of one supervisor, for one machine (R70)."""

from ops.embedded.errors import EmbeddedError
from ops.embedded.supervisor import MILVUS, POSTGRES_LOG, POSTGRES_VAULT, SERVERS, VALKEY, Embedded, Endpoints

__all__ = [
    "MILVUS",
    "POSTGRES_LOG",
    "POSTGRES_VAULT",
    "SERVERS",
    "VALKEY",
    "Embedded",
    "EmbeddedError",
    "Endpoints",
]
