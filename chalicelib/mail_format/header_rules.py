"""Hold the rules for the header fields that a sender writes: how often each, and which never.

All names are compared in lower case.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from chalicelib.mail_format.address_list import ADDRESS_FIELDS

#: By RFC 5322 3.6 and RFC 2045. From is not among them: its mailboxes are counted instead
_AT_MOST_ONCE: Final = frozenset(
    {
        *("date", "sender", "reply-to", "to", "cc", "message-id", "in-reply-to", "references"),
        *("subject", "mime-version", "content-type", "content-transfer-encoding"),
    }
)
#: They show hidden recipients (RFC 5322 3.6.3), or are for the last host alone (RFC 5321 4.4)
NEVER_SENT: Final = frozenset({"bcc", "resent-bcc", "return-path"})
#: Those, and what the service writes itself where the content is not pre-built (spec 2.2)
_NOT_THE_SENDERS: Final = NEVER_SENT | {
    *("subject", "from", "to", "reply-to"),
    *("mime-version", "content-type", "content-transfer-encoding"),
}


def is_senders(name: str) -> bool:
    """Tell whether a sender may write this header beside content that the service builds."""
    return name.lower() not in _NOT_THE_SENDERS


def written_value(name: str, value: str) -> str:
    """Return the value of a field without the blanks around it; an empty one is not written.

    An address list needs an address (RFC 5322 3.6), and a comma has one on both sides.
    """
    is_list = name.lower() in ADDRESS_FIELDS
    return value.strip(" \t\r\n," if is_list else " \t\r\n")


def repeated(names: Iterable[str]) -> Iterator[str]:
    """Yield each name that is there once more, though a message has it at most once."""
    seen: set[str] = set()
    for name in names:
        lower = name.lower()
        if lower in seen:
            yield name
        elif lower in _AT_MOST_ONCE:
            seen.add(lower)


def senders_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that a sender may write, each as often as a message may have it.

    Content that version 0.1.0 stored may have others (stays: templates are not rewritten).
    """
    surplus = set(repeated(headers))
    return {
        name: value for name, value in headers.items() if is_senders(name) and name not in surplus
    }
