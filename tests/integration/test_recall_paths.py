"""What recall finds by words and beside what it finds, and for whom, through the real stores."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import pytest

from events.model import Kind, MemoryId, Scope
from ops.bench.retrieval.everything import NO_GATES, IndexAll
from services.governance.policy import shipped_policy
from services.recall.blend import Blend
from services.recall.opening import Recalled
from services.recall.recall import Recall
from services.remembering.remember import Rememberer
from services.wire.turns import TurnIn
from tests.plant import START, Plant, planted

WORDS = [
    "Alice喜欢北京烤鸭employees",
    "订单CN-A10293还没到",
    "她剪了頭髮",
    "下个月去台北出差",
    "call getUserById before the export",
    "the build runs on Python 3.11 only",
    "张曼婷住在六楼",
    "Zoë plays the cello",
]
ASKED = [
    ("烤鸭", 0),
    ("employee", 0),
    ("ＣＮ－Ａ１０２９３", 1),
    ("a10293 到了吗", 1),
    ("头发", 2),
    ("臺北", 3),
    ("getUserById", 4),
    ("user id", 4),
    ("3.11", 5),
    ("曼婷", 6),
    ("zoe", 7),
]


class Importer:
    """Imports sentences as they stand, a turn each, and asks."""

    def __init__(self, plant: Plant) -> None:
        parts = plant.composition
        self.plant = plant
        self.rememberer = Rememberer(
            parts.vault("keeper"),
            parts.events,
            projector=parts.log("projector"),
            reader=parts.log("reader"),
            embedder=parts.embedder,
            extractor=IndexAll(),
            policy=shipped_policy(),
            gates=NO_GATES,
        )

    async def say(self, scope: Scope, text: str, session: str, at: datetime) -> MemoryId:
        """Import one sentence; return its memory."""
        turn = TurnIn.model_validate(
            {
                "turn_id": f"{session}-{at:%j%H%M}",
                "session_id": session,
                "occurred_at": at.isoformat(),
                "messages": [{"message_id": "m", "role": "user", "content": text}],
            }
        )
        await self.rememberer.consider(await self.plant.placed(scope, turn))
        outcome = await self.plant.composition.backend.turn_outcome(scope, turn.turn_id)
        assert outcome is not None
        (verdict,) = outcome.verdicts
        return verdict.memory_id

    async def talk(self, scope: Scope, session: str, *said: str, start: datetime = START) -> list[MemoryId]:
        """Import a session, a minute a sentence, and let every read model follow."""
        memories = [
            await self.say(scope, text, session, start + timedelta(minutes=minute)) for minute, text in enumerate(said)
        ]
        await self.plant.follow()
        return memories

    async def ask(self, scope: Scope, query: str) -> dict[MemoryId, Recalled]:
        """Recall, by memory, the most relevant first."""
        found = await self.plant.composition.recall.recall(scope, query)
        ordered = sorted(found.recalled, key=lambda each: -each.features.relevance)
        return {each.fact.memory_id: each for each in ordered}


@pytest.fixture(scope="module")
async def importer(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Importer]:
    """Run a system of our own."""
    async with planted(tmp_path_factory.mktemp("plant")) as plant:
        yield Importer(plant)


@pytest.fixture(scope="module")
async def words(importer: Importer) -> tuple[Scope, list[MemoryId]]:
    """Import what the words are looked for in, each in a session of its own."""
    scope = await importer.plant.person()
    memories = [
        memory for number, text in enumerate(WORDS) for memory in await importer.talk(scope, f"s{number}", text)
    ]
    return scope, memories


@pytest.mark.parametrize(("query", "wanted"), ASKED)
async def test_a_word_finds_what_holds_it(
    query: str, wanted: int, importer: Importer, words: tuple[Scope, list[MemoryId]]
) -> None:
    """In Chinese, English and both, whatever the width, the script or the case, and in parts of identifiers."""
    scope, memories = words
    assert next(iter(await importer.ask(scope, query))) == memories[wanted]


TALK = (
    "今天天气真好",
    "我想问你一件事",
    "你最喜欢哪家餐厅？",
    "当然是海棠阁",
    "那里的服务很周到",
    "好了，说点别的",
    "我的猫睡着了",
)


async def test_an_answer_comes_with_its_question(importer: Importer) -> None:
    """What was said beside something relevant gains from it; the same words in another session do not."""
    scope = await importer.plant.person()
    memories = await importer.talk(scope, "talk", *TALK)
    (alone,) = await importer.talk(scope, "alone", "当然是海棠阁。", start=START + timedelta(days=1))
    recollection = await importer.plant.composition.recall.recall(scope, "最喜欢哪家餐厅")
    assert recollection.found is not None
    relevance = {memory: clue.relevance for (memory, _), clue in recollection.found.clues.items()}
    assert max(relevance, key=lambda memory: relevance[memory]) == memories[2]
    assert relevance[memories[3]] >= relevance[alone] + 0.3


async def test_neighbours_are_never_another_persons_nor_forgotten(importer: Importer) -> None:
    """Two people's sessions of one name stay apart, and a forgotten neighbour is gone at once."""
    mine, theirs = await importer.plant.person(), await importer.plant.person()
    memories = await importer.talk(mine, "talk", *TALK)
    foreign = await importer.talk(theirs, "talk", *TALK)
    await importer.plant.forget(mine, memories[3])
    found = await importer.ask(mine, "最喜欢哪家餐厅")
    assert memories[2] in found
    assert memories[3] not in found
    assert not set(foreign) & set(found)


