"""The prompt: instructions from a versioned file, and the turn fenced off as data."""

import json
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files

import yaml

from events.model import Frozen
from services.extraction.model.answer import sensitive_classes
from services.extraction.vocabulary import open_names, vocabulary
from services.extraction.wording import is_chinese

_CLOSING = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


class Prompt(Frozen):
    """Instructions in both languages."""

    version: int
    zh: str
    en: str

    def messages(self, said: Sequence[str]) -> list[dict[str, str]]:
        """Return the messages of a request: instructions in the person's language, then what they said, as JSON.

        JSON keeps a text inside its quotation marks, whatever it holds; no tag can be closed in it either.
        """
        chinese = is_chinese("".join(said))
        data = json.dumps({"said": list(said)}, ensure_ascii=False).translate(_CLOSING)
        data = data.encode("utf-8", "replace").decode()  # half a surrogate pair could not be sent
        return [
            {"role": "system", "content": self.zh if chinese else self.en},
            {"role": "user", "content": f"<data>\n{data}\n</data>"},
        ]


@lru_cache(maxsize=1)
def prompt() -> Prompt:
    """Return the prompt, with the vocabulary filled in."""
    read = Prompt.model_validate(yaml.safe_load((files(__package__) / "prompt.yaml").read_text("utf-8")))
    topics, aspects = open_names()
    filled = {
        language: getattr(read, language).format(
            named=", ".join(f"{key} ({getattr(entry, language)})" for key, entry in vocabulary().items()),
            topics=", ".join(sorted(topics)),
            aspects=", ".join(sorted(aspects)),
            sensitive=", ".join(sensitive_classes()),
        )
        for language in ("zh", "en")
    }
    return read.model_copy(update=filled)
