"""Check the logins of mail readers, and say which messages each one reads.

A login whose name is that of an inbox reads that inbox. Any other one reads everything, and with
``CATCH_INBOX=login``, where each program has an inbox of its own, the login ``all`` does.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import NamedTuple

from infrastructure.local.mail_readers.choices import ReaderChoices
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.mailbox.query_terms import of_inbox
from infrastructure.local.mailbox.rows import Condition

#: The login that reads everything, where every other one has an inbox of its own
ALL = "all"
#: Wrong logins of a connection after which it is closed
MOST_FAILURES = 5
#: Octets of a name or password, and of a line that has both
MOST_OCTETS = 1024


class LoginFailed(Exception):
    """The name or the password is wrong, or cannot be read."""


class Credentials(NamedTuple):
    """What a client logs in with."""

    name: str
    password: str


@dataclass(frozen=True, slots=True)
class Logins:
    """The logins of a mailbox; any name with any password where there are no passwords."""

    mailbox: SinkMailbox
    choices: ReaderChoices

    def inbox(self, login: Credentials) -> str | None:
        """Return the inbox that a login reads, None for all; raises LoginFailed.

        It may take as long as a hash of passwords takes.
        """
        passwords = self.choices.passwords
        if passwords and not passwords.is_right(*login):
            raise LoginFailed
        if any(each.name == login.name for each in self.mailbox.index.inboxes() if each.name):
            return login.name
        return login.name if self.choices.has_own_inboxes and login.name != ALL else None


def scope_of(inbox: str | None) -> list[Condition]:
    """Return the condition that a message is in an inbox; none for all messages."""
    return [] if inbox is None else [of_inbox(inbox)]


def from_plain(response: bytes) -> Credentials:
    """Read the response of PLAIN in base64 (RFC 4616); raises LoginFailed."""
    _, _, rest = _text(response).partition("\0")
    name, separator, password = rest.partition("\0")
    if not separator:
        raise LoginFailed
    return Credentials(name, password)


def from_login(name: bytes, password: bytes) -> Credentials:
    """Read the two responses of LOGIN in base64; raises LoginFailed."""
    return Credentials(_text(name), _text(password))


def _text(response: bytes) -> str:
    try:
        return base64.b64decode(response, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise LoginFailed from None