async def test_what_has_nothing_to_do_with_the_query_is_left_out_with_the_reason(importer: Importer) -> None:
    """Neither alike nor sharing a word: proposed by its newness alone, and excluded as unrelated."""
    scope = await importer.plant.person()
    memories = await importer.talk(scope, "talk", "我的猫睡着了", "the deploy failed with exit code 137")
    found = await importer.plant.composition.recall.recall(scope, "我的猫在做什么")
    reasons = {key[0]: reason for key, reason in found.excluded}
    assert [each.fact.memory_id for each in found.recalled] == [memories[0]]
    assert reasons == {memories[1]: "unrelated"}


async def test_the_last_line_of_a_dialogue_counts_most(importer: Importer) -> None:
    """A query of several lines is about where it ends."""
    scope = await importer.plant.person()
    memories = await importer.talk(scope, "a", "我对花生过敏")
    memories += await importer.talk(scope, "b", "我周末去爬山")
    lines = ["用户：周末天气不错", "助手：是的，适合出门", "用户：晚饭的菜里有花生酱吗？"]
    assert next(iter(await importer.ask(scope, "\n".join(lines)))) == memories[0]


async def test_each_question_of_a_query_is_answered(importer: Importer) -> None:
    """Asked two things beside something else, the answers to both come first, whichever is asked last."""
    scope = await importer.plant.person()
    said = ("我的表妹在海棠中学教书", "my dentist is Dr Quill", "阳光真好，走了很远", "我喜欢走路", "散步很舒服")
    memories = [(await importer.talk(scope, f"s{number}", text))[0] for number, text in enumerate(said)]
    asks = ["我的表妹在哪里教书？", "Who is my dentist?"]
    for questions in (asks, asks[::-1]):
        found = await importer.ask(scope, "今天阳光真好，走了很远的路，散步真舒服。" + " ".join(questions))
        assert set(list(found)[:2]) == set(memories[:2])


async def test_a_format_is_recalled_whatever_is_talked_about(importer: Importer) -> None:
    """It shares no word with the query and many memories are nearer, but it holds for every answer."""
    scope = await importer.plant.person()
    rule = await importer.plant.remember(scope, "以后回答请用要点列表。")
    await importer.talk(scope, "talk", *(f"第{number}号茶很好喝" for number in range(6)))
    parts = importer.plant.composition
    few = Recall(
        parts.log("reader"),
        parts.vault("keeper"),
        parts.vectors,
        parts.models,
        parts.recall_cache,
        Blend(hints=3, seeds=1),
    )
    found = await few.recall(scope, "哪个茶好喝")
    kinds = {each.fact.memory_id: each.fact.kind for each in found.recalled}
    assert kinds[rule] is Kind.FORMAT
