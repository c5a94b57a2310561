"""A call of a model within the budget: what it may cost is booked before, what it did cost is settled after."""

from collections.abc import Callable, Sequence

from events.model import TenantId
from services.extraction.model.budget import Budget
from services.extraction.model.endpoint import Endpoint
from services.extraction.model.failure import UNREAD, ModelError


async def ask(  # noqa: PLR0917 - who asks whom, for whom, what, and at what cost
    endpoint: Endpoint,
    budget: Budget,
    tenant: TenantId,
    messages: Sequence[dict[str, str]],
    count: Callable[[str], int],
    output_tokens: int,
) -> str:
    """Return the text of the answer; a call that was never read costs nothing.

    Args:
        endpoint: the model.
        budget: what a tenant may use of it in a day.
        tenant: for whom.
        messages: the request.
        count: counts the tokens of a text.
        output_tokens: the most that the answer may have.

    Raises:
        ModelError: the budget is spent, or the endpoint gave no answer.
    """
    booking = budget.book(tenant, sum(count(message["content"]) for message in messages) + output_tokens)
    try:
        answer = await endpoint.ask(messages)
    except ModelError as error:
        if error.reason in UNREAD:
            booking.settle(0)
        raise
    if answer.tokens is not None:
        booking.settle(answer.tokens)
    return answer.text
