import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from events.errors import CenotaphError
from ops import logs

SECRET = "喜欢北京烤鸭"


@pytest.fixture
def restored() -> Iterator[None]:
    """Put the logging of the test run back."""
    handlers, level = logging.root.handlers[:], logging.root.level
    yield
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)
    structlog.reset_defaults()


@pytest.mark.usefixtures("restored")
def test_what_a_library_logs_loses_its_arguments_and_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    """Arguments, error messages and tracebacks may hold content; the template and the error's type stay."""
    logs.configure("info")
    try:
        int(SECRET)
    except ValueError:
        logging.getLogger("library").exception("could not store %s", SECRET)
        structlog.get_logger().exception("step_failed")
    out = capsys.readouterr().err
    assert SECRET not in out
    foreign, own = [json.loads(line) for line in out.splitlines()]
    assert (foreign["library"], foreign["message"], foreign["error"]) == ("library", "could not store %s", "ValueError")
    assert (own["event"], own["error"], own["level"]) == ("step_failed", "ValueError", "error")


@pytest.mark.usefixtures("restored")
def test_the_level_is_set_by_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The variable wins over the default, and a word that is no level is refused."""
    monkeypatch.setenv(logs.VARIABLE, "ERROR")
    logs.configure("info")
    structlog.get_logger().info("quiet")
    assert capsys.readouterr().err == ""
    monkeypatch.setenv(logs.VARIABLE, "loud")
    with pytest.raises(CenotaphError, match="CENOTAPH_LOG_LEVEL must be one of debug"):
        logs.configure("info")
