"""Acceptance of a finished message over SMTP: the same store and queue as over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import format_datetime

from chalicelib.core import clock, ids
from chalicelib.core.addresses import is_address
from chalicelib.core.errors import bad_format
from chalicelib.core.settings import settings
from chalicelib.generation.prebuilt import sender_of
from chalicelib.mail_format import rfc822
from chalicelib.sending_domains.lookup import invalid_domain
from chalicelib.transmissions.model import Transmission
from chalicelib.transmissions.resolve import options_in_force
from chalicelib.transmissions.sender import find_sender
from chalicelib.transmissions.submit import submit


def accept_message(
    account_id: int,
    subaccount_id: int | None,
    recipients: Sequence[str],
    message: bytes,
    peer_ip: str,
) -> str:
    """Accept a message; return its transmission id when it is stored and queued.

    Raises :class:`ServiceError` when it is refused: a malformed message, a From domain that is not
    the sender's, a sender who may not send, or a limit that is exceeded.
    """
    try:
        fields, body = rfc822.split(message)
        domain = sender_of(fields).domain
    except rfc822.MessageError as fault:
        raise bad_format(str(fault)) from None
    except ValueError:
        raise invalid_domain("No sending domain specified") from None
    sender = find_sender(account_id, subaccount_id, domain)
    sender.meter.check(len(recipients))
    defaults = sender.defaults("smtp_tracking_default")
    transmission_id = ids.transmission_id()
    trace = _received(transmission_id, peer_ip)
    transmission = Transmission(
        id=transmission_id,
        account_id=account_id,
        subaccount_id=subaccount_id,
        created_ms=clock.now_ms(),
        recv_method="esmtp",
        options=options_in_force({}, {}, defaults),
        defaults=defaults,
        resolved=True,
        raw=trace + rfc822.join(fields, body),
    )
    submit(transmission, [{"email": address} for address in recipients], sender.meter)
    return transmission_id


def check_recipient(address: str) -> None:
    """Raise :class:`ServiceError` unless ``address`` is one that mail can be sent to."""
    if not is_address(address):
        raise bad_format(f"'{address[:300]}' is not a valid email address")


def _received(transmission_id: str, peer_ip: str) -> bytes:
    """Return the trace field that every host which takes a message adds (RFC 5321 4.4)."""
    date = format_datetime(datetime.fromtimestamp(int(clock.now()), UTC))
    host = settings().mail_hostname
    literal = f"IPv6:{peer_ip}" if ":" in peer_ip else peer_ip
    return (
        f"Received: from [{literal}] by {host} (Postfinch)\r\n"
        f" with ESMTPSA id {transmission_id}; {date}\r\n"
    ).encode()
