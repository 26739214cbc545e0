"""Consume the ``inbound-mail`` queue: record received mail, and pass it on.

Every step may be repeated: records, batches and events have ids that follow from the message's.
"""

from __future__ import annotations

from collections.abc import Sequence

from chalicelib.core import queues
from chalicelib.core.queue_event import BatchResponse, QueueEvent
from chalicelib.core.queues import Received
from chalicelib.events import stream
from chalicelib.inbound_domains.model import Action
from chalicelib.received_mail.inbound_queue import QUEUE, InboundHead, InboundRecipient, relay_id
from chalicelib.received_mail.model import ReceivedMessage
from chalicelib.relaying import relay_events


def receive_batch(event: QueueEvent) -> BatchResponse:
    """Handle the messages of one SQS batch; return those that failed."""
    return queues.consume(QUEUE, event, queues.all_together(_receive_all))


def _receive_all(messages: Sequence[Received[InboundHead]]) -> None:
    received = [
        _message(message.head, recipient)
        for message in messages
        for recipient in message.head["recipients"]
    ]
    stream.emit([relay_events.injection(message) for message in received])


def _message(head: InboundHead, recipient: InboundRecipient) -> ReceivedMessage:
    return ReceivedMessage(
        id=relay_id(head["id"], recipient["index"]),
        account_id=recipient["account_id"],
        subaccount_id=recipient["subaccount_id"],
        domain=recipient["domain"],
        received_ms=head["received_ms"],
        rcpt_to=recipient["address"],
        mail_from=head["mail_from"],
        peer_ip=head["peer_ip"],
        helo=head["helo"],
        tls=head["tls"],
        size=head["size"],
        action=Action.STORE,
    )
