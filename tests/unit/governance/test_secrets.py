import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.governance.secrets import has_secret, redact

FAKE = "a1B2" * 6
SECRETS = [
    ("我邮箱密码是 Fake#Pw_2026q，帮我写脚本。", "Fake#Pw_2026q", "password"),
    ("数据库密码：hunter2hunter2，请勿外传", "hunter2hunter2", "password"),
    ("資料庫密碼是abc12345，別外傳", "abc12345", "password"),
    ("口令是「芝麻开门」，记住了吗", "芝麻开门", "password"),
    ("路由器密码给你：Qwer!7788", "Qwer!7788", "password"),
    ("password: swordfish", "swordfish", "password"),
    ("please keep my password for later: c0rrect-fake-77", "c0rrect-fake-77", "password"),
    ("the db password is Pg!fake-Stg-4410.", "Pg!fake-Stg-4410", "password"),
    ("DB_PASSWORD=s3cr3tvalue ./run", "s3cr3tvalue", "password"),
    ("postgres://bob:s3cr3tpw@db.internal/app", "s3cr3tpw", "password"),
    ("验证码是 482913，五分钟内有效", "482913", "one_time_code"),
    ("your verification code is 771204", "771204", "one_time_code"),
    ("The alarm code at the shop is 4417, write it down", "4417", "one_time_code"),
    ("our lock box combination is 7714", "7714", "one_time_code"),
    ("the code for the garage is 5512", "5512", "one_time_code"),
    ("the PIN for my card is 0042", "0042", "one_time_code"),
    ("the safe's combination: 12-34-56", "12-34-56", "one_time_code"),
    ("换成 sk-fake-9QdT2mZxW7LrB4vKp0HnYc3E 之后就好了", "sk-fake-9QdT2mZxW7LrB4vKp0HnYc3E", "api_key"),
    ("key是sk-proj-AbCdEfGh1234567890abcd用它", "sk-proj-AbCdEfGh1234567890abcd", "api_key"),
    (f"the key sk-ant-{FAKE}.", f"sk-ant-{FAKE}", "api_key"),
    ("export GH=ghp_FAKEfakeFAKEfakeFAKEfakeFAKEfake0000", "ghp_FAKEfakeFAKEfakeFAKEfakeFAKEfake0000", "api_key"),
    ("github_pat_11FAKE0000aaaaBBBBccccDDDD用这个", "github_pat_11FAKE0000aaaaBBBBccccDDDD", "api_key"),
    ("slack xoxb-1234567890-abcdefghij", "xoxb-1234567890-abcdefghij", "api_key"),
    ("Authorization: Bearer abcDEF1234567890ghijkl", "abcDEF1234567890ghijkl", "api_key"),
    ("AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE", "cloud_key"),
    ("aws secret wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI/K7MDENG", "cloud_key"),
    ("token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl", "eyJhbGciOiJIUzI1NiJ9", "jwt"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIfake\n-----END RSA PRIVATE KEY-----", "MIIfake", "private_key"),
    ("工资卡是６２２２００００００００００００１２９，记一下", "６２２２００００００００００００１２９", "bank_card"),
    ("Use 4111 1111 1111 1111, expiry 12/29", "4111 1111 1111 1111", "bank_card"),
    ("card 4111-1111-1111-1111 ok", "4111-1111-1111-1111", "bank_card"),
    ("卡号4111\u200b1111\u200b1111\u200b1111", "1111\u200b1111", "bank_card"),
    ("身份证号 110101 19900307 0003，帮我填", "110101 19900307 0003", "resident_id"),
    ("身份證１１０１０１１９９００３０７０００３", "１１０１０１１９９００３０７０００３", "resident_id"),
    ("CVV 是 123 吗", "123", "card_code"),
    ("s\u200bk-fake-9QdT2mZxW7\u200bLrB4vKp0HnYc3E", "9QdT2mZxW7", "api_key"),
]
ORDINARY = [
    "my password policy is strict",
    "忘记密码怎么办",
    "密码是必须的，至少8位",
    "the password is required",
    "the secret is to cook slowly",
    "password manager: Bitwarden",
    "验证码 60 秒内有效",
    "订单号 2024031512345678901 已发货",
    "2026-07-06 08:53:11 v1.2.3.4",
    "我的手机号是 13800138000",
    "max_tokens: 4096",
    "primary_key: id, sort_key = created_at",
    "我的token用量是12000个",
    "sha 3f786850e387550fdab836ed7e6dc881de23001b",
    "学密码学2024年的会议",
    "task-force-on-climate-change-2030",
    "1234567890123456",
    "forgot your password? reset it here",
    "source code at the shop is 4417 lines long",
    "building code 2021 says otherwise",
    "a combination of 40 and 60",
    "the safe is 120 kg",
]
HOSTILE = ["1 ", "1", "password ", "密码", "密码：a1b2", "eyJ", "sk-", "://a:", "-----BEGIN PRIVATE KEY-----", "a_"]


@pytest.mark.parametrize(("text", "secret", "label"), SECRETS)
def test_a_secret_is_replaced_by_its_class(text: str, secret: str, label: str) -> None:
    """The secret is gone, its class stands in its place, and the class is reported."""
    redacted = redact(text)
    assert secret not in redacted.text
    assert f"[secret:{label}]" in redacted.text
    assert label in redacted.classes


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    """Speaking of passwords, numbers and versions is not a secret."""
    assert redact(text).text == text
    assert not has_secret(text)


@pytest.mark.parametrize(("text", "_secret", "_label"), SECRETS)
def test_redacting_twice_is_redacting_once(text: str, _secret: str, _label: str) -> None:
    """What was redacted holds nothing more to redact."""
    once = redact(text).text
    assert redact(once).text == once


@given(
    st.lists(st.sampled_from([s for s, _, _ in SECRETS] + ORDINARY + ["，", " ", "密码：", "is ", "4", "\n"])).map(
        "".join
    )
)
def test_redact_is_idempotent_on_any_mixture(text: str) -> None:
    """However secrets and words are put together, the second pass changes nothing."""
    once = redact(text).text
    assert redact(once).text == once


@given(st.text(max_size=300))
def test_redact_takes_any_text(text: str) -> None:
    """No text makes the redactor fail, and what it returns is stable."""
    once = redact(text).text
    assert redact(once).text == once


@pytest.mark.parametrize("unit", HOSTILE)
def test_redact_is_linear(unit: str) -> None:
    """A hundred thousand characters of one hostile unit take seconds at most, not hours."""
    text = unit * (100_000 // len(unit))
    started = time.process_time()
    redact(text)
    assert time.process_time() - started < 10
