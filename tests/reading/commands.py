"""The table of the command line's commands: those that go through the door, and those of whoever owns the stores."""

from typing import Final

DOOR: Final = frozenset(
    {
        *(
            "remember",
            "recall",
            "memories",
            "profile",
            "where",
            "forget",
            "suspend",
            "resume",
            "move",
            "ingest",
            "inbox",
        ),
        *("confirm", "refuse", "consent", "suppress", "explain", "trace", "tasks", "token", "tenant forget"),
        *("export write", "export list", "export check"),
        *("receipts list", "receipts show", "receipts watch", "receipts check", "receipts close"),
    }
)
"""Commands that hold a tenant's key or a token and nothing else: what they read, the door answered."""

OWNER: Final = frozenset(
    {
        *(
            "demo",
            "up",
            "down",
            "status",
            "replay",
            "verify",
            "rebuild",
            "reindex",
            "upkeep",
            "backup",
            "restore",
            "backups list",
            "backups drop",
        ),
        *("migrate", "api", "worker", "audit verify", "audit export", "audit check", "audit diff", "audit residue"),
        *("audit key", "audit rotate-key", "audit cosign", "tenant create", "tenant system"),
        *("dead-letters list", "dead-letters show", "dead-letters replay", "dead-letters drop"),
        *("layers add", "layers list", "layers remove", "layers check", "keys roll", "keys status"),
        *("eval governance", "eval retrieval", "bench append", "bench replay", "bench growth", "bench recall"),
        *("bench years", "bench forget"),
    }
)
"""Commands of whoever holds the data directory, or the logins of the stores and the keys: no credential bounds them."""

STORES: Final = frozenset(
    {"compose", "stores_of", "log_of", "given_stores", "Composition", "Database", "Vault", "Embedded"}
)
"""What opens a store. No command of the door may come by one of these names."""
