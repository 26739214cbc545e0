"""Read what the user chose about POP3 and IMAP.

================= ======= ==========================================================================
MAILBOX_PASSWORDS         file of the names and passwords that POP3 and IMAP take, as ``htpasswd``
                          writes it or as ``name:password``; without it any login reads the mailbox
================= ======= ==========================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from infrastructure.local.mailbox.inboxes import BY_LOGIN
from infrastructure.local.passwords import Passwords


@dataclass(frozen=True, slots=True)
class ReaderChoices:
    """The choices; without ``passwords`` any login is right.

    ``has_own_inboxes`` says that every login has the inbox of its name, also before its first mail.
    """

    passwords: Passwords | None = None
    has_own_inboxes: bool = False

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> ReaderChoices:
        """Return the choices of an environment; raises ValueError with one line for the user."""
        passwords = Passwords.of_setting(environ, "MAILBOX_PASSWORDS")
        return cls(passwords, environ.get("CATCH_INBOX") == BY_LOGIN)
