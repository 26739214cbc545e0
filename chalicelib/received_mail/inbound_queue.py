"""Describe the messages of the ``inbound-mail`` queue: mail that got its 250.

The relay writes them, and the worker of inbound mail reads them. A small message travels as the
payload; a larger one is an object of the bucket, which the head names.
"""

from __future__ import annotations

from typing import Final, NotRequired, TypedDict

from chalicelib.core import blobs, clock, queues
from chalicelib.core.queues import Work
from chalicelib.core.spool import Octets

QUEUE: Final = "inbound-mail"

#: Octets of a raw message that travels in the queue
MOST_IN_QUEUE: Final = 128 * 1024
#: Where the bucket holds the larger ones, for as long as they are kept
PREFIX: Final = "received/"


class InboundRecipient(TypedDict):
    """A recipient, and whose inbound domain it is at."""

    #: The recipient's place in the SMTP message, from 0
    index: int
    address: str
    account_id: int
    subaccount_id: int | None
    domain: str


class InboundHead(TypedDict):
    """The head: the envelope of one SMTP message, as far as its recipients are at inbound domains.

    ``id`` is 24 hexadecimal digits that begin with the time.
    """

    id: str
    received_ms: int
    mail_from: str
    peer_ip: str
    helo: str
    #: The version of TLS, empty without
    tls: str
    size: int
    recipients: list[InboundRecipient]
    #: The object that holds the raw message, if it is no payload
    blob: NotRequired[str]


def store(head: InboundHead, octets: Octets) -> None:
    """Queue a message; returns when it is stored."""
    tenant = head["recipients"][0]["account_id"]
    if len(octets) <= MOST_IN_QUEUE:
        queues.send(QUEUE, [Work(head, octets[:], tenant=tenant)])
        return
    blob = PREFIX + head["id"]
    blobs.put_large(blob, octets)
    queues.send(QUEUE, [Work({**head, "blob": blob}, tenant=tenant)])


def relay_id(message_id: str, index: int) -> str:
    """Return the id of a message as one of its recipients got it."""
    return f"{message_id}{index:02x}"


def new_id(random_digits: str) -> str:
    """Return the id of a message that is received now; ``random_digits`` are twelve (base 16)."""
    return f"{clock.now_ms():012x}{random_digits}"
