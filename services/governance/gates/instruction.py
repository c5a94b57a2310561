"""Gate 5: text that steers a future agent is not a memory (R13): held from the person, rejected from anywhere else."""

import re

from events.model import Candidate, Kind, Message, Origin, Outcome
from services.governance.folding import plain
from services.governance.reasons import Reason
from services.governance.view import Ruling, View, rule

_OVERRIDE = re.compile(
    r"(?:ignore|disregard|forget|override|bypass|drop|break|switch off|turn off|disable|get around|work around)"
    r"[a-z ]{0,20}"
    r"(?:(?:previous|earlier|prior|above|all|any|every|your|system|safety|security)[a-z ]{0,20}(?:rules?|instructions?|"
    r"prompts?|guidelines?|polic(?:y|ies)|restrictions?|filters?|safeguards?|limits?|checks?)|safeguards|guardrails)|"
    r"(?:instructions?|rules?|safeguards?|guardrails|restrictions?|guidelines?|limits?|polic(?:y|ies))[a-z ]{0,12} "
    r"(?:are|is) (?:now )?"
    r"(?:void|null|lifted|cancell?ed|suspended|revoked|off|overridden|no longer (?:valid|in force|binding))|"
    r"(?:规则|指令|限制|提示|设定|审查)[^,，。]{0,6}(?:作废|失效|无效|不算数|已解除|已取消)|"
    r"system prompt|"
    r"(?:system|safety|security|admin) override|you are (?:now )?in [a-z]+ mode|you are now an? |developer mode|"
    r"jailbreak|"
    r"(?:忽略|无视|忘掉|绕过|绕开|跳过|突破|关掉|关闭|解除|不要理会|别管|不用管)[^,，。]{0,10}"
    r"(?:(?:之前|以上|前面|所有|全部|任何|一切|系统|原来|安全|内容)[^,，。]{0,8}(?:规则|指令|提示|设定|限制|要求|审查|过滤|审核|规范)|"
    r"安全(?:限制|规则|审查|检查))|"
    r"系统提示|开发者模式|越狱"
)
_ACT = re.compile(
    r"(?:call|invoke|run|execute|trigger|use)s? (?:the )?(?:[a-z]+_[a-z_]+|[a-z_]+ (?:tool|function|api))|"
    r"(?:调用|执行|运行|触发) ?(?:[a-z_]+|[^,，。]{0,6}(?:工具|函数|接口|脚本))"
)
_UNASKED = re.compile(
    r"(?:never|don't|do not) (?:ask|confirm|check|verify|question)|without (?:asking|confirm\w*|telling|"
    r"approval|permission)|no (?:need to|confirmation)|"
    r"(?:无需|不用|不必|不要)(?:再次?|跟我|向我|问我|经过)?(?:确认|询问|同意|批准|告诉|问)"
)
_MONEY_OR_HARM = re.compile(
    r"transfer|pay(?:ment)?|wire|delete|grant|admin|authori[sz]ed|credential|secret|password|api key|private key|"
    r"转账|付款|支付|删除|授权|管理员|密钥|密码|口令|令牌|凭证|提现|汇款"
)
_ANYBODY = re.compile(
    r"(?<![a-z])(?:any(?:one|body)|whoever|every(?:one|body)|strangers?)(?![a-z])|"
    r"任何人|不管谁|不论谁|无论谁|谁(?:都|来|问|要)|所有人|陌生人"
)
_SECRETS = re.compile(
    r"(?<![a-z])(?:credentials?|secrets?|passwords?|passcodes?|(?:api|private|access|secret) keys?|tokens?)(?![a-z])|"
    r"密钥|密码|口令|令牌|私钥|凭证"
)
# Invisible characters that break words apart; the joiner of emoji and the selector of their colour are ordinary.
_HIDDEN = re.compile("[\u200b\u2060\u2061-\u2064\u00ad\u202a-\u202e\u2066-\u2069\U000e0001-\U000e007f]")
_MANY = 2
_STEERING = frozenset({Kind.PREFERENCE, Kind.FORMAT, Kind.PROCEDURE})


def instruction(candidate: Candidate, view: View) -> Ruling | None:
    """Hold what would steer an agent against its rules, or hides in invisible characters; reject it from others."""
    cited = {pointer.message_id for pointer in candidate.evidence}
    messages = [message for message in view.turn.messages if message.message_id in cited]
    if not (_dangerous(candidate) or any(_overrides(candidate, message) for message in messages)):
        return None
    own = all(message.origin is Origin.USER for message in messages)
    return rule(Outcome.HELD if own else Outcome.REJECTED, Reason.STEERING)


def _dangerous(candidate: Candidate) -> bool:
    said = plain(f"{candidate.content}\n{candidate.value}")
    if _OVERRIDE.search(said):
        return True
    if _ANYBODY.search(said) and (_UNASKED.search(said) or (candidate.positive and _SECRETS.search(said))):
        return True  # to hand out secrets to whoever asks, or anything to anybody without a question
    return bool(_MONEY_OR_HARM.search(said) and (_ACT.search(said) or _UNASKED.search(said)))


def _overrides(candidate: Candidate, message: Message) -> bool:
    """Say whether the rest of the message shows that a wish in it is an order in disguise."""
    if candidate.kind not in _STEERING:
        return False
    hidden = len(_HIDDEN.findall(message.content)) >= _MANY
    return hidden or _OVERRIDE.search(plain(message.content)) is not None
