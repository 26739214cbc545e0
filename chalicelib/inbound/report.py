"""Read what an inbound message reports: a bounce, a complaint or nothing that counts."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from chalicelib.core.bounce_classes import (
    AUTO_REPLY,
    CHALLENGE_RESPONSE,
    GENERIC_BOUNCE,
    HARD,
    UNDETERMINED,
)
from chalicelib.delivery.classify import classify
from chalicelib.delivery.outcome import clean_reply
from chalicelib.inbound import arf, bounce_text, dsn
from chalicelib.inbound.arf import Feedback
from chalicelib.inbound.dsn import RecipientStatus
from chalicelib.inbound.mime import Mail
from chalicelib.inbound.notice import Notice
from chalicelib.mail_format import auto_reply

#: A report of RFC 8098: that a message was read, or deleted unread
_RECEIPT = "message/disposition-notification"
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


def read(mail: Mail, recipient: str, subject: str = "", mail_from: str = "") -> Report:
    """Return what a message reports about the one with this recipient and subject.

    ``mail_from`` is its own envelope sender, empty for the null reverse-path.
    """
    if complaint := arf.feedback(mail):
        return checked_complaint(complaint)
    notice = Notice(mail, recipient, subject, mail_from)
    if mail.part(_RECEIPT) and not notice.is_from_host:
        return NoEvent("it is a receipt of a message that arrived")
    if notice.is_of_the_recipient:
        return _answer(notice)
    if statuses := dsn.statuses(mail):
        return _from_statuses(notice, statuses)
    if auto_reply.is_of_responder(mail.fields, notice.title):
        return _automatic(notice)
    if notice.is_from_host:
        statuses = dsn.returned_statuses(mail, recipient)
        return _from_statuses(notice, statuses) if statuses else _from_text(notice)
    if auto_reply.is_automatic(mail.fields):
        return _automatic(notice)
    if notice.has_bounce_title and not mail_from:
        return _from_text(notice)
    return _from_unknown_host(notice) or _answer(notice)


def is_report(mail: Mail) -> bool:
    """Tell whether a message is a report of a standard form, whatever it says."""
    return mail.part("message/feedback-report", *dsn.TYPES) is not None


def read_feedback(mail: Mail) -> Feedback | NoEvent:
    """Return what a message to the address of a feedback loop says."""
    complaint = arf.feedback(mail) or arf.forwarded(mail)
    return checked_complaint(complaint) if complaint else NoEvent("it is no complaint")


def checked_complaint(complaint: Feedback) -> Feedback | NoEvent:
    """Return the report of a feedback loop, unless it says something else than a complaint."""
    if complaint.kind in arf.NO_COMPLAINTS:
        return NoEvent(f"its feedback is {complaint.kind}")
    return complaint


def _from_unknown_host(notice: Notice) -> Bounce | None:
    """Return what a notice says that only returns the message, and tells the recipient and why."""
    if notice.mail_from or not (notice.returns_original and notice.names_recipient):
        return None
    bounce = _from_text(notice)
    return bounce if isinstance(bounce, Bounce) and says_why(bounce) else None


def _answer(notice: Notice) -> Report:
    """Return an automatic reply if its header or its words show that it is one."""
    fields = notice.mail.fields
    if auto_reply.is_of_responder(fields, notice.title) or auto_reply.is_automatic(fields):
        return _automatic(notice)
    if _word_class(notice) in _AUTOMATIC:
        return _automatic(notice)
    return NoEvent("it is no report that can be recognized")


def _from_statuses(notice: Notice, statuses: list[RecipientStatus]) -> Report:
    status = dsn.status_of(notice.recipient, statuses)
    if status is None or (status.action and status.action != "failed"):
        return NoEvent(f"the action is {status.action if status else 'missing'}")
    if status.status.startswith("2"):
        return NoEvent("the status is a success")
    return of_status(status, notice.without_subject) or _from_text(notice)


def of_status(
    status: RecipientStatus, words: Callable[[str], str] = lambda text: text
) -> Bounce | None:
    """Return what the status and the diagnostic say; ``None`` if both say nothing.

    ``words`` returns those of a text that may decide the bounce class.
    """
    code, text = _code_and_text(status.diagnostic)
    if not text and _VAGUE.fullmatch(status.status):
        return None
    if not _STATUS.search(text):
        text = f"{status.status} {text}".strip()
    code = code or (450 if status.status.startswith("4") else _REFUSED)
    return Bounce(code, clean_reply(text), classify(code, words(text)))


def _code_and_text(diagnostic: str) -> tuple[int, str]:
    code = _CODE.match(diagnostic)
    return (int(code[1]), diagnostic[code.end() :]) if code else (0, diagnostic)


def _from_text(notice: Notice) -> Report:
    """Return what a notice says in words and quotes.

    The reply that it quotes says why, else its first paragraph with a cause. A reply that calls the
    recipient invalid does not count after a paragraph with another cause: notices may quote the
    message, and what that says.
    """
    if bounce_text.is_delay(notice):
        return NoEvent("it reports a delay")
    text = notice.text
    reply = bounce_text.quoted_reply(text)
    if reply is None:
        return _first_cause(text) or _classified(_REFUSED, bounce_text.explanation(text))
    bounce = _classified(reply.code, reply.words)
    if not says_why(bounce):
        return _first_cause(text, reply.code) or bounce
    earlier = _first_cause(text[: reply.start]) if bounce.bounce_class in HARD else None
    return earlier if earlier and earlier.bounce_class not in HARD else bounce


def _first_cause(text: str, code: int = _REFUSED) -> Bounce | None:
    """Return what the first paragraph that names a cause says."""
    bounces = (_classified(code, paragraph) for paragraph in bounce_text.paragraphs(text))
    return next(filter(says_why, bounces), None)


def says_why(bounce: Bounce) -> bool:
    """Tell whether the class of a bounce names a cause."""
    return bounce.bounce_class not in _WITHOUT_A_CAUSE


def _classified(code: int, text: str) -> Bounce:
    reply = clean_reply(text)
    return Bounce(code, reply, classify(code, reply))


def _automatic(notice: Notice) -> Bounce:
    """Return an automatic reply; only its words show that it asks for a confirmation."""
    is_challenge = _word_class(notice) == CHALLENGE_RESPONSE
    bounce_class = CHALLENGE_RESPONSE if is_challenge else AUTO_REPLY
    text = f"[internal] automatic reply: {notice.mail.fields.words('subject')}"
    return Bounce(_REFUSED, clean_reply(text), bounce_class)


def _word_class(notice: Notice) -> int:
    return classify(_REFUSED, f"{notice.title} {notice.text[:_MOST_WORDS]}")
