"""Read what the user chose about mail that is let out of the mailbox, and about its checks.

================== ======= =========================================================================
RELEASE_HOST               by which server mail of the mailbox is released and forwarded:
                           ``smtp://``, ``smtps://`` or ``smtp+starttls://``, then
                           ``user:password@host:port``; nothing: none leaves
RELEASE_RECIPIENTS         to whom it may go: addresses and patterns such as ``*@example.com``,
                           comma-separated, or one ``/regular expression/``
FORWARD_MATCHING           what is forwarded as it comes: a search of the mailbox, such as
                           ``inbox:shop has:attachment``, or a recipient such as ``*@example.com``
FORWARD_TO                 to whom it is forwarded, comma-separated; nothing: to its recipients
LINK_CHECK_PRIVATE false   whether the link check may request private addresses, this machine's too
CHAOS              false   ``true`` lets Mailpit's API make the catching port refuse by chance; so
                           do triggers, such as ``Sender:451:10,Recipient:550:5`` (code, percent)
================== ======= =========================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from infrastructure.local.choice_values import flag
from infrastructure.local.releasing.chaos import Triggers, read_setting
from infrastructure.local.releasing.recipients import NOBODY, AllowedRecipients, entries_of
from infrastructure.local.releasing.relay_host import RelayHost


@dataclass(frozen=True, slots=True)
class ReleaseChoices:
    """The choices; ``host`` is ``None`` if no mail is let out, ``chaos`` if there is none."""

    host: RelayHost | None = None
    recipients: AllowedRecipients = NOBODY
    forward_matching: str = ""
    forward_to: tuple[str, ...] = ()
    checks_private_links: bool = False
    chaos: Triggers | None = None

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> ReleaseChoices:
        """Return the choices of an environment; raises ValueError with one line for the user."""
        choices = cls(
            host=_host(environ.get("RELEASE_HOST", "").strip()),
            recipients=_recipients(environ.get("RELEASE_RECIPIENTS", "")),
            forward_matching=environ.get("FORWARD_MATCHING", "").strip(),
            forward_to=_addresses(environ.get("FORWARD_TO", "")),
            checks_private_links=flag(environ, "LINK_CHECK_PRIVATE"),
            chaos=read_setting(environ.get("CHAOS", "").strip()),
        )
        choices._check()
        return choices

    @property
    def warning(self) -> str:
        """Return the sentence for people; empty if no mail is let out."""
        if self.host is None:
            return ""
        allowed = ", ".join(self.recipients.entries)
        if not self.forward_matching:
            return f"Mail of the mailbox can be released by {self.host.shown} to {allowed}."
        to = ", ".join(self.forward_to) or f"its recipients ({allowed})"
        return (
            f"Mail of the mailbox that matches {self.forward_matching!r} is forwarded by"
            f" {self.host.shown} to {to}."
        )

    def _check(self) -> None:
        """Raise ValueError if the choices do not go together."""
        if self.host and not self.recipients.entries:
            raise ValueError(
                "RELEASE_HOST needs RELEASE_RECIPIENTS: to whom mail may go, such as *@example.com"
            )
        if (self.forward_matching or self.forward_to) and not self.host:
            raise ValueError("FORWARD_MATCHING and FORWARD_TO need RELEASE_HOST")
        if self.forward_to and not self.forward_matching:
            raise ValueError("FORWARD_TO needs FORWARD_MATCHING; '*' matches every recipient")
        if others := self.recipients.beyond(self.forward_to):
            raise ValueError(f"FORWARD_TO: RELEASE_RECIPIENTS does not allow {', '.join(others)}")
        if self.forward_matching:
            _check_matching(self.forward_matching)


def _check_matching(text: str) -> None:
    # Imported here: without the setting no start needs it
    from infrastructure.local.releasing.matching import Matching

    try:
        Matching.read(text)
    except ValueError as error:
        raise ValueError(f"FORWARD_MATCHING={text!r}: {error}") from None


def _host(url: str) -> RelayHost | None:
    try:
        return RelayHost.read(url) if url else None
    except ValueError as error:
        # Not the URL itself: it may have a password
        raise ValueError(f"RELEASE_HOST: {error}") from None


def _recipients(text: str) -> AllowedRecipients:
    try:
        return AllowedRecipients.read(text)
    except ValueError as error:
        raise ValueError(f"RELEASE_RECIPIENTS: {error}") from None


def _addresses(text: str) -> tuple[str, ...]:
    from chalicelib.core.addresses import is_address

    addresses = entries_of(text)
    for address in addresses:
        if not is_address(address):
            raise ValueError(f"FORWARD_TO: {address!r} is no address")
    return addresses
