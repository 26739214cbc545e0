"""Read bounces without a machine-readable part.

They come from qmail, Exim, old Postfix, Sendmail, Exchange, and from hosts with their own formats
such as Gmail and Yahoo. All of them quote the reply of the host that refused the message, or say it
in a sentence, before the copy of the original message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from chalicelib.inbound.notice import Notice

_LONGEST_REPLY = 600
_MOST_PARAGRAPHS = 20

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
_REPLY = re.compile(r"(?<![\w.#])#?([45][0-9]{2})[ -]#?(?=[45]\.[0-9]{1,3}\.[0-9]{1,3}\b)")
_STATUS = re.compile(r"(?<![0-9.])[45]\.[0-9]{1,3}\.[0-9]{1,3}(?!\.?[0-9])")
_PLAIN_REPLY = re.compile(
    r"(?:said|response|error|reason|returned|answered|<<<|was|^)[^\n:]{0,40}?[:\s]\s{0,20}"
    r"([45][0-9]{2})[ -](?=\S)",
    re.IGNORECASE | re.MULTILINE,
)
_ADDRESS = r"[\W_]{0,5}<?[^\s<>@]{1,64}@[\w.-]{1,255}"
_ADDRESS_LINE = re.compile(rf"^{_ADDRESS}>?:?[ \t]*$", re.MULTILINE)
_LEADING_ADDRESS = re.compile(rf"\A\s*{_ADDRESS}(>:?|:|[ \t]*\n|\Z)\s*")
#: How a host introduces itself, and how it addresses a person in any language
_GREETING = re.compile(
    r"(hi|hello|dear|sorry)\b.{0,80}$"
    r"|this is (the|an?) .{0,80}(program|system|agent|daemon|message)"
    r"|this (e?-?mail |report |message )?(was|is|has been) .{0,20}(created|generated) automatically"
    r"|this is an automat|i'm (afraid|sorry)|we('re| are) sorry|a message that you sent"
    r"|(an automated )?message from|for (further|more) (assistance|information)|if you do so"
    r"|[^.]{1,60}[,:!،，：！様]$|[\W_]{3,}[^.]{1,60}[\W_]{3,}$|[\W_]+$",
    re.IGNORECASE,
)
_BLANK_LINES = re.compile(r"\n[ \t]*\n")
_SPACE = re.compile(r"\s+")


class HostReply(NamedTuple):
    """The SMTP reply that a text quotes; its paragraph begins at ``start``."""

    code: int
    words: str
    start: int


def is_delay(notice: Notice) -> bool:
    """Tell whether a bounce says only that its host is still trying."""
    return bool(_DELAY.search(notice.title) or _WARNING.search(notice.text))


def quoted_reply(text: str) -> HostReply | None:
    """Return the first SMTP reply in a text: code and status, or one of them."""
    if match := _REPLY.search(text) or _STATUS.search(text) or _PLAIN_REPLY.search(text):
        words = _paragraph(text, match.end()) if match.lastindex else _around(text, match.start())
        code = int(match[1]) if match.lastindex else int(match[0][0]) * 100 + 50
        return HostReply(code, words, _start_of_paragraph(text, match.start()))
    return None


def paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs of a text, each on one line; first the one about an address.

    An address at the front is left out.
    """
    if address := _ADDRESS_LINE.search(text):
        yield _paragraph(text, address.end())
    for paragraph in _BLANK_LINES.split(text.strip())[:_MOST_PARAGRAPHS]:
        yield _paragraph(_LEADING_ADDRESS.sub("", paragraph, count=1), 0)


def explanation(text: str) -> str:
    """Return the paragraph that probably says why, in words that nobody knows.

    Hosts greet and introduce themselves first.
    """
    texts = list(filter(None, paragraphs(text)))
    return next((each for each in texts if not _GREETING.match(each)), "".join(texts[:1]))


def _paragraph(text: str, start: int) -> str:
    """Return the text from ``start`` up to a blank line, on one line."""
    rest = text[start:].lstrip()
    line = _SPACE.sub(" ", rest.partition("\n\n")[0][:_LONGEST_REPLY]).strip(" <>#")
    return line if "(" in line else line.rstrip(")")


def _around(text: str, at: int) -> str:
    """Return the paragraph around the status at ``at``, with the status at its front."""
    before = text[_start_of_paragraph(text, at) : at][-_LONGEST_REPLY:]
    if address := _LEADING_ADDRESS.match(before):
        before = before[address.end() :]
    before = _SPACE.sub(" ", before).strip(" <>()#")
    status, _, after = _paragraph(text, at).partition(" ")
    return " ".join(filter(None, (status.strip("<>()#;:,."), before, after)))


def _start_of_paragraph(text: str, at: int) -> int:
    return text.rfind("\n\n", 0, at) + 1
