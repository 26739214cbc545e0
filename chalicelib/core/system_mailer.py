"""Hold the function that sends mail from the service itself.

Packages of resources may not import the message path, so ``app.py`` passes the function in
(:func:`set_mailer`).
"""

from __future__ import annotations

from typing import Protocol

from chalicelib.core.errors import ServiceError, verification_mail_failed


class Mailer(Protocol):
    """A function that sends mail from the service itself."""

    def __call__(self, *, to: str, subject: str, text: str) -> None:
        """Send one plain text message; raises ``ServiceError``."""
        ...


_mailers: list[Mailer] = []


def set_mailer(mailer: Mailer) -> None:
    """Set the function that sends the mail of this process."""
    _mailers[:] = [mailer]


def send(*, to: str, subject: str, text: str, failure: str) -> None:
    """Send one plain text message.

    Raises 400 with code 1901 and the description ``failure`` if it could not be sent.
    """
    if not _mailers:
        raise RuntimeError("no mailer was set: app.py calls set_mailer")
    try:
        _mailers[0](to=to, subject=subject, text=text)
    except ServiceError as error:
        raise verification_mail_failed(failure) from error
