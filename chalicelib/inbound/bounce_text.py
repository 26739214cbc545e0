"""Read bounces without a machine-readable part.

They come from qmail, Exim, old Postfix, Sendmail, Exchange, and from hosts with their own formats
such as Gmail and Yahoo. All of them quote the reply of the host that refused the message, or say it
in a sentence, before the copy of the original message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from chalicelib.inbound.mime import Fields, Mail
from chalicelib.tracking.entities import unescape

_MOST_TEXT = 8_000
_MOST_MARKUP = 32_000
_LONGEST_REPLY = 600
_MOST_PARAGRAPHS = 20

_SENDERS = re.compile(
    r"\b(mailer[-_]?daemon|post[-_]?master|mail[-_]daemon|mdaemon|mail delivery (sub)?system)\b",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    r"(your )?(e?mail |message )?(undeliver|failure notice|returned (mail|to sender)|"
    r"delivery (status notification|failure|fail|report|has failed|problem|error)|"
    r"mail (delivery )?(fail|error|could not|system error)|non[- ]?delivery|not (be )?delivered|"
    r"unzustellbar|nicht zugestellt|non remis|no se puede entregar|no entregado|"
    r"mancato recapito|メールエラー通知|onbestelbaar|não entregue)",
    re.IGNORECASE,
)
_DELAY = re.compile(
    r"\(delay\)|\bdelay(ed)?\b|warning: (message|could not send)|still being retried",
    re.IGNORECASE,
)
_WARNING = re.compile(
    r"this is a warning (message )?only|you do not need to resend|is kept in the queue for|"
    r"will (continue|keep) (to )?(be )?(try|retr)|has been delayed|"
    r"no action is required on your part",
    re.IGNORECASE,
)
_COPY = re.compile(
    r"^[ \t>]*(-{2,} ?(below this line is a copy|this is a copy|original message|unsent message|"
    r"returned (message|mail)|message (header|text) follow|included is a copy|the following is)"
    r"|original message follows|your original message|"
    r"(below is )?a copy of (your|the original) message)",
    re.IGNORECASE | re.MULTILINE,
)
_REPLY = re.compile(r"(?<![\w.#])#?([45][0-9]{2})[ -]#?(?=[45]\.[0-9]{1,3}\.[0-9]{1,3}\b)")
_STATUS = re.compile(r"(?<![0-9.])[45]\.[0-9]{1,3}\.[0-9]{1,3}(?!\.?[0-9])")
_PLAIN_REPLY = re.compile(
    r"(?:said|response|error|reason|returned|answered|<<<|was|^)[^\n:]{0,40}?[:\s]\s{0,20}"
    r"([45][0-9]{2})[ -](?=\S)",
    re.IGNORECASE | re.MULTILINE,
)
_ADDRESS_LINE = re.compile(r"^[ \t]*<?[^\s<>@]{1,64}@[\w.-]{1,255}>?:?[ \t]*$", re.MULTILINE)
_LEADING_ADDRESS = re.compile(r"\s*<?[^\s<>@]{1,64}@[\w.-]{1,255}>?:?\s*")
_TAG = re.compile(r"<[/!]?[a-z][^<>]{0,500}>", re.IGNORECASE)
_BLANK_LINES = re.compile(r"\n[ \t]*\n")
_SPACE = re.compile(r"\s+")


class HostReply(NamedTuple):
    """The SMTP reply that a text quotes; ``code`` is 0 where the text has none."""

    code: int
    reply: str


def is_from_host(fields: Fields) -> bool:
    """Tell whether a mail host wrote a message, and not a person or a mailbox."""
    from_host = _SENDERS.search(fields.first("from")[:300])
    return from_host is not None or "x-failed-recipients" in fields


def has_bounce_subject(fields: Fields) -> bool:
    """Tell whether the subject begins like that of a bounce."""
    return _SUBJECT.match(_subject(fields)) is not None


def is_delay(mail: Mail) -> bool:
    """Tell whether a bounce says only that its host is still trying."""
    if _DELAY.search(_subject(mail.fields)):
        return True
    return _WARNING.search(text_of(mail)) is not None


def reply_in(mail: Mail) -> HostReply:
    """Return the reply in a bounce: code and status, or one of them, or the words about it."""
    text = text_of(mail)
    if match := _REPLY.search(text):
        return HostReply(int(match[1]), _paragraph(text, match.end()))
    if match := _STATUS.search(text):
        return HostReply(int(match[0][0]) * 100 + 50, _around(text, match.start()))
    if match := _PLAIN_REPLY.search(text):
        return HostReply(int(match[1]), _paragraph(text, match.end()))
    address = _ADDRESS_LINE.search(text)
    return HostReply(0, _paragraph(text, address.end() if address else 0))


def paragraphs(mail: Mail) -> Iterator[str]:
    """Yield what the host wrote, paragraph by paragraph, each on one line."""
    for paragraph in _BLANK_LINES.split(text_of(mail).strip())[:_MOST_PARAGRAPHS]:
        yield _paragraph(paragraph, 0)


def text_of(mail: Mail) -> str:
    """Return what the host wrote, up to the copy of the message that came back."""
    text = (_words(mail, "text/plain") or _words(mail, "text/html"))[:_MOST_TEXT]
    copy = _COPY.search(text)
    return text[: copy.start()] if copy else text


def _words(mail: Mail, content_type: str) -> str:
    """Return the words of the first part of a type, nothing if there are none."""
    part = mail.part(content_type)
    text = part.text() if part else ""
    if content_type == "text/html":
        text = unescape(_TAG.sub(" ", text[:_MOST_MARKUP]))
    return text if text.strip() else ""


def _subject(fields: Fields) -> str:
    return fields.words("subject")[:300]


def _paragraph(text: str, start: int) -> str:
    """Return the text from ``start`` up to a blank line, on one line."""
    rest = text[start:].lstrip()
    line = _SPACE.sub(" ", rest.partition("\n\n")[0][:_LONGEST_REPLY]).strip(" <>#")
    return line if "(" in line else line.rstrip(")")


def _around(text: str, at: int) -> str:
    """Return the paragraph around the status at ``at``, with the status at its front."""
    before = text[text.rfind("\n\n", 0, at) + 1 : at][-_LONGEST_REPLY:]
    if address := _LEADING_ADDRESS.match(before):
        before = before[address.end() :]
    before = _SPACE.sub(" ", before).strip(" <>()#")
    status, _, after = _paragraph(text, at).partition(" ")
    return " ".join(filter(None, (status.strip("<>()#;:,."), before, after)))
