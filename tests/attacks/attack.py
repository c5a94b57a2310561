"""One attack after the other, drawn by seed: which call, with whose ids in which disguise, under which credential."""

import json
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from uuid import UUID, uuid4

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from events.model import Scope, SubjectId, TenantId
from services.access.rights import BOUND, TokenRole
from services.access.tokens import AUDIENCE, TokenSigner
from services.api.openapi import Api
from tests.attacks.world import QUERIES, SYSTEM, Victim, World
from tests.reading.routes import IDS

_NIL = UUID(int=0)
KINDS = ("memory", "turn", "trace", "receipt", "suppression", "task", "export", "fact")
ASKS = {"/v1/context": "query", "/v1/memories/search": "query", "/v1/forget/preview": "description"}
LISTS = (
    "/v1/memories",
    "/v1/inbox",
    "/v1/receipts",
    "/v1/consents",
    "/v1/suppressions",
    "/v1/exports",
    "/v1/tasks",
    "/v1/profile",
)
ODD = (
    *(
        "",
        " ",
        "null",
        "None",
        "undefined",
        "*",
        "%",
        "_",
        "%25",
        "..",
        "../..",
        "00000000-0000-0000-0000-000000000000",
    ),
    *(
        "'",
        '"',
        "\\",
        "' or '1'='1",
        '" or tenant_id != "',
        "a\nb",
        "a\x00b",
        "张三",
        "１２３",
        "🦊",
        "x" * 3000,
        "0",
        "-1",
        "true",
    ),
)
DISGUISES = (
    lambda each: each,
    str.upper,
    lambda each: f"{{{each}}}",
    lambda each: f"urn:uuid:{each}",
    lambda each: each.replace("-", ""),
    lambda each: each + "\n",
    lambda each: each + "\x00",
    lambda each: "\u200b" + each,
    lambda each: each.translate({ord("0") + n: 0xFF10 + n for n in range(10)}),
    lambda each: each.replace("a", "\u0430").replace("e", "\u0435"),
    lambda each: f"{each}' or '1'='1",
    lambda each: f'{each}" or subject_id != "',
    lambda each: f"{each}%",
    lambda each: f"{each}\\",
    lambda each: f"../{each}",
    lambda each: f"{each}/explain",
    lambda each: f"{each},{uuid4()}",
)


@dataclass(frozen=True)
class Attack:
    """One request; `plain` says that it asks for a victim's own id as it is, which must be answered 404."""

    kind: str
    method: str
    path: str
    headers: dict[str, str]
    body: bytes | None = None
    plain: bool = False

    @property
    def sent(self) -> str:
        """Everything the attacker said, so that what is repeated is told from what is given away."""
        return urllib.parse.unquote(self.path) + (self.body or b"").decode("utf-8", "replace")


