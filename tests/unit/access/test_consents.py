"""What a person's consents open, and for which purposes."""

from uuid import UUID

import pytest

from events.model import ConsentGiven, ConsentWithdrawn, PurposeId
from projections.choices import fold_consents
from tests.unit.forgetting.make import stored

COACHING, SPORT = PurposeId(UUID(int=1)), PurposeId(UUID(int=2))
ANY = ConsentGiven(sensitivity="health")
CLOSED = ConsentWithdrawn(sensitivity="health")


def to(purpose: PurposeId) -> ConsentGiven:
    """Consent for one purpose."""
    return ConsentGiven(sensitivity="health", purpose=purpose)


@pytest.mark.parametrize(
    ("said", "open_for"),
    [
        ([], set()),
        ([ANY], {None, COACHING, SPORT}),
        ([to(COACHING)], {COACHING}),
        ([to(COACHING), to(SPORT)], {COACHING, SPORT}),
        ([ANY, to(COACHING)], {COACHING}),
        ([to(COACHING), ANY], {None, COACHING, SPORT}),
        ([to(COACHING), CLOSED], set()),
        ([to(COACHING), CLOSED, to(SPORT)], {SPORT}),
        ([ANY, CLOSED, ANY], {None, COACHING, SPORT}),
    ],
)
def test_the_last_word_counts_and_purposes_add_up(
    said: list[ConsentGiven | ConsentWithdrawn], open_for: set[PurposeId | None]
) -> None:
    """Consent for a purpose opens the class for that alone, and for those named since it was last wide or closed."""
    consents = fold_consents(stored(each) for each in said)
    asked = (None, COACHING, SPORT)
    assert {each for each in asked if "health" in consents.open_for(each)} == open_for
    assert not any(consents.bar("finance", each) for each in asked)
