"""What a message that came back says, whatever its form."""

from __future__ import annotations

import re
from dataclasses import dataclass

from chalicelib.core.bounce_classes import AUTO_REPLY, CHALLENGE_RESPONSE
from chalicelib.delivery.classify import classify
from chalicelib.delivery.outcome import clean_reply
from chalicelib.inbound import arf, auto_reply, bounce_text, dsn
from chalicelib.inbound.arf import Feedback
from chalicelib.inbound.dsn import RecipientStatus
from chalicelib.inbound.mime import Mail

_CODE = re.compile(r"\s*#?([45]\d\d)[ -]")
_STATUS = re.compile(r"(?<![\d.])[245]\.\d{1,3}\.\d{1,3}(?!\.?\d)")
_VAGUE = re.compile(r"|[245]\.0\.0")
_REFUSED = 550
_WORDS_LOOKED_AT = 500
_AUTOMATIC = (AUTO_REPLY, CHALLENGE_RESPONSE)


@dataclass(frozen=True, slots=True)
class Bounced:
    """The message was not delivered after all: the reply that says so, and its class.

    An automatic answer is told in the same form, with class 60 or 100.
    """

    code: int
    reply: str
    bounce_class: int


@dataclass(frozen=True, slots=True)
class Nothing:
    """Nothing follows from it; ``why`` is for the log."""

    why: str


Report = Bounced | Feedback | Nothing


def read(mail: Mail, recipient: str) -> Report:
    """Return what a message says about the one that was sent to ``recipient``."""
    if complaint := arf.feedback(mail):
        return _judged(complaint)
    if found := dsn.statuses(mail):
        return _notified(mail, found, recipient)
    fields = mail.fields
    if bounce_text.is_from_host(fields) and not auto_reply.says_so(fields):
        return _bounced(mail)
    if auto_reply.is_auto_reply(fields):
        return _automatic(mail)
    if bounce_text.says_so(fields):
        return _bounced(mail)
    if _word_class(mail) in _AUTOMATIC:
        return _automatic(mail)
    return Nothing("it is no report that can be recognized")


def is_report(mail: Mail) -> bool:
    """Tell whether a message is a report of a standard form, whatever it says."""
    return mail.part("message/feedback-report", *dsn.TYPES) is not None


def read_feedback(mail: Mail) -> Feedback | Nothing:
    """Return what a message to the address of a feedback loop says."""
    complaint = arf.feedback(mail) or arf.forwarded(mail)
    return _judged(complaint) if complaint else Nothing("it is no complaint")


def _judged(complaint: Feedback) -> Feedback | Nothing:
    if complaint.kind in arf.NO_COMPLAINTS:
        return Nothing(f"its feedback is {complaint.kind}")
    return complaint


def _notified(mail: Mail, found: list[RecipientStatus], recipient: str) -> Report:
    told = dsn.about(found, recipient)
    if told is None or (told.action and told.action != "failed"):
        return Nothing(f"the action is {told.action if told else 'missing'}")
    if told.status.startswith("2"):
        return Nothing("the status is a success")
    code, text = _code_and_text(told.diagnostic)
    if not text and _VAGUE.fullmatch(told.status):
        return _bounced(mail)
    if not _STATUS.search(text):
        text = f"{told.status} {text}".strip()
    return _classified(code or (450 if told.status.startswith("4") else _REFUSED), text)


def _code_and_text(diagnostic: str) -> tuple[int, str]:
    code = _CODE.match(diagnostic)
    return (int(code[1]), diagnostic[code.end() :]) if code else (0, diagnostic)


def _bounced(mail: Mail) -> Report:
    if bounce_text.is_delay(mail):
        return Nothing("it tells of a delay")
    told = bounce_text.told(mail)
    return _classified(told.code or _REFUSED, told.reply)


def _classified(code: int, text: str) -> Bounced:
    reply = clean_reply(text)
    return Bounced(code, reply, classify(code, reply))


def _automatic(mail: Mail) -> Bounced:
    """Return an automatic answer; that somebody wants it confirmed stands in its words only."""
    found = _word_class(mail)
    bounce_class = CHALLENGE_RESPONSE if found == CHALLENGE_RESPONSE else AUTO_REPLY
    text = f"[internal] automatic reply: {mail.fields.words('subject')}"
    return Bounced(_REFUSED, clean_reply(text), bounce_class)


def _word_class(mail: Mail) -> int:
    subject = mail.fields.words("subject")[:_WORDS_LOOKED_AT]
    return classify(_REFUSED, f"{subject} {bounce_text.text_of(mail)[:_WORDS_LOOKED_AT]}")
