import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.batcher import Batcher
from events.errors import UnavailableError


class Store:
    """Carries batches out when it is let, and keeps what it was asked."""

    def __init__(self, *, open_: bool = True) -> None:
        self.batches: list[list[int]] = []
        self.done: list[int] = []
        self.open = asyncio.Event()
        self.down = False
        self.began = asyncio.Event()
        if open_:
            self.open.set()

    async def settle(self, items: Sequence[int]) -> list[int]:
        """Double each, unless one is below zero or the store is down."""
        self.batches.append(list(items))
        self.began.set()
        await self.open.wait()
        if self.down:
            raise UnavailableError("down")
        if any(item < 0 for item in items):
            raise ValueError("refused")
        self.done += items
        return [item * 2 for item in items]


def batcher(store: Store, *, at_once: int = 1, batch: int = 100, waiting: int = 1000) -> Batcher[int, int]:
    return Batcher(store.settle, "test", at_once=at_once, batch=batch, waiting=waiting)


async def asked(calls: Batcher[int, int], *items: int) -> list[asyncio.Task[int]]:
    """Ask for items and return when every call waits for its answer."""
    tasks = [asyncio.create_task(calls.ask(item)) for item in items]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return tasks


async def test_what_comes_while_a_batch_is_under_way_goes_together() -> None:
    """The first goes alone, those that come meanwhile in one batch, in order."""
    store = Store(open_=False)
    calls = batcher(store)
    first = await asked(calls, 1)
    later = await asked(calls, 2, 3, 4)
    store.open.set()
    assert await asyncio.gather(*first, *later) == [2, 4, 6, 8]
    assert store.batches == [[1], [2, 3, 4]]


async def test_who_asks_again_at_once_is_answered() -> None:
    """A caller that asks anew the moment it is answered does not meet a writer that is just going home."""
    calls = batcher(Store())
    async with asyncio.timeout(90):
        assert [await calls.ask(item) for item in range(5)] == [0, 2, 4, 6, 8]


async def test_no_batch_is_larger_than_allowed() -> None:
    """Five that wait are three batches of two at most."""
    store = Store()
    calls = batcher(store, batch=2)
    assert await asyncio.gather(*(calls.ask(item) for item in range(5))) == [0, 2, 4, 6, 8]
    assert [len(batch) for batch in store.batches] == [2, 2, 1]


@given(items=st.lists(st.integers(-3, 20), min_size=1, max_size=40), batch=st.integers(1, 7), at_once=st.integers(1, 4))
async def test_each_caller_gets_its_own_answer(items: list[int], batch: int, at_once: int) -> None:
    """Whatever is refused among them, everybody else is answered, once, and carried out once."""
    store = Store()
    calls = batcher(store, batch=batch, at_once=at_once)
    answers = await asyncio.gather(*(calls.ask(item) for item in items), return_exceptions=True)
    for item, answer in zip(items, answers, strict=True):
        assert isinstance(answer, ValueError) if item < 0 else answer == item * 2
    assert sorted(store.done) == sorted(item for item in items if item >= 0)


async def test_one_bad_item_costs_a_logarithm() -> None:
    """Among 64 the bad one is found by halving, not by asking for each alone."""
    store = Store()
    calls = batcher(store)
    answers = await asyncio.gather(
        *(calls.ask(item) for item in [*range(40), -1, *range(41, 64)]), return_exceptions=True
    )
    assert sum(isinstance(answer, ValueError) for answer in answers) == 1
    assert len(store.batches) == 13


async def test_who_gives_up_before_it_was_sent_is_left_out() -> None:
    """A cancelled call that still waits is never carried out, and holds nobody up."""
    store = Store(open_=False)
    calls = batcher(store)
    (first,) = await asked(calls, 1)
    second, third = await asked(calls, 2, 3)
    second.cancel()
    store.open.set()
    assert [await first, await third] == [2, 6]
    assert store.done == [1, 3]


async def test_who_gives_up_under_way_takes_nobody_along() -> None:
    """A call that is cancelled while its batch is under way is carried out; its neighbours are answered."""
    store = Store(open_=False)
    calls = batcher(store)
    first, second = await asked(calls, 1, 2)
    await store.began.wait()
    first.cancel()
    store.open.set()
    assert await second == 4
    assert first.cancelled()
    assert store.done == [1, 2]


async def test_an_outage_is_the_answer_to_the_whole_batch() -> None:
    """Nobody is asked for again, for it is unknown what happened; the next call works when the store does."""
    store = Store()
    store.down = True
    calls = batcher(store)
    answers = await asyncio.gather(*(calls.ask(item) for item in range(3)), return_exceptions=True)
    assert all(isinstance(answer, UnavailableError) for answer in answers)
    assert store.batches == [[0, 1, 2]]
    store.down = False
    assert await calls.ask(4) == 8


async def test_no_more_wait_than_there_are_places() -> None:
    """Whoever finds no place waits outside: after the batch under way, the next holds what had places."""
    store = Store(open_=False)
    calls = batcher(store, waiting=3)
    tasks = await asked(calls, 1, 2, 3, 4, 5)
    await store.began.wait()
    assert store.batches == [[1, 2, 3]]
    store.open.set()
    assert await asyncio.gather(*tasks) == [2, 4, 6, 8, 10]
    assert max(len(batch) for batch in store.batches) == 3


async def test_closing_answers_everybody() -> None:
    """What is under way, what waits and what comes later fails as unknown; nothing is left running."""
    store = Store(open_=False)
    calls = batcher(store)
    (under_way,) = await asked(calls, 1)
    (waiting,) = await asked(calls, 2)
    await calls.close()
    assert "test" not in {task.get_name() for task in asyncio.all_tasks()}
    for task in (under_way, waiting, asyncio.create_task(calls.ask(3))):
        with pytest.raises(UnavailableError):
            await task
