from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from events.errors import CenotaphError
from ops.settings import Settings, SettingsError, load_settings

NAMES = (
    "DATA",
    "HOST",
    "PORT",
    "SECOND_PLACE",
    "KEYS",
    "MAX_BODY_BYTES",
    "DELIVERY_CAP",
    "MAX_MESSAGES",
    "MODEL_URL",
    "MODEL_NAME",
    "MODEL_KEY",
)


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start each test without a setting of the machine it runs on."""
    for name in ("DATABASE_URL", "VAULT_URL", "REDIS_URL", "MILVUS_URI", *(f"CENOTAPH_{name}" for name in NAMES)):
        monkeypatch.delenv(name, raising=False)


def test_without_any_variable_everything_is_local_and_embedded() -> None:
    """Defaults bind to this machine, name no server and keep all folders under one directory."""
    settings = load_settings()
    assert (settings.host, settings.port) == ("127.0.0.1", 8765)
    assert [settings.database_url, settings.vault_url, settings.redis_url, settings.milvus_uri] == [None] * 4
    assert settings.data.name == "cenotaph"
    assert settings.second_place == settings.data / "second-place"
    assert settings.keys == settings.data / "keys"


def test_limits_have_the_documented_defaults() -> None:
    """A body, a turn and a delivery are bounded unless an operator says otherwise."""
    settings = load_settings()
    assert settings.max_body_bytes == 1_048_576
    assert settings.max_messages == 200
    assert settings.max_message_chars == 100_000
    assert settings.delivery_cap == 5
    assert settings.reclaim_idle_ms == 30_000
    assert settings.sweep_after_s == 10
    assert settings.max_future_skew_s == 300


def test_the_environment_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each documented variable reaches its field."""
    given_values = {
        "CENOTAPH_DATA": str(tmp_path / "数据"),
        "CENOTAPH_HOST": "::1",
        "CENOTAPH_PORT": "9000",
        "CENOTAPH_SECOND_PLACE": str(tmp_path / "elsewhere"),
        "CENOTAPH_KEYS": str(tmp_path / "keyring"),
        "CENOTAPH_MAX_BODY_BYTES": "2048",
        "CENOTAPH_DELIVERY_CAP": "3",
        "DATABASE_URL": "postgresql://app@db/log",
        "VAULT_URL": "postgresql://app@vault/keys",
        "REDIS_URL": "redis://cache:6379/0",
        "MILVUS_URI": "http://vectors:19530",
    }
    for name, value in given_values.items():
        monkeypatch.setenv(name, value)
    settings = load_settings()
    assert settings.data == tmp_path / "数据"
    assert (settings.host, settings.port) == ("::1", 9000)
    assert settings.second_place == tmp_path / "elsewhere"
    assert settings.keys == tmp_path / "keyring"
    assert (settings.max_body_bytes, settings.delivery_cap) == (2048, 3)
    assert settings.database_url == "postgresql://app@db/log"
    assert settings.vault_url == "postgresql://app@vault/keys"
    assert settings.redis_url == "redis://cache:6379/0"
    assert settings.milvus_uri == "http://vectors:19530"


def test_an_argument_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A command's option is stronger than a variable."""
    monkeypatch.setenv("CENOTAPH_PORT", "9000")
    assert load_settings(port=9001, data=tmp_path).port == 9001


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    """`DATABASE_URL=` in a compose file keeps the embedded server."""
    monkeypatch.setenv("DATABASE_URL", "")
    monkeypatch.setenv("CENOTAPH_PORT", "")
    settings = load_settings()
    assert settings.database_url is None
    assert settings.port == 8765


def test_relative_and_home_paths_become_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Servers run in another folder, so a path must not depend on ours."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/someone")
    settings = load_settings(data=Path("here"), keys=Path("~/keys"))
    assert settings.data == tmp_path / "here"
    assert settings.keys == Path("/home/someone/keys")


