"""Finding mechanically what reads: functions that query a store, and what a command comes by, by their source."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
ROOMS: Final = ("events", "projections", "services", "workers", "ops")
_APART: Final = ("ops/bench/", "ops/migrations/")  # measure and migrate on stores of their own, as their owner
_POSTGRES: Final = frozenset({"fetch", "fetchrow", "fetchval", "cursor", "copy_from_query"})
_MILVUS: Final = frozenset({"query", "query_iterator"})


def querying() -> set[str]:
    """Name every function that asks Postgres or Milvus itself, as `module:qualified.name`."""
    found = set()
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if not name.startswith(_APART):
                module = name.removesuffix(".py").replace("/", ".")
                found |= {f"{module}:{each}" for each in asking(ast.parse(path.read_text("utf-8")))}
    return found


def asking(node: ast.AST, within: tuple[str, ...] = ()) -> Iterator[str]:
    """Name the functions of a tree that ask a store, themselves or in a function within them."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            inner = (*within, child.name)
            if not isinstance(child, ast.ClassDef) and any(map(_asks, ast.walk(child))):
                yield ".".join(inner)
            else:
                yield from asking(child, inner)


def _asks(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    called, of = node.func.attr, node.func.value
    milvus = called in _MILVUS or (called in {"search", "get"} and isinstance(of, ast.Name) and of.id == "client")
    return called in _POSTGRES or milvus


def reachable_names(module: str, function: str) -> set[str]:
    """Name everything that a function mentions, and what the functions of its own module do that it calls."""
    tree = ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text("utf-8"))
    own = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    found: set[str] = set()
    waiting = {function}
    while waiting:
        node = own[waiting.pop()]
        names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        waiting |= {name for name in names - found if name in own}
        found |= names
    return found