class Attacks:
    """Draws attacks on every route of a door."""

    def __init__(self, world: World, app: Api, signer: TokenSigner, dice: Random) -> None:
        self._world, self._signer, self._dice = world, signer, dice
        self._routes = [
            (method.upper(), path)
            for path, methods in app.openapi()["paths"].items()
            for method in methods
            if path.startswith("/v1/") and path != "/v1/tokens"
        ]
        self._named = [route for route in self._routes if "{" in route[1] and "{sensitivity}" not in route[1]]
        self._foreign = Ed25519PrivateKey.generate()

    def draw(self, count: int) -> Iterator[Attack]:
        """Yield so many, of each kind about as many as it has variants."""
        kinds = (
            *(self._foreign_id, self._foreign_id, self._disguised_id, self._disguised_id, self._odd_id, self._odd_id),
            *(
                self._body_id,
                self._smuggled_scope,
                self._query,
                self._cursor,
                self._forged,
                self._mixed,
                self._own_list,
            ),
        )
        for _ in range(count):
            yield self._dice.choice(kinds)()

    def _foreign_id(self) -> Attack:
        method, path = self._dice.choice(self._named)
        name = path.partition("{")[2].partition("}")[0]
        # one time in four an id of another kind: a receipt asked for as a trace
        kind = IDS.get(name) if self._dice.random() < 0.75 else None
        kind = kind or self._dice.choice(KINDS)
        return self._named_attack(f"foreign {kind} id", method, path, self._id(kind), plain=True)

    def _disguised_id(self) -> Attack:
        method, path = self._dice.choice(self._named)
        name = path.partition("{")[2].partition("}")[0]
        disguised = self._dice.choice(DISGUISES)(self._id(IDS.get(name, "memory")))
        return self._named_attack("disguised id", method, path, disguised)

    def _odd_id(self) -> Attack:
        return self._named_attack("odd id", *self._dice.choice(self._named), self._dice.choice(ODD))

    def _named_attack(self, kind: str, method: str, path: str, value: str, *, plain: bool = False) -> Attack:
        before, _, rest = path.partition("{")
        quoted = urllib.parse.quote(value, safe="")
        return Attack(kind, method, before + quoted + rest.partition("}")[2], self._bearer(), plain=plain)

    def _body_id(self) -> Attack:
        memory = self._dice.choice(DISGUISES)(self._id("memory"))
        body: object = self._dice.choice(
            [
                {"memory_id": memory},
                {"memory_id": [memory]},
                {"memory_id": {"$ne": ""}},
                {"memory_id": None},
                [memory],
                None,
            ]
        )
        if self._dice.random() < 0.3:
            victim = self._victim()
            body = {"description": self._dice.choice(QUERIES), "digest": victim.digest}
            return Attack("foreign preview", "POST", "/v1/forget/described", self._bearer(), _json(body))
        return Attack("foreign id in a body", "POST", "/v1/forget", self._bearer(), _json(body))

    def _smuggled_scope(self) -> Attack:
        victim = self._victim()
        tenant, subject = str(victim.scope.tenant_id), str(victim.scope.subject_id)
        scope: dict[str, object] = {
            "tenant_id": tenant,
            "subject_id": subject,
            "scope": {"tenant": tenant, "subject": subject},
            "subject": victim.name,
            "filter": "",
        }
        name = self._dice.choice(list(scope))
        headers = {**self._bearer(), "X-Tenant-Id": tenant, "X-Subject-Id": subject}
        if self._dice.random() < 0.5:
            query = urllib.parse.urlencode({name: scope[name]})
            return Attack("scope in the query", "GET", f"{self._dice.choice(LISTS)}?{query}", headers)
        path, asked = self._dice.choice(list(ASKS.items()))
        body = {asked: self._dice.choice(QUERIES), "role": "chat", name: scope[name]}
        return Attack("scope in a body", "POST", path, headers, _json(body))

    def _query(self) -> Attack:
        path, asked = self._dice.choice(list(ASKS.items()))
        body: dict[str, object] = {asked: self._dice.choice(QUERIES)}
        if path == "/v1/context":
            session = self._dice.choice([None, "s1", *ODD[:20]])
            role = self._dice.choice(["chat", "planner", "generator", "search", "admin", "", None])
            body |= {"role": role, "session_id": session, "token_budget": 2000}
        return Attack("a victim's words", "POST", path, self._bearer(), _json(body))

    def _cursor(self) -> Attack:
        cursor = self._dice.choice([each for victim in self._world.victims for each in victim.cursors])
        cursor = self._dice.choice([cursor, cursor[:-2], cursor[::-1], cursor + "=", "e30=", "null"])
        path = self._dice.choice(["/v1/memories", "/v1/receipts"])
        query = urllib.parse.urlencode(
            {"cursor": cursor, "status": "forgotten"} if path == "/v1/memories" else {"cursor": cursor}
        )
        return Attack("foreign cursor", "GET", f"{path}?{query}", self._bearer())

    def _forged(self) -> Attack:
        """Ask under the victim's scope, with a token that nobody here signed, a broken one, or one of no known role."""
        victim = self._victim()
        claims = jwt.decode(self._token(victim.scope), options={"verify_signature": False})
        good = self._token(self._world.attacker)
        forged = self._dice.choice(
            [
                jwt.encode(claims, self._foreign, algorithm="EdDSA"),
                jwt.encode(claims, "", algorithm="none"),
                jwt.encode(claims, "x" * 32, algorithm="HS256"),
                ".".join([good.split(".")[0], self._token(victim.scope).split(".")[1], good.split(".")[2]]),
                good[:-4],
                "",
                "null",
                f"cnk_{victim.scope.tenant_id}_secret",
                jwt.encode({**claims, "role": "root"}, self._signer._key, algorithm="EdDSA"),
            ]
        )
        method, path = self._dice.choice([("GET", each) for each in LISTS])
        return Attack("forged token", method, path, {"Authorization": f"Bearer {forged}"})

    def _mixed(self) -> Attack:
        """Use a token of ours whose scope is nobody's: another tenant's person in this tenant, nil ids, an odd role."""
        victim, mine = self._victim(), self._world.attacker
        stranger = self._world.victims[1].scope
        scope = self._dice.choice(
            [
                Scope(tenant_id=mine.tenant_id, subject_id=stranger.subject_id),
                Scope(tenant_id=stranger.tenant_id, subject_id=self._world.victims[0].scope.subject_id),
                Scope(tenant_id=TenantId(uuid4()), subject_id=victim.scope.subject_id),
                Scope(tenant_id=TenantId(_NIL), subject_id=SubjectId(_NIL)),
            ]
        )
        method, path = (
            self._dice.choice(self._named) if self._dice.random() < 0.5 else ("GET", self._dice.choice(LISTS))
        )
        if "{" in path:
            before, _, rest = path.partition("{")
            name, _, behind = rest.partition("}")
            path = before + self._id(IDS.get(name, "memory")) + behind
        return Attack("mixed scope", method, path, {"Authorization": f"Bearer {self._token(scope)}"})

    def _own_list(self) -> Attack:
        body = None
        method, path = "GET", self._dice.choice(LISTS)
        if self._dice.random() < 0.3:
            turn = {
                "schema": "cenotaph.turn/1",
                "turn_id": f"own-{uuid4()}",
                "session_id": "s1",
                "occurred_at": "2026-08-02T10:00:00+08:00",
                "messages": [{"message_id": "m1", "role": "user", "content": "你好"}],
                "contexts": [self._id("trace")],
            }
            method, path, body = "POST", "/v1/turns", _json(turn)
        return Attack("own lists and turns", method, path, self._bearer(), body)

    def _victim(self) -> Victim:
        return self._dice.choice(self._world.victims)

    def _id(self, kind: str) -> str:
        return self._dice.choice(self._victim().ids[kind])

    def _bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token(self._attacker())}", "Content-Type": "application/json"}

    def _attacker(self) -> Scope:
        """Draw who asks: another person, or an agent of a victim in a project or a task that nothing of it is for."""
        return self._dice.choice([self._world.attacker, self._world.attacker, *self._victim().bound])

    def _token(self, scope: Scope) -> str:
        role = self._dice.choice(list(TokenRole) if scope.reach is None else sorted(BOUND))
        system = SYSTEM if role is TokenRole.SYSTEM else None
        token, _ = self._signer.issue(scope, role, timedelta(minutes=30), system=system)
        assert AUDIENCE in jwt.decode(token, options={"verify_signature": False})["aud"]
        return token


def _json(body: object) -> bytes:
    return json.dumps(body).encode()
