from typing import Any

import pytest

from events.model import Assertion, Kind
from tests.unit.extraction.make import claims, extracted

CLAIMS: list[tuple[str, dict[str, Any]]] = [
    # who, where, what
    ("我喜欢北京烤鸭。", {"key": "taste.food", "value": "北京烤鸭", "content": "喜欢北京烤鸭", "positive": True}),
    ("我討厭中国菜。", {"key": "taste.food", "value": "中国菜", "positive": False}),
    ("I love Chinese food.", {"key": "taste.food", "value": "Chinese food", "positive": True}),
    ("I hate Chinese food.", {"key": "taste.food", "value": "Chinese food", "positive": False}),
    ("I'm not into jazz.", {"key": "taste.music", "value": "jazz", "positive": False}),
    ("我对摇滚没兴趣。", {"key": "taste.music", "value": "摇滚", "positive": False}),
    ("I prefer concise answers.", {"key": "reply.length", "content": "prefers concise answers"}),
    ("我住在苏州。", {"key": "home.city", "value": "苏州", "content": "住在苏州"}),
    ("I've just moved to Ghent.", {"key": "home.city", "value": "Ghent", "content": "lives in Ghent"}),
    ("I no longer live in Leeds.", {"key": "home.city", "value": "Leeds", "positive": False}),
    ("我叫林小满。", {"key": "identity.name", "value": "林小满", "kind": Kind.PROFILE}),
    ("Please call me Immy.", {"key": "identity.called", "value": "Immy"}),
    ("叫我阿梨就行。", {"key": "identity.called", "value": "阿梨"}),
    ("I work as a land surveyor.", {"key": "work.role", "value": "land surveyor"}),
    ("我在一家出版社做编辑。", {"key": "work.role", "value": "编辑"}),
    ("我在佛山工作。", {"key": "work.place", "value": "佛山"}),
    ("我的工作地点在佛山。", {"key": "work.place", "value": "佛山"}),
    ("我在云杉科技公司上班。", {"key": "work.employer", "value": "云杉科技公司"}),
    ("我不吃牛肉。", {"key": "taste.food", "value": "牛肉", "positive": False, "content": "不吃牛肉"}),
    ("I'm vegetarian.", {"key": "diet.pattern", "value": "vegetarian"}),
    ("我对花生过敏。", {"key": "allergy", "value": "花生", "sensitivity": "health"}),
    ("I'm not allergic to nuts.", {"key": "allergy", "value": "nuts", "positive": False}),
    ("My dog is called Bramble.", {"key": "dog.is", "value": "Bramble"}),
    ("我家的猫叫年糕。", {"value": "年糕"}),
    ("I play bass in a band.", {"key": "hobby", "value": "bass in a band"}),
    ("我在学日语。", {"key": "hobby", "value": "日语"}),
    ("My goal is to run a marathon.", {"key": "goal", "kind": Kind.GOAL, "value": "run a marathon"}),
    ("我的生日是3月8日。", {"key": "identity.birthday", "value": "3月8日"}),
    # things and projects
    ("我们项目的数据库是 Postgres 16。", {"key": "database.is", "value": "Postgres 16"}),
    ("Our project's database is Postgres 16.", {"key": "database.is", "value": "Postgres 16"}),
    ("我们后端是用 Rust 写的。", {"key": "backend.is", "value": "Rust"}),
    ("Our backend is written in Rust.", {"key": "backend.is", "value": "Rust"}),
    ("My newsletter goes out on Tuesdays.", {"key": "newsletter.day", "value": "Tuesdays"}),
    # standing wishes
    ("以后回答尽量简短。", {"key": "reply.length", "value": "尽量简短", "content": "回答尽量简短"}),
    ("From now on, reply in French.", {"key": "reply.language", "value": "French", "content": "reply in French"}),
    ("以后客户邮件都用英文回。", {"key": "email.language", "value": "英文", "scope": "context:work"}),
    ("以后图表都用蓝色。", {"key": "chart.colour", "value": "蓝色"}),
    ("Always schedule my calls in Lisbon time.", {"key": "schedule.timezone", "value": "Lisbon"}),
    ("周报以后改到周四发。", {"key": "weekly_report.day", "value": "周四"}),
    ("别再给我推荐恐怖片了。", {"positive": False, "value": "推荐恐怖片"}),
    ("Stop adding a summary to your replies.", {"positive": False, "key": "summary.content"}),
    ("以后表格用 CSV，不要 Excel。", {"positive": True, "value": "CSV"}),
    # how it is said
    ("这次用英文回复就好。", {"ephemeral": True}),
    ("For this email, use a casual tone.", {"ephemeral": True}),
    ("要是我住在海边就好了，我喜欢冲浪。", {"assertion": Assertion.HYPOTHETICAL}),
    ("请记住我的血型是O型。", {"explicit": True, "value": "O型"}),
    ("Remember that my locker is 214.", {"explicit": True, "value": "214"}),
    ("我已经搬到宁波了。", {"key": "home.city", "value": "宁波", "correction": True}),
    ("我车的年份是 2016，哦不对打错了，是 2018。", {"key": "car_年份.is", "value": "2018"}),
    ("I live in Leeds, sorry, I meant Bradford.", {"key": "home.city", "value": "Bradford"}),
    # plans
    ("下个月打算搬去厦门。", {"kind": Kind.PLAN, "assertion": Assertion.PLANNED, "content": "计划搬去厦门（2026-08）"}),
    ("I'll be relocating to Ghent in November.", {"kind": Kind.PLAN, "key": "plan"}),
    ("国庆我去大理玩五天。", {"kind": Kind.PLAN, "value": "去大理玩五天"}),
    ("I'm flying to Rome next Friday.", {"kind": Kind.PLAN, "value": "flying to Rome next Friday"}),
    ("敦煌不去了，票都退了。", {"kind": Kind.PLAN, "positive": False, "value": "敦煌"}),
    # both languages
    ("我 prefer dark mode。", {"key": "ui.theme", "value": "dark mode"}),
    ("我 live in 台北。", {"key": "home.city", "value": "台北"}),
]
SILENT = [
    "我妈喜欢听戏。",
    "My sister lives in Leeds and likes tea.",
    "你喜欢什么？",
    "Do I need a visa?",
    "Oh brilliant, because I just love forty-line answers.",
    "我不是不喜欢香菜。",
    "我同意你记录我的健康信息。",
    "谢谢，太棒了！",
    "以后再说吧。",
    "Always here to help!",
    "Thanks for always being there for me.",
    "I'll never forget that day.",
    "今天天气真不错。",
    "What's 17 times 23?",
    "卡号是 [secret:bank_card]，帮我看看。",
]


