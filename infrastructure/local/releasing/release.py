"""Release a message of the mailbox to real addresses, when a person asks for it.

Nobody is asked whether an address is suppressed: it is a deliberate act, and only what
``RELEASE_RECIPIENTS`` allows is possible. Each release has a line in the log.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime

from chalicelib.core import clock
from chalicelib.core.addresses import domain_of, is_address
from infrastructure.local.mailbox.header_fields import first_address, only_address
from infrastructure.local.releasing.choices import ReleaseChoices
from infrastructure.local.releasing.header_edit import with_header, without_headers
from infrastructure.local.releasing.relay_host import HostFailed, RelayHost

__all__ = ["BadRecipient", "HostFailed", "NotAllowed", "NotReleasable", "Release", "Releaser"]

log = logging.getLogger(__name__)


class BadRecipient(ValueError):
    """An address cannot be read."""


class NotReleasable(ValueError):
    """The message cannot be released, or not to these addresses; the text says why."""


class NotAllowed(NotReleasable):
    """``RELEASE_RECIPIENTS`` does not allow some ``addresses``."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self.addresses = addresses
        super().__init__(f"RELEASE_RECIPIENTS does not allow {', '.join(addresses)}")


@dataclass(frozen=True, slots=True)
class Release:
    """To whom a message went; ``refusals`` are the host's, each with ``address`` and ``reply``."""

    recipients: list[str]
    refusals: list[dict[str, str]]


class Releaser:
    """Releases messages by the host of the choices."""

    def __init__(self, choices: ReleaseChoices) -> None:
        self._choices = choices

    def release(self, content: bytes, to: Sequence[str]) -> Release:
        """Send a message as it was received; see :func:`prepared` for what changes.

        Raises :class:`BadRecipient`, :class:`NotReleasable` or :class:`HostFailed`; then it went
        to nobody.
        """
        host, addresses = self._host(), [_address(each) for each in to]
        if not addresses:
            raise BadRecipient("No valid addresses found")
        others = self._choices.recipients.beyond(addresses)
        if others:
            raise NotAllowed(others)
        sender = sender_of(content)
        refusals = host.send(sender, addresses, prepared(content, domain_of(sender)))
        recipients = [each for each in addresses if each not in refusals]
        log.warning("a message was released by %s to %s", host.shown, ", ".join(recipients))
        return Release(
            recipients,
            [{"address": address, "reply": reply} for address, reply in refusals.items()],
        )

    def _host(self) -> RelayHost:
        if self._choices.host is None:
            raise NotReleasable("releasing is off: RELEASE_HOST names no mail server")
        return self._choices.host


def prepared(content: bytes, domain: str) -> bytes:
    """Return a message as it is released: without Bcc, with a date and a Message-ID of its own.

    The Message-ID has the ``domain``. With the same one as before, a provider would take a second
    release for the first one.
    """
    content = without_headers(content, ("Bcc",))
    content = with_header(
        content, "Date", format_datetime(datetime.fromtimestamp(clock.now(), UTC))
    )
    return with_header(content, "Message-ID", f"<{uuid.uuid4().hex}@{domain}>")


def sender_of(content: bytes) -> str:
    """Return the address of Sender, or else of From, which is the sender of the envelope.

    Raises :class:`NotReleasable`.
    """
    from infrastructure.local.messages.parts import StoredMessage

    message = StoredMessage(content)
    for name in ("Sender", "From"):
        address = first_address(message.header(name))
        if is_address(address):
            return address
    raise NotReleasable("No From header found")


def _address(text: str) -> str:
    address = only_address(text)
    if not (text.isprintable() and is_address(address)):
        raise BadRecipient(f"Invalid email address: {text}")
    return address
