"""Logs: one JSON object a line on stderr, names and numbers only.

What a library logs may hold content in its arguments and tracebacks: only its template and the error's type stay.
"""

import logging
import os
import sys

import structlog
from structlog.typing import EventDict, WrappedLogger

from events.errors import CenotaphError

VARIABLE = "CENOTAPH_LOG_LEVEL"
_LEVELS = ("debug", "info", "warning", "error", "critical")


def configure(default: str) -> None:
    """Set up logging for this process.

    Args:
        default: the level where `CENOTAPH_LOG_LEVEL` names none.

    Raises:
        CenotaphError: the variable names no level.
    """
    name = (os.environ.get(VARIABLE) or default).lower()
    if name not in _LEVELS:
        raise CenotaphError(f"{VARIABLE} must be one of {', '.join(_LEVELS)}")
    level = logging.getLevelNamesMapping()[name.upper()]
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _type_of_error,
            structlog.processors.JSONRenderer(ensure_ascii=False),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(handlers=[_Foreign()], level=max(level, logging.WARNING), force=True)


def _type_of_error(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Replace a traceback by the type of its error."""
    if event.pop("exc_info", None) and (kind := sys.exc_info()[0]) is not None:
        event["error"] = kind.__name__
    return event


class _Foreign(logging.Handler):
    """Passes on what libraries log, without their arguments."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write the template of the message."""
        template = record.msg if isinstance(record.msg, str) else type(record.msg).__name__
        fields = {"library": record.name, "message": template.partition("\n")[0]}
        if record.exc_info and record.exc_info[0] is not None:
            fields["error"] = record.exc_info[0].__name__
        structlog.get_logger(record.name).log(record.levelno, "library", **fields)
