"""Trying a restore while the log lives: below one data directory, beside a copy of the second place (R44)."""

import shutil

from events.errors import BadInputError
from ops.settings import Settings

_PLACE = "second-place"  # where an installation looks for it that is told of no other
_UNFINISHED = shutil.ignore_patterns(".*")


def rehearsal(settings: Settings) -> Settings:
    """Return the settings of a drill, whose second place is a copy; that of the living log is only read.

    Repeated, the copy takes up what came since.

    Args:
        settings: name a fresh data directory, which is there, and the second place of the living log.

    Raises:
        BadInputError: something of a living installation would be written to.
    """
    own = settings.data / _PLACE
    if settings.second_place.resolve().is_relative_to(settings.data.resolve()):
        raise BadInputError(
            "a drill copies the second place of the log that lives: name it with CENOTAPH_SECOND_PLACE, and a fresh"
            " data directory with --data"
        )
    stores = (settings.database_url, settings.vault_url, settings.redis_url, settings.milvus_uri)
    if any(url is not None for url in stores) or not settings.keys.resolve().is_relative_to(settings.data.resolve()):
        raise BadInputError(
            "a drill keeps everything of its own below its data directory: unset DATABASE_URL, VAULT_URL, REDIS_URL,"
            " MILVUS_URI and CENOTAPH_KEYS"
        )
    if not settings.second_place.is_dir():
        raise BadInputError(f"there is no second place at {settings.second_place}")
    shutil.copytree(settings.second_place, own, ignore=_UNFINISHED, dirs_exist_ok=True)
    return settings.model_copy(update={"second_place": own})
