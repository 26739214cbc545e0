"""Write and read the lines that the mailbox puts before a message: its envelope and what it is in.

`Return-Path` and `Delivered-To` are those of any final delivery (RFC 5321 4.4). What they cannot
say is in a third field, `X-Postfinch-Trace`, as JSON: further recipients, the inbox, the login name
and the tags. It is there if one of these is, or if the message itself begins with such a field.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

_FIELD = b"X-Postfinch-Trace: "
_LINES = re.compile(
    rb"Return-Path: <(.*)>\r\nDelivered-To: (.*)\r\n(?:%s(\{.*\})\r\n)?" % re.escape(_FIELD)
)
#: What no address and no name may have: it would end its line
LINE_BREAK = re.compile(r"[\r\n\0]")


@dataclass(frozen=True, slots=True)
class Trace:
    """The envelope of a stored message, and where it belongs.

    `sender` is "" for the null return path. `login` is the name that its sender logged in with.
    `tags` are those that were given to the message here, not those of the service.
    """

    sender: str
    recipients: tuple[str, ...]
    inbox: str = ""
    login: str = ""
    tags: tuple[str, ...] = ()

    def before(self, message: bytes) -> bytes:
        """Return the lines to put before a message.

        Raises ValueError when an address could break out of its field.
        """
        first = self.recipients[0] if self.recipients else ""
        if LINE_BREAK.search(self.sender) or LINE_BREAK.search(first):
            raise ValueError("an envelope address holds a line break or a NUL")
        lines = f"Return-Path: <{self.sender}>\r\nDelivered-To: {first}\r\n".encode()
        more: dict[str, Any] = {
            "recipients": self.recipients[1:],
            "inbox": self.inbox,
            "login": self.login,
            "tags": self.tags,
        }
        more = {name: value for name, value in more.items() if value}
        if more or message.startswith(_FIELD):
            lines += _FIELD + json.dumps(more, ensure_ascii=True).encode() + b"\r\n"
        return lines


def split(source: bytes) -> tuple[Trace | None, int]:
    """Return the trace of a stored message, and where the message begins; None without a trace."""
    match = _LINES.match(source)
    if match is None:
        return None, 0
    sender, first = (text.decode("utf-8", "replace") for text in match.groups()[:2])
    more = json.loads(match[3]) if match[3] else {}
    recipients = (first, *more.get("recipients", ())) if first else ()
    trace = Trace(
        sender,
        recipients,
        inbox=more.get("inbox", ""),
        login=more.get("login", ""),
        tags=tuple(more.get("tags", ())),
    )
    return trace, match.end()


def shown(source: bytes) -> bytes:
    """Return a stored message as mail readers get it, which never changes.

    The two fields of a final delivery stay; the third one is left out, because its tags change.
    """
    match = _LINES.match(source)
    if match is None or match[3] is None:
        return source
    return source[: match.start(3) - len(_FIELD)] + source[match.end() :]
