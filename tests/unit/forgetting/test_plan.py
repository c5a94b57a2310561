"""What goes with a memory, computed from envelopes alone."""

from uuid import uuid4

from events.envelope import StoredEvent
from events.model import Kind, MemoryId, Origin, Tombstoned
from services.forgetting.plan import Going, of_kind, plan, said_in, trace, traces
from tests.unit.forgetting.make import accepted, finalized, proposed, reinforced, stored, turn

TALK = (Origin.USER, Origin.ASSISTANT)


def keys(*events: StoredEvent) -> set[object]:
    return {part.key_id for event in events for part in event.parts}


def going(stream: list[StoredEvent], *memories: MemoryId) -> Going:
    return Going(traces(stream, memories))


def test_every_version_and_every_message_that_said_it_goes() -> None:
    """All versions, the messages of all of them and of every reinforcement, and the answers of those turns."""
    first, second, again = turn(*TALK), turn(*TALK), turn(*TALK)
    one, two, three = (proposed(each, 0) for each in (first, second, again))
    memory = one.candidate_id
    versions = [accepted(one), accepted(two, memory, 2)]
    stream = [stored(one), versions[0], stored(two), versions[1], stored(three), reinforced(three, memory)]
    found = trace(stream, memory)
    event = plan(stream, Going({memory: found}), [first, second, again], [])
    assert found.turns == {finalized(each).turn_id for each in (first, second, again)}
    assert set(event.messages) == {
        head.message_id for each in (first, second, again) for head in finalized(each).messages
    }
    assert set(event.keys) == keys(*versions, first, second, again)
    assert event.orphaned == ()


def test_what_the_turn_fetched_and_what_the_user_said_besides_stays() -> None:
    """Tool output and user messages that were not cited are not the memory's."""
    said = turn(Origin.USER, Origin.USER, Origin.TOOL, Origin.ASSISTANT, Origin.SUBAGENT)
    one = proposed(said, 0)
    stream = [stored(one), accepted(one)]
    event = plan(stream, going(stream, one.candidate_id), [said], [])
    heads = finalized(said).messages
    assert set(event.messages) == {heads[number].message_id for number in (0, 3, 4)}


def test_a_turn_it_was_injected_into_loses_its_answer_only() -> None:
    """What the person said there was said without the memory; what the assistant said may repeat it."""
    said, later = turn(*TALK), turn(*TALK)
    one = proposed(said, 0)
    stream = [stored(one), accepted(one)]
    event = plan(stream, going(stream, one.candidate_id), [said], [later])
    assert event.injected == (finalized(later).turn_id,)
    assert finalized(later).messages[0].message_id not in event.messages
    assert finalized(later).messages[1].message_id in event.messages


def test_living_memories_that_cite_a_message_that_goes_are_orphaned() -> None:
    """Siblings are named, whatever their turn; what was forgotten itself, and strangers, are not."""
    said, elsewhere = turn(*TALK), turn(*TALK)
    one, sibling, gone, stranger = proposed(said, 0), proposed(said, 0), proposed(said, 0), proposed(elsewhere, 0)
    buried = stored(Tombstoned(memories=(gone.candidate_id,), messages=(), keys=()))
    stream = [event for each in (one, sibling, gone, stranger) for event in (stored(each), accepted(each))] + [buried]
    event = plan(stream, going(stream, one.candidate_id), [said], [])
    assert event.orphaned == (sibling.candidate_id,)


def test_an_unknown_memory_left_nothing() -> None:
    """Of an id that is not in the stream there is no version; a forgotten one is known by its tombstone."""
    said = turn(*TALK)
    one = proposed(said, 0)
    stream = [stored(one), accepted(one)]
    assert trace(stream, MemoryId(uuid4())).versions == ()
    buried = stored(Tombstoned(memories=(one.candidate_id,), messages=(), keys=()))
    assert trace([*stream, buried], one.candidate_id).tombstone is buried


def test_a_session_takes_every_message_of_its_turns_along() -> None:
    """Of a session all messages go, cited or not; of a message only that one and the answers."""
    said = turn(Origin.USER, Origin.USER, Origin.TOOL, Origin.ASSISTANT)
    turns, heads = frozenset({finalized(said).turn_id}), finalized(said).messages
    whole = plan([], Going({}, frozenset(head.message_id for head in heads), turns, entirely=True), [said], [])
    assert set(whole.messages) == {head.message_id for head in heads}
    assert whole.turns == tuple(turns)
    one = plan([], Going({}, frozenset({heads[1].message_id}), turns), [said], [])
    assert set(one.messages) == {heads[1].message_id, heads[3].message_id}


def test_what_a_message_said_is_what_has_a_version_that_rests_on_it() -> None:
    """A memory goes with a message that a version of it rests on, not with one that only said it again."""
    first, second = turn(*TALK), turn(*TALK)
    one, two, gone = proposed(first, 0), proposed(second, 0), proposed(second, 0)
    again = proposed(second, 0)
    buried = stored(Tombstoned(memories=(gone.candidate_id,), messages=(), keys=()))
    stream = [*(each for it in (one, two, gone) for each in (stored(it), accepted(it))), stored(again)]
    stream += [reinforced(again, one.candidate_id), buried]
    message = finalized(second).messages[0].message_id
    assert said_in(stream, {message}) == [two.candidate_id]
    assert of_kind(stream, Kind.FACT) == sorted([one.candidate_id, two.candidate_id])
    assert of_kind(stream, Kind.EPISODE) == []
