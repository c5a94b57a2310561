"""Finding what a command talks to: the data directory, the running `up`, the door, the stores."""

from pathlib import Path

from cenotaph.calls import UNBOUND, Bounds
from cenotaph.client import AsyncCenotaph, Cenotaph, TokenRole
from events.errors import BadInputError, CenotaphError
from events.postgres import Database
from ops.cli.options import Door, Person, Tenant
from ops.embedded import Endpoints
from ops.logins import password_of
from ops.settings import Settings, load_settings
from ops.state import RunState, running

_FIRST = "run `cenotaph up` first"


def settings_of(data: Path | None, **values: object) -> Settings:
    """Read the settings, with a data directory from the command line."""
    given = {name: value for name, value in {"data": data, **values}.items() if value is not None}
    return load_settings(**given)


def require_outside(settings: Settings, *paths: Path) -> None:
    """See that what leaves the installation does not lie in it, to be lost or searched with it.

    Raises:
        BadInputError: a path lies in the data directory, the key folder or the second place.
    """
    kept = (settings.data, settings.keys, settings.second_place)
    for path in paths:
        if any(path.resolve().is_relative_to(folder.resolve()) for folder in kept):
            raise BadInputError(f"{path} lies in a folder of cenotaph itself; name a place outside {settings.data}")


def tenant_key(settings: Settings) -> Path:
    """Return where the API key of the default tenant lies."""
    return settings.keys / "tenant.key"


def find_door(door: Door) -> tuple[str, str]:
    """Return the address of the door and the API key to use.

    Raises:
        CenotaphError: nothing runs, or there is no key.
    """
    settings = settings_of(door.data)
    url = door.url
    if url is None:
        url = _up(settings).url
    if url is None:
        raise CenotaphError("cenotaph is still starting; try again in a few seconds")
    return url, api_key_of(door)


def api_key_of(tenant: Tenant) -> str:
    """Return the API key to use: that which is given, else that of the data directory.

    Raises:
        CenotaphError: there is none.
    """
    if tenant.key is not None:
        return tenant.key
    try:
        return tenant_key(settings_of(tenant.data)).read_text(encoding="ascii").strip()
    except FileNotFoundError:
        raise CenotaphError("there is no API key; name one with --key or CENOTAPH_API_KEY") from None


def memory(person: Person, role: TokenRole = "agent") -> Cenotaph:
    """Open one person's memory over HTTP; who names what an agent is bound to acts as one, whatever the role."""
    address, api_key = find_door(person)
    bounds = Bounds(person.project, person.task, person.assistant, person.reading_for)
    acting = role if bounds == UNBOUND or role == "workflow" else "agent"
    return Cenotaph(address, timeout_s=30).for_subject(api_key, person.subject, role=acting, bounds=bounds)


def async_door(url: str) -> AsyncCenotaph:
    """Open the door for asyncio."""
    return AsyncCenotaph(url, timeout_s=30)


def stores_of(settings: Settings) -> Endpoints:
    """Return where the stores are: those the settings give, else those of the running `up`.

    Raises:
        CenotaphError: one is not given and nothing runs.
    """
    given = given_stores(settings)
    if given is not None:
        return given
    endpoints = _up(settings).endpoints
    if endpoints is None:
        raise CenotaphError("cenotaph is still starting; try again in a few seconds")
    return endpoints


def log_of(settings: Settings, role: str) -> Database:
    """Open the log as one of its roles, `cenotaph_` left out."""
    name = f"cenotaph_{role}"
    return Database(stores_of(settings).database_url, name, password=password_of(settings.logins, name))


def given_stores(settings: Settings) -> Endpoints | None:
    """Return the four stores if the settings give them all."""
    log, vault, redis, milvus = settings.database_url, settings.vault_url, settings.redis_url, settings.milvus_uri
    if log is None or vault is None or redis is None or milvus is None:
        return None
    return Endpoints(log, vault, redis, milvus)


def _up(settings: Settings) -> RunState:
    state = running(settings.data)
    if state is None:
        raise CenotaphError(f"nothing runs on {settings.data}; {_FIRST}")
    return state
