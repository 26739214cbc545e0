"""Make mail that inbound domains received, and work off the queues that it goes through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chalicelib.core import queues
from chalicelib.core.message_event import Event
from chalicelib.core.scope import Scope
from chalicelib.core.spool import Octets
from chalicelib.events import stream
from chalicelib.inbound.worker import receive_batch
from chalicelib.inbound_domains.model import Action, MailRoute
from chalicelib.received_mail import inbound_queue, store
from chalicelib.received_mail.inbound_queue import InboundHead, InboundRecipient
from chalicelib.received_mail.model import ReceivedMessage
from tests.fake_cloud import queued, sqs_event
from tests.unit.inbound.examples import INJECTED_MS

AT_MS = INJECTED_MS + 60_000
ANN = "ann@inbox.test"
HELP = "help@in.test"


def raw(body: str = "Yes, please.\r\n", **fields: str) -> bytes:
    """Return a message from Ann; an underscore in a name of ``fields`` is a hyphen."""
    usual = {"From": "Ann Lee <ann@inbox.test>", "To": HELP, "Subject": "Re: Order"}
    own = {name.replace("_", "-"): value for name, value in fields.items()}
    lines = [f"{name}: {value}\r\n" for name, value in (usual | own).items() if value]
    return ("".join(lines) + "\r\n" + body).encode()


def recipient(address: str = HELP, index: int = 0, **fields: Any) -> InboundRecipient:
    """Return a recipient at an inbound domain of account 1."""
    usual: Any = {
        "index": index,
        "address": address,
        "account_id": 1,
        "subaccount_id": None,
        "domain": address.rpartition("@")[2].lower(),
    }
    return usual | fields


def head(recipients: Sequence[InboundRecipient], number: int = 0, **fields: Any) -> InboundHead:
    """Return the envelope of a message."""
    usual: Any = {
        "id": f"{AT_MS:012x}{number:012x}",
        "received_ms": AT_MS,
        "mail_from": ANN,
        "peer_ip": "192.0.2.1",
        "helo": "mx.inbox.test",
        "tls": "TLSv1.3",
        "size": 0,
        "recipients": list(recipients),
    }
    return usual | fields


def take(
    octets: Octets, *recipients: str | InboundRecipient, number: int = 0, **fields: Any
) -> None:
    """Queue a message to these recipients, as the relay does with what gets its 250."""
    of_domains = [
        recipient(each, index) if isinstance(each, str) else each
        for index, each in enumerate(recipients or (HELP,))
    ]
    fields = {"size": len(octets)} | fields
    inbound_queue.store(head(of_domains, number, **fields), octets)


def handle(receives: int = 1) -> list[str]:
    """Let the worker handle all queued messages in one call; return the bodies of those failed."""
    bodies = queued("inbound-mail")
    failed = receive_batch(sqs_event(bodies, receives))["batchItemFailures"]
    return [bodies[int(each["itemIdentifier"].removeprefix("m-"))] for each in failed]


def received() -> list[ReceivedMessage]:
    """Return the messages of account 1 that are stored, in the order of their ids."""
    summaries, _ = store.between(1, store.position_at(0), store.position_after(AT_MS), 1000)
    messages = [store.find(Scope(1, None), each.id) for each in summaries]
    return sorted(filter(None, messages), key=lambda each: each.id)


def emitted() -> list[Event]:
    """Take the events off their queue."""
    return [event for body in queued("events") for event in stream.decode(queues.read(body))]


def route(pattern: str, action: Action, forward_to: str = "") -> MailRoute:
    """Return a route."""
    return MailRoute(pattern, action, forward_to)


def types(events: Sequence[Event]) -> list[str]:
    """Return the types of events."""
    return [event["type"] for event in events]
