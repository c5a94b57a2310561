"""Settling the garbage collector of a process that serves."""

import gc

import pytest

from ops.heap import THRESHOLDS, settled


def test_what_was_there_is_left_alone_while_the_heap_is_settled() -> None:
    """Inside, what was there is frozen and new objects are looked through more rarely; afterwards all is as before."""
    before = gc.get_threshold(), gc.get_freeze_count()
    there: list[object] = [[]]
    with settled():
        assert gc.get_threshold() == THRESHOLDS
        assert gc.get_freeze_count() > before[1]
        assert not any(each is there for each in gc.get_objects())
        new: list[object] = [there]
        assert any(each is new for each in gc.get_objects())
    assert gc.get_threshold() == before[0]
    assert gc.get_freeze_count() == 0


def test_an_error_unsettles_too() -> None:
    """Whatever ends the serving, the collector is as before."""
    before = gc.get_threshold()
    with pytest.raises(RuntimeError), settled():
        raise RuntimeError
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)