@pytest.mark.parametrize(("content", "expected"), CLAIMS, ids=[content for content, _ in CLAIMS])
def test_what_is_said_is_claimed(content: str, expected: dict[str, Any]) -> None:
    """Kind, key, value, polarity, wording and colour of the claim are those of the sentence."""
    found = [{name: getattr(claim, name) for name in expected} for claim in claims(content)]
    assert expected in found, claims(content)


@pytest.mark.parametrize("content", SILENT)
def test_what_is_no_statement_of_the_person_claims_nothing(content: str) -> None:
    """Questions, others, irony, denial of denial, thanks and small talk leave no candidate."""
    assert claims(content) == []


def test_rules_of_one_sentence_are_not_lost() -> None:
    """Each clause that rules something else is a claim of its own."""
    found = {
        claim.key: claim.value for claim in claims("从今天起给我写代码：注释用中文，变量名用英文，缩进统一 2 个空格。")
    }
    assert found == {
        "code_comment.language": "中文",
        "variable_name.language": "英文",
        "indentation.indent": "2 个空格",
    }


def test_a_subject_said_once_holds_for_the_clauses_after_it() -> None:
    """我叫 …，住在 …，做 … are three claims."""
    keys = {claim.key for claim in claims("我叫沈一然，住在苏州，做后端开发。")}
    assert keys == {"identity.name", "home.city", "work.role"}


def test_doubt_lowers_confidence() -> None:
    """What the next sentence takes back is less sure than what stands."""
    sure = claims("Our office gate closes at 6.")[0]
    unsure = claims("Our office gate closes at 6. Or is it 7?")[0]
    assert unsure.confidence < 0.5 < sure.confidence


@pytest.mark.parametrize(
    ("content", "covered"),
    [
        ("别记住这个：我下周要面试。", "我下周要面试"),
        ("Don't remember this, but I'm leaving the choir.", "I'm leaving the choir"),
        ("我在考虑离职。这件事不要记下来。", "我在考虑离职"),
        ("I'm dating someone. Please don't remember that.", "I'm dating someone"),
        ("我玩什么游戏你就不用记了。", "我玩什么游戏"),
    ],
)
def test_what_should_not_be_remembered_is_pointed_at(content: str, covered: str) -> None:
    """A suppression covers the words it was described with, before or after the wish."""
    wishes = extracted(content).suppressions
    assert any(covered in content[span.start : span.end] for wish in wishes for span in wish.covers)


def test_remembering_well_is_no_suppression() -> None:
    """不记得 and "don't forget" ask for nothing of the kind."""
    assert not extracted("我不记得了，不要忘了提醒我。Don't forget me.").suppressions
