"""Read what an inbound message reports: a bounce, a complaint or nothing that counts."""

from __future__ import annotations

import re
from dataclasses import dataclass

from chalicelib.core.bounce_classes import (
    AUTO_REPLY,
    CHALLENGE_RESPONSE,
    GENERIC_BOUNCE,
    UNDETERMINED,
)
from chalicelib.delivery.classify import classify
from chalicelib.delivery.outcome import clean_reply
from chalicelib.inbound import arf, auto_reply, bounce_text, dsn
from chalicelib.inbound.arf import Feedback
from chalicelib.inbound.dsn import RecipientStatus
from chalicelib.inbound.mime import Mail

_CODE = re.compile(r"\s*#?([45][0-9]{2})[ -]")
_STATUS = re.compile(r"(?<![0-9.])[245]\.[0-9]{1,3}\.[0-9]{1,3}(?!\.?[0-9])")
_VAGUE = re.compile(r"|[245]\.0\.0")
_REFUSED = 550
_MOST_WORDS = 500
_AUTOMATIC = (AUTO_REPLY, CHALLENGE_RESPONSE)
_WITHOUT_A_CAUSE = (UNDETERMINED, GENERIC_BOUNCE, *_AUTOMATIC)


@dataclass(frozen=True, slots=True)
class Bounce:
    """The message was not delivered after all: the SMTP reply and its bounce class.

    An automatic reply has the same form, with class 60 or 100.
    """

    code: int
    reply: str
    bounce_class: int


@dataclass(frozen=True, slots=True)
class NoEvent:
    """The message makes no event; ``why`` is for the log."""

    why: str


Report = Bounce | Feedback | NoEvent


def read(mail: Mail, recipient: str) -> Report:
    """Return what a message reports about the one that was sent to ``recipient``."""
    if complaint := arf.feedback(mail):
        return _complaint(complaint)
    if statuses := dsn.statuses(mail):
        return _from_statuses(mail, statuses, recipient)
    fields = mail.fields
    if bounce_text.is_from_host(fields) and not auto_reply.has_auto_reply_subject(fields):
        return _from_text(mail)
    if auto_reply.is_auto_reply(fields):
        return _automatic(mail)
    if bounce_text.has_bounce_subject(fields):
        return _from_text(mail)
    if _word_class(mail) in _AUTOMATIC:
        return _automatic(mail)
    return NoEvent("it is no report that can be recognized")


def is_report(mail: Mail) -> bool:
    """Tell whether a message is a report of a standard form, whatever it says."""
    return mail.part("message/feedback-report", *dsn.TYPES) is not None


def read_feedback(mail: Mail) -> Feedback | NoEvent:
    """Return what a message to the address of a feedback loop says."""
    complaint = arf.feedback(mail) or arf.forwarded(mail)
    return _complaint(complaint) if complaint else NoEvent("it is no complaint")


def _complaint(complaint: Feedback) -> Feedback | NoEvent:
    if complaint.kind in arf.NO_COMPLAINTS:
        return NoEvent(f"its feedback is {complaint.kind}")
    return complaint


def _from_statuses(mail: Mail, statuses: list[RecipientStatus], recipient: str) -> Report:
    status = dsn.status_of(recipient, statuses)
    if status is None or (status.action and status.action != "failed"):
        return NoEvent(f"the action is {status.action if status else 'missing'}")
    if status.status.startswith("2"):
        return NoEvent("the status is a success")
    code, text = _code_and_text(status.diagnostic)
    if not text and _VAGUE.fullmatch(status.status):
        return _from_text(mail)
    if not _STATUS.search(text):
        text = f"{status.status} {text}".strip()
    return _classified(code or (450 if status.status.startswith("4") else _REFUSED), text)


def _code_and_text(diagnostic: str) -> tuple[int, str]:
    code = _CODE.match(diagnostic)
    return (int(code[1]), diagnostic[code.end() :]) if code else (0, diagnostic)


def _from_text(mail: Mail) -> Report:
    if bounce_text.is_delay(mail):
        return NoEvent("it reports a delay")
    quoted = bounce_text.reply_in(mail)
    code = quoted.code or _REFUSED
    bounce = _classified(code, quoted.reply)
    return bounce if _says_why(bounce) else _from_a_paragraph(mail, code) or bounce


def _from_a_paragraph(mail: Mail, code: int) -> Bounce | None:
    """Return what the first paragraph that names a cause says."""
    bounces = (_classified(code, paragraph) for paragraph in bounce_text.paragraphs(mail))
    return next((bounce for bounce in bounces if _says_why(bounce)), None)


def _says_why(bounce: Bounce) -> bool:
    return bounce.bounce_class not in _WITHOUT_A_CAUSE


def _classified(code: int, text: str) -> Bounce:
    reply = clean_reply(text)
    return Bounce(code, reply, classify(code, reply))


def _automatic(mail: Mail) -> Bounce:
    """Return an automatic reply; only its words show that it asks for a confirmation."""
    is_challenge = _word_class(mail) == CHALLENGE_RESPONSE
    bounce_class = CHALLENGE_RESPONSE if is_challenge else AUTO_REPLY
    text = f"[internal] automatic reply: {mail.fields.words('subject')}"
    return Bounce(_REFUSED, clean_reply(text), bounce_class)


def _word_class(mail: Mail) -> int:
    subject = mail.fields.words("subject")[:_MOST_WORDS]
    return classify(_REFUSED, f"{subject} {bounce_text.text_of(mail)[:_MOST_WORDS]}")