@pytest.mark.parametrize("url", ["postgres://u@h/d", "postgresql+asyncpg://u@h/d", "postgresql://u@h/d"])
def test_postgres_urls_are_brought_into_one_form(url: str) -> None:
    """All spellings in use name the same server."""
    assert load_settings(database_url=url).database_url == "postgresql://u@h/d"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CENOTAPH_PORT", "70000"),
        ("CENOTAPH_PORT", "eight"),
        ("CENOTAPH_MAX_MESSAGES", "0"),
        ("CENOTAPH_DELIVERY_CAP", "-1"),
        ("DATABASE_URL", "mysql://root:hunter2@db/log"),
        ("VAULT_URL", "vault.example:5432"),
        ("REDIS_URL", "memcached://:hunter2@cache"),
        ("MILVUS_URI", "./hunter2.db"),
        ("CENOTAPH_MODEL_URL", "ftp://hunter2/v1"),
        ("CENOTAPH_MODEL_URL", "https://me:hunter2@models.example/v1"),
        ("CENOTAPH_MODEL_URL", "https://models.example/v1?key=hunter2"),
        ("CENOTAPH_MODEL_URL", "https://models.example:hunter2/v1"),
        ("CENOTAPH_MODEL_URL", "https://hunter2℀.example/v1"),
        ("CENOTAPH_MODEL_KEY", "hunter2\r\nX-Other: 1"),
        ("CENOTAPH_MODEL_KEY", "hunter2ü"),
    ],
)
def test_a_bad_value_is_named_but_not_repeated(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    """The message names the variable and the rule; a password in the value stays out of it."""
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as caught:
        load_settings()
    assert str(caught.value).startswith(f"{name}: ")
    assert value not in str(caught.value)
    assert caught.value.__context__ is None
    assert isinstance(caught.value, CenotaphError)


def test_every_bad_value_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator repairs the file in one go."""
    monkeypatch.setenv("CENOTAPH_PORT", "x")
    monkeypatch.setenv("REDIS_URL", "x")
    with pytest.raises(SettingsError, match=r"(?s)(?=.*REDIS_URL: )(?=.*CENOTAPH_PORT: )"):
        load_settings()


def test_an_unknown_argument_is_refused() -> None:
    """A misspelt option is an error, not a default."""
    with pytest.raises(SettingsError, match="CENOTAPH_PROT: Extra inputs"):
        load_settings(prot=1)


def test_log_and_vault_must_not_share_a_database() -> None:
    """Keys beside the text they open would make every backup a backup of both."""
    with pytest.raises(SettingsError, match=r"^VAULT_URL and DATABASE_URL must be different"):
        load_settings(database_url="postgresql://h/d", vault_url="postgres://h/d")


def test_settings_cannot_change_and_do_not_show_urls() -> None:
    """A settings value may be passed anywhere and logged without leaking a password."""
    settings = load_settings(database_url="postgresql://u:hunter2@h/d", redis_url="redis://:hunter2@h")
    assert "hunter2" not in repr(settings)
    with pytest.raises(ValidationError):
        settings.port = 1  # type: ignore[misc]  # the assignment is the subject


def test_a_model_has_address_and_name_and_sends_its_key_to_nobody_else() -> None:
    """Half a model is refused, and so is a key that would cross a network in clear."""
    for half in ({"model_url": "https://models.example/v1"}, {"model_name": "tiny"}):
        with pytest.raises(SettingsError, match="go together"):
            load_settings(**half)
    whole = {"model_url": "http://models.example/v1/", "model_name": "tiny"}
    assert load_settings(**whole).model_url == "http://models.example/v1"
    with pytest.raises(SettingsError, match="must start with https://"):
        load_settings(**whole, model_key="hunter2")
    for url in ("https://models.example/v1", "http://127.0.0.1:8080/v1", "http://[::1]/v1"):
        assert "hunter2" not in repr(load_settings(model_url=url, model_name="tiny", model_key="hunter2"))


def test_a_model_answers_before_a_turn_is_taken_over() -> None:
    """A turn that is still being read must not look abandoned to another worker."""
    with pytest.raises(SettingsError, match="CENOTAPH_MODEL_WITHIN_S must be shorter"):
        load_settings(model_url="https://models.example/v1", model_name="tiny", model_within_s=30)


@given(st.integers())
def test_a_port_is_accepted_exactly_when_it_exists(port: int) -> None:
    """0 asks the system for a free port; everything beyond 16 bits is refused."""
    if 0 <= port <= 65535:
        assert Settings(port=port).port == port
    else:
        with pytest.raises(SettingsError):
            load_settings(port=port)
