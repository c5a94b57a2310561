"""Query parameters of lists."""

from typing import Annotated

from fastapi import Query

Limit = Annotated[int, Query(ge=1, le=100, description="How many at most")]
Cursor = Annotated[
    str | None, Query(max_length=400, pattern=r"^[A-Za-z0-9_=.-]+$", description="`next_cursor` of the page before")
]
