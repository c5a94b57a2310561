"""Why a candidate met its end: the codes that events carry, and the page that explains them."""

from enum import StrEnum
from typing import NamedTuple, Self


class Why(NamedTuple):
    """What a reason code means."""

    code: str
    gate: str
    meaning: str


class Reason(StrEnum):
    """A reason code; its gate and meaning are its documentation (`reason_table`)."""

    gate: str
    meaning: str

    def __new__(cls, code: str, gate: str, meaning: str) -> Self:
        """Make a member whose value is the code alone."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.gate = gate
        member.meaning = meaning
        return member

    TURN_NOT_COMPLETED = "turn_not_completed", "origin", "The turn was cancelled or failed."
    NOT_FROM_THE_PERSON = (
        "not_from_the_person",
        "origin",
        "It rests on tool output, retrieved, injected or agent text.",
    )
    AGENT_TEXT_ONLY = "agent_text_only", "origin", "The agent's own words support episodes and conclusions, not claims."
    NO_EVIDENCE = "no_evidence", "evidence", "The candidate points at nothing."
    UNKNOWN_MESSAGE = "unknown_message", "evidence", "The evidence names a message that is not in this turn."
    SPAN_OUTSIDE = "span_outside", "evidence", "The evidence span is empty or lies outside its message."
    VALUE_NOT_GROUNDED = "value_not_grounded", "evidence", "Numbers of the claim do not occur in the evidence."
    SECRET = "secret", "secret", "The claim still holds a secret."
    SECRET_REPLACED = "secret_replaced", "secret", "The claim is about something ingest replaced."
    ASKED_NOT_TO_REMEMBER = "asked_not_to_remember", "suppression", "The person said not to remember it."
    DESCRIBED_BEFORE = "described_before", "suppression", "About something the person said earlier not to remember."
    STEERING = "steering", "instruction", "Would steer a future agent against its rules, or was hidden in the text."
    ONE_OFF = "one_off", "ephemeral", "Meant for this once only."
    HYPOTHETICAL = "hypothetical", "assertion", "A question, joke, role-play, quote or what-if, not a statement."
    INFERRED = "inferred", "assertion", "Inferred, not stated; an inference is never stored as a fact."
    PLAN_AS_FACT = "plan_as_fact", "assertion", "A plan was proposed as a current fact."
    NO_PURPOSE = "no_purpose", "purpose", "Of the profile, and no field says what it would be for; nothing is stored."
    NEEDS_CONSENT = "needs_consent", "sensitivity", "A sensitive class without consent."
    CONSENT_WITHDRAWN = "consent_withdrawn", "sensitivity", "A sensitive class whose consent was withdrawn."
    NOT_STATED = "not_stated", "worth", "Inferred from what was said; nobody stated it."
    OVER = "over", "worth", "Over before it was said, so of no use later."
    NOT_WORTH_IT = "not_worth_it", "worth", "Too little relevance, importance, confidence and future value together."
    WEAK_CONTRADICTION = "weak_contradiction", "worth", "Contradicts a memory and is not worth enough to replace it."
    UNCONFIRMED = (
        "unconfirmed",
        "confidence",
        "A way of working that proved itself; the person says whether it is kept.",
    )
    LOW_CONFIDENCE = "low_confidence", "confidence", "Not sure enough to write without asking."
    NO_CONFIDENCE = "no_confidence", "confidence", "Not even sure enough to ask."
    FORGOTTEN = "forgotten", "forgotten", "The person had it forgotten, and this message is older than that wish."
    SYSTEM_OWNS_IT = "system_owns_it", "authority", "A business system owns the key; only that system changes it."
    NOT_ITS_KEY = "not_its_key", "authority", "A business system spoke of a key that it does not own."
    SAME = "same", "duplicate", "Says again what a current memory says."
    AGENT_REPEATS = "agent_repeats", "duplicate", "Remembered already; the agent's own words reinforce nothing."
    ALREADY_HELD = "already_held", "duplicate", "Says again what is held and waits for the person."
    NOT_EDITABLE = "not_editable", "editability", "A field of the profile that only a business system changes."
    CHANGE_UNCONFIRMED = (
        "change_unconfirmed",
        "editability",
        "A new value of a field of the profile that the person confirms first.",
    )
    NEWER_STATEMENT = "newer_statement", "conflict", "A newer statement about the same thing."
    WITHDRAWN = "withdrawn", "conflict", "The person says that it is no longer so."
    NOTHING_TO_WITHDRAW = (
        "nothing_to_withdraw",
        "conflict",
        "A plan called off, a wish taken back, a thing that changed: none of them is remembered.",
    )
    STALE = "stale", "conflict", "An older statement than the one that is current."
    UNDECIDABLE = "undecidable", "conflict", "Contradicts a memory of the same moment; the person is asked."
    LOWER_CONFIDENCE = "lower_confidence", "conflict", "Contradicts a memory that was stated more surely."
    FULL = "full", "capacity", "There is no room for another memory of this kind; the person is asked."
    NEW = "new", "judge", "Nothing stands against it."


def reason_table() -> str:
    """Return the page of all reason codes as a Markdown table."""
    rows = [f"| `{reason.value}` | {reason.gate} | {reason.meaning} |" for reason in Reason]
    return "\n".join(("| reason | gate | meaning |", "|---|---|---|", *rows)) + "\n"
