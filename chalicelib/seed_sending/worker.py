"""Seed messages: copies of a campaign's message, one to each seed address.

A copy is made as the message was, from the same transmission and with the same recipient's data,
and is addressed to a seed. It goes to seeds whoever is suppressed, counts against no plan, and what
becomes of it is nobody's event: recording drops it by its message id.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

from chalicelib.core import clock, queues
from chalicelib.core.blobs import BlobMissing
from chalicelib.core.errors import ServiceError
from chalicelib.delivery import delivery_batch
from chalicelib.delivery.delivery_batch import DeliveryBatch, FinishedMessage
from chalicelib.delivery.store import work_units
from chalicelib.delivery.store.work_units import WorkUnit
from chalicelib.delivery.worker import deliver_at_once
from chalicelib.generation.message import Generator, NotGenerated
from chalicelib.mail_format import rfc822
from chalicelib.mail_format.headers import Address, encode_addresses
from chalicelib.seeding.model import SeedSend
from chalicelib.seeding.store import samples, seed_sends
from chalicelib.transmissions.model import Transmission
from chalicelib.transmissions.sender import find_sender
from chalicelib.transmissions.store import transmissions

Json = dict[str, Any]

# Whatever else is known of a recipient is about the one real message: its envelope, its links
_COPIED = ("name", "tags", "metadata", "substitution_data", "options")

_log = logging.getLogger(__name__)


def send_seed(named: Json) -> None:
    """Send the message of a run that a queue message names; one that was sent is not sent again."""
    seed_send, number = seed_sends.get(named["account_id"], named["run"]), named["number"]
    if seed_send is None:
        _log.warning("run %s is over", named["run"])
        return
    unit = WorkUnit(seed_send.id, str(number))
    begun = work_units.record_generation(unit, clock.now_ms(), to_deliver=True)
    if begun is None:
        return
    made = _generated(seed_send, number, begun.injected_ms)
    if made is None:
        work_units.complete(unit, counts=(0, 1))
        return
    event, message = made
    whole = DeliveryBatch(unit, 1, begun.injected_ms, event, [message])
    if begun.lease:
        deliver_at_once(whole, begun.lease, [])
    else:
        queues.send(delivery_batch.QUEUE, [delivery_batch.to_work(whole)])


def _generated(seed_send: SeedSend, number: int, at_ms: int) -> tuple[Json, FinishedMessage] | None:
    """Return the finished message, and the fields of its events; ``None`` if it cannot be sent."""
    campaign, index = seed_send.campaign, seed_send.index(number)
    try:
        find_sender(seed_send.account_id, campaign.subaccount_id, campaign.sending_domain)
        generator = Generator(_copy(seed_send, number), at_ms, index)
        return generator.event, generator.generate(index, _recipient(seed_send, number))
    except (ServiceError, NotGenerated, transmissions.NotSubmitted, BlobMissing) as reason:
        _log.warning("no seed message of campaign %r: %s", campaign, reason)
        return None


def _copy(seed_send: SeedSend, number: int) -> Transmission:
    sent = transmissions.get_submitted(seed_send.sample.transmission_id)
    raw = _addressed(sent.raw, seed_send.addresses[number]) if sent.raw else b""
    return replace(sent, id=seed_send.id, raw=raw)


def _addressed(raw: bytes, address: str) -> bytes:
    """Return a pre-built message with another To: it names whom it was made for."""
    fields, body = rfc822.split(rfc822.normalise(raw))
    to = encode_addresses("To", [Address(None, address)])
    return rfc822.join(rfc822.replace(fields, to), body)


def _recipient(seed_send: SeedSend, number: int) -> Json:
    known = samples.recipient_of(seed_send.sample)
    copied = {name: known[name] for name in _COPIED if name in known}
    return copied | {"email": seed_send.addresses[number]}
