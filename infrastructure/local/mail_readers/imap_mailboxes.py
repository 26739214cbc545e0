"""Name the mailboxes of a login, and match them with patterns (RFC 3501 6.3.8).

`INBOX` has all messages that the login reads. A login that reads everything also has a mailbox for
each inbox, below `Inboxes`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from infrastructure.local.mail_readers.desk import ReadingDesk
from infrastructure.local.mail_readers.imap_syntax import mailbox_name, read_mailbox_name, string
from infrastructure.local.mail_readers.logins import scope_of
from infrastructure.local.mailbox.rows import Condition

INBOX = "INBOX"
_FOLDER = "Inboxes"
DELIMITER = "/"


@dataclass(frozen=True, slots=True)
class Mailboxes:
    """The mailboxes of a login that reads one inbox, or all (None)."""

    desk: ReadingDesk
    inbox: str | None

    def names(self) -> dict[str, str]:
        """Return the attributes of each mailbox by its name."""
        if self.inbox is not None:
            return {INBOX: "\\HasNoChildren"}
        inboxes = [each.name for each in self.desk.mailbox.index.inboxes() if each.name]
        if not inboxes:
            return {INBOX: "\\HasNoChildren"}
        return {
            INBOX: "\\HasNoChildren",
            _FOLDER: "\\Noselect \\HasChildren",
            **{_name_of(each): "\\HasNoChildren" for each in inboxes},
        }

    def scope(self, octets: bytes) -> tuple[str, list[Condition]] | None:
        """Return name and condition of the mailbox that a client names, None if there is none."""
        name = read_mailbox_name(octets)
        if name.upper() == INBOX:
            return INBOX, scope_of(self.inbox)
        if "\\Noselect" in (attributes := self.names()).get(name, "\\Noselect"):
            return None
        assert attributes
        return name, scope_of(_inbox_of(name))

    def listing(self, word: str, reference: bytes, pattern: bytes) -> list[bytes]:
        """Return the responses of LIST or LSUB."""
        if not pattern:
            return [b'* %b (\\Noselect) "/" ""\r\n' % word.encode()]
        text = read_mailbox_name(reference + pattern)
        # INBOX alone may be written in any case
        of_inbox, of_others = _expression(text.upper()), _expression(text)
        return [
            b'* %b (%b) "/" %b\r\n' % (word.encode(), attributes.encode(), quoted(name))
            for name, attributes in self.names().items()
            if (of_inbox if name == INBOX else of_others).fullmatch(name)
        ]


def quoted(name: str) -> bytes:
    """Return the name of a mailbox as responses have it."""
    return string(mailbox_name(name))


def _name_of(inbox: str) -> str:
    escaped = inbox.replace("%", "%25").replace(DELIMITER, "%2F").replace("*", "%2A")
    return f"{_FOLDER}{DELIMITER}{escaped}"


def _inbox_of(name: str) -> str:
    escaped = name.removeprefix(_FOLDER + DELIMITER)
    return escaped.replace("%2A", "*").replace("%2F", DELIMITER).replace("%25", "%")


def _expression(pattern: str) -> re.Pattern[str]:
    """Return the expression of a pattern; runs of wildcards are one, so it cannot be slow."""
    pattern = re.sub(r"[*%]*\*[*%]*", "*", pattern[:1000])
    pattern = re.sub(r"%+", "%", pattern)
    pieces = re.split(r"([*%])", pattern)
    if len(pieces) > 2 * _MOST_WILDCARDS:
        return re.compile(r"(?!)")
    wildcards = {"*": ".*", "%": f"[^{DELIMITER}]*"}
    text = "".join(wildcards.get(each) or re.escape(each) for each in pieces)
    return re.compile(text, re.DOTALL)


_MOST_WILDCARDS = 6
