"""Tell which header fields have a syntax of their own, and where their lines may be folded.

In such a field an encoded word is not decoded but read as it stands: a mail client looks for a URL
or a message id by its characters (RFC 2047 5). All other fields are text for people.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import quote

#: Fields of addresses, of the name of a list, of keywords: words of them may be encoded words
_WITH_PHRASES: Final = frozenset(
    {
        *("from", "sender", "reply-to", "to", "cc", "bcc", "keywords", "list-id"),
        *("resent-from", "resent-sender", "resent-to", "resent-cc", "resent-bcc"),
        *("disposition-notification-to", "return-receipt-to", "errors-to"),
    }
)
#: Fields of URLs, ids, dates and tokens (RFC 5322 3.6, RFC 2045, 2183, 2369, 8058, 5064, 6376)
_WITHOUT_TEXT: Final = frozenset(
    {
        *("date", "message-id", "in-reply-to", "references", "received", "return-path"),
        *("resent-date", "resent-message-id", "mime-version", "content-type"),
        *("content-transfer-encoding", "content-disposition", "content-id", "content-location"),
        *("list-archive", "list-help", "list-owner", "list-post", "list-subscribe"),
        *("list-unsubscribe", "list-unsubscribe-post", "archived-at", "feedback-id"),
        *("auto-submitted", "authentication-results", "received-spf", "dkim-signature"),
        *("arc-seal", "arc-message-signature", "arc-authentication-results", "autocrypt"),
    }
)

_ALL: Final = _WITH_PHRASES | _WITHOUT_TEXT
_MARK = re.compile(r'\\.|[",;<>]', re.DOTALL)
_IN_BRACKETS = re.compile(r"<[^<>]*>")
_ASCII = "".join(map(chr, range(128)))


def is_structured(name: str) -> bool:
    """Tell whether a field has a syntax of its own; names are compared in lower case."""
    return name.lower() in _ALL


def holds_words(name: str) -> bool:
    """Tell whether readers decode encoded words in a field."""
    return name.lower() not in _WITHOUT_TEXT


def with_ascii_urls(name: str, value: str) -> str:
    """Return the value of a field of URLs with characters beyond ASCII in percent form (RFC 3987).

    In other fields nothing changes.
    """
    if value.isascii() or holds_words(name):
        return value
    return _IN_BRACKETS.sub(lambda url: quote(url[0], safe=_ASCII, errors="replace"), value)


def items(value: str, ends: str = ",;") -> Iterator[str]:
    """Yield the pieces of a structured value between which a blank may be added.

    They end with one of the ``ends``, or between two brackets, but never within a quoted string or
    within brackets.
    """
    start, is_quoted, is_bracketed = 0, False, False
    for mark in _MARK.finditer(value):
        if mark[0] == '"':
            is_quoted = not is_quoted
        elif is_quoted:
            continue
        elif mark[0] == "<":
            if not is_bracketed and start < mark.start() and value[mark.start() - 1] == ">":
                yield value[start : mark.start()]
                start = mark.start()
            is_bracketed = True
        elif mark[0] == ">":
            is_bracketed = False
        elif mark[0] in ends and not is_bracketed:
            yield value[start : mark.end()]
            start = mark.end()
    if start < len(value):
        yield value[start:]
