"""Settings, read from the environment once."""

from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from platformdirs import user_data_path
from pydantic import AfterValidator, Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from events.errors import CenotaphError
from services.wire.limits import Limits

PREFIX = "CENOTAPH_"
_LIMITS = Limits()
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class SettingsError(CenotaphError):
    """A setting cannot be used; the message names the variable and the rule, never the value."""


def _absolute(path: Path) -> Path:
    return path.expanduser().absolute()


def _postgres(url: str) -> str:
    for scheme in ("postgresql+asyncpg://", "postgresql://", "postgres://"):
        if url.startswith(scheme):
            return "postgresql://" + url.removeprefix(scheme)
    raise ValueError("must start with postgresql://")


def _redis(url: str) -> str:
    if not url.startswith(("redis://", "rediss://", "unix://")):
        raise ValueError("must start with redis://, rediss:// or unix://")
    return url


def _milvus(uri: str) -> str:
    # a file name would start a second Milvus Lite inside this process, on an open TCP port
    if not uri.startswith(("http://", "https://", "unix:")):
        raise ValueError("must start with http://, https:// or unix:; leave it unset for the embedded index")
    return uri


def _endpoint(url: str) -> str:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise ValueError("cannot be read as a URL") from None  # what urllib says may repeat it
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("must start with https:// or http:// and name a host")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("must hold neither user, query nor fragment; the key is CENOTAPH_MODEL_KEY")
    return url.rstrip("/")


def _bearer(key: SecretStr) -> SecretStr:
    value = key.get_secret_value()
    if not value.isascii() or not value.isprintable() or " " in value:
        raise ValueError("must be printable ASCII without blanks, as it goes into a header")
    return key


def _default_data() -> Path:
    return user_data_path("cenotaph", appauthor=False)


Directory = Annotated[Path, AfterValidator(_absolute)]
PostgresUrl = Annotated[str, AfterValidator(_postgres)]
RedisUrl = Annotated[str, AfterValidator(_redis)]
MilvusUri = Annotated[str, AfterValidator(_milvus)]
EndpointUrl = Annotated[str, AfterValidator(_endpoint)]
BearerKey = Annotated[SecretStr, AfterValidator(_bearer)]
Count = Annotated[int, Field(ge=1)]
TimeOfDay = Annotated[str, Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d$")]


class Settings(BaseSettings):
    """Everything an operator can set. Each URL that is given replaces that embedded server.

    Sizes are in bytes or characters, times in the unit their name ends with. URLs are left out of `repr`, as they may
    hold a password.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, frozen=True, extra="forbid", populate_by_name=True
    )

    data: Directory = Field(default_factory=_default_data)
    database_url: PostgresUrl | None = Field(default=None, validation_alias="DATABASE_URL", repr=False)
    vault_url: PostgresUrl | None = Field(default=None, validation_alias="VAULT_URL", repr=False)
    redis_url: RedisUrl | None = Field(default=None, validation_alias="REDIS_URL", repr=False)
    milvus_uri: MilvusUri | None = Field(default=None, validation_alias="MILVUS_URI", repr=False)

    model_url: EndpointUrl | None = Field(default=None, repr=False)
    model_name: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    model_key: BearerKey | None = None
    model_within_s: Count = 20
    model_try_s: Count = 15
    model_tries: Annotated[int, Field(ge=1, le=5)] = 2
    model_at_once: Count = 4
    model_input_tokens: Count = 4_000
    model_output_tokens: Count = 2_000
    model_calls_a_day: Count = 10_000
    model_tokens_a_day: Count = 20_000_000
    model_tenant_calls_a_day: Count = 2_000
    model_tenant_tokens_a_day: Count = 4_000_000

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8765
    second_place: Directory = Field(default_factory=lambda values: values["data"] / "second-place")
    keys: Directory = Field(default_factory=lambda values: values["data"] / "keys")
    logins: Directory | None = None

    max_body_bytes: Count = _LIMITS.max_body_bytes
    max_messages: Count = _LIMITS.max_messages
    max_message_chars: Count = _LIMITS.max_message_chars
    delivery_cap: Count = 5
    reclaim_idle_ms: Count = 30_000
    sweep_after_s: Count = 10
    rewrite_every_s: Count = 60
    purge_every_s: Count = 3_600
    purge_within_h: Count = 48
    prepare_within_ms: Count = 1_000
    message_days: Count = 30
    read_days: Count = 30
    recall_cache_s: Annotated[int, Field(ge=0)] = 300
    recall_rewrites: bool = False
    recall_rewrite_ms: Count = 2_000
    model_sums_up: bool = False
    upkeep_every_s: Count = 60
    tidy_every_s: Count = 86_400
    compare_every_s: Annotated[int, Field(ge=0)] = 86_400
    vectors_within_ms: Count = 3_000
    key_roll_at: TimeOfDay = "03:00"
    key_roll_every_h: Annotated[int, Field(ge=1, le=744)] = 24
    key_copies_days: Annotated[int, Field(ge=0)] = 0
    backup_key_days: Count = 7
    checkpoint_every_s: Count = 60
    checkpoint_every_events: Count = 5000
    max_future_skew_s: Annotated[int, Field(ge=0)] = int(_LIMITS.max_skew.total_seconds())

    @model_validator(mode="after")
    def _vault_apart(self) -> Self:
        if self.vault_url is not None and self.vault_url == self.database_url:
            raise ValueError(
                "VAULT_URL and DATABASE_URL must be different clusters, or a backup of one holds the keys too"
            )
        return self

    @model_validator(mode="after")
    def _model_whole(self) -> Self:
        if (self.model_url is None) != (self.model_name is None):
            raise ValueError("CENOTAPH_MODEL_URL and CENOTAPH_MODEL_NAME go together: set both, or neither")
        if self.model_url is None:
            if self.recall_rewrites:
                raise ValueError("CENOTAPH_RECALL_REWRITES needs a model: set CENOTAPH_MODEL_URL and its name too")
            if self.model_sums_up:
                raise ValueError("CENOTAPH_MODEL_SUMS_UP needs a model: set CENOTAPH_MODEL_URL and its name too")
            return self
        url = urlsplit(self.model_url)
        if self.model_key is not None and url.scheme == "http" and url.hostname not in _LOOPBACK:
            raise ValueError("CENOTAPH_MODEL_URL must start with https:// where a key is sent to another machine")
        # a job reads a turn and then may sum its session up
        if self.model_within_s * 1000 * (1 + self.model_sums_up) >= self.reclaim_idle_ms:
            raise ValueError(
                "CENOTAPH_MODEL_WITHIN_S must be shorter than CENOTAPH_RECLAIM_IDLE_MS (than half of it where the model"
                " sums up too), or other workers take over turns that are being read"
            )
        return self


def load_settings(**values: Any) -> Settings:  # noqa: ANN401 - any field of Settings
    """Read the environment; keyword arguments win over it.

    Raises:
        SettingsError: Names each variable that cannot be used, and why.
    """
    try:
        return Settings(**values)
    except ValidationError as error:
        problems = [_problem(problem["loc"], problem["msg"]) for problem in error.errors(include_input=False)]
    raise SettingsError("; ".join(problems))


def _problem(location: tuple[int | str, ...], message: str) -> str:
    message = message.removeprefix("Value error, ")
    if not location:
        return message
    name = str(location[0])
    return f"{name if name.isupper() else PREFIX + name.upper()}: {message}"
