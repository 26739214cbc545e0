"""Read what the user chose about POP3 and IMAP.

================= ======= ==========================================================================
MAILBOX_PASSWORDS         file of the names and passwords that POP3 and IMAP take, as ``htpasswd``
                          writes it or as ``name:password``; without it any login reads the mailbox
================= ======= ==========================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PASSWORDS = "MAILBOX_PASSWORDS"


@dataclass(frozen=True, slots=True)
class ReaderChoices:
    """The choices; ``passwords_path`` is empty for any login.

    ``has_own_inboxes`` says that every login has the inbox of its name, also before its first mail.
    """

    passwords_path: str = ""
    has_own_inboxes: bool = False

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> ReaderChoices:
        """Return the choices of an environment."""
        return cls(environ.get(PASSWORDS, ""), environ.get("CATCH_INBOX") == "login")


def check_passwords(environ: Mapping[str, str]) -> None:
    """Raise ValueError with one line for the user if the file of passwords cannot be used."""
    if path := environ.get(PASSWORDS):
        from infrastructure.local.passwords import Passwords

        try:
            Passwords.read(path)
        except ValueError as error:
            raise ValueError(f"{PASSWORDS}: {error}") from None
