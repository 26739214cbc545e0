"""Send seed messages: copies of a campaign's message, one to each seed address.

A copy is generated like the message, from the same transmission and with the same recipient's data,
but is addressed to a seed. Suppression does not hold it back and it counts against no plan.
Recording drops its events, which it recognises by the message id.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import cast

from chalicelib.core import clock
from chalicelib.core.blobs import BlobMissing
from chalicelib.core.errors import ServiceError
from chalicelib.delivery import delivery_batch
from chalicelib.delivery.delivery_batch import DeliveryBatch
from chalicelib.delivery.delivery_queues import delivers_at_once
from chalicelib.delivery.route import first_container
from chalicelib.delivery.store import work_units
from chalicelib.delivery.store.work_units import WorkUnit
from chalicelib.delivery.worker import deliver_at_once
from chalicelib.generation.faults import NotGenerated
from chalicelib.generation.message import Generator
from chalicelib.mail_format import rfc822
from chalicelib.mail_format.headers import Address, encode_addresses
from chalicelib.recipient_lists.stored_form import StoredRecipient
from chalicelib.seeding.model import SeedSend
from chalicelib.seeding.seed_batches import SeedRef
from chalicelib.seeding.store import samples, seed_sends
from chalicelib.transmissions.model import Transmission
from chalicelib.transmissions.sender import find_sender
from chalicelib.transmissions.store import transmissions

# All other fields of a recipient belong to the one real message: its envelope, its links
_COPIED_FIELDS = ("name", "tags", "metadata", "substitution_data", "options")

_log = logging.getLogger(__name__)


def send_seed(seed: SeedRef) -> None:
    """Send one message of a seed send, once only."""
    seed_send, number = seed_sends.get(seed["account_id"], seed["run"]), seed["number"]
    if seed_send is None:
        _log.warning("seed send %s is over", seed["run"])
        return
    unit = WorkUnit(seed_send.id, str(number))
    generation = work_units.record_generation(unit, clock.now_ms(), to_deliver=delivers_at_once(""))
    if generation is None:
        return  # it has been sent
    batch = _generate(seed_send, number, unit, generation.injected_ms)
    if batch is None:
        work_units.complete(unit, counts=(0, 1))
    elif generation.lease:
        deliver_at_once(batch, generation.lease)
    else:
        delivery_batch.queue(batch, first_container(batch))


def _generate(
    seed_send: SeedSend, number: int, unit: WorkUnit, injected_ms: int
) -> DeliveryBatch | None:
    """Return the finished message as a delivery batch; ``None`` if it cannot be sent."""
    campaign, index = seed_send.campaign, seed_send.index(number)
    try:
        find_sender(seed_send.account_id, campaign.subaccount_id, campaign.sending_domain)
        generator = Generator(_transmission(seed_send, number), injected_ms, index)
        message = generator.generate(index, _recipient(seed_send, number))
    except (ServiceError, NotGenerated, transmissions.NotSubmitted, BlobMissing) as reason:
        _log.warning("no seed message of campaign %r: %s", campaign, reason)
        return None
    return DeliveryBatch(unit, 1, injected_ms, generator.event, [message])


def _transmission(seed_send: SeedSend, number: int) -> Transmission:
    """Return the campaign's transmission with the id of the seed send, addressed to a seed."""
    transmission = transmissions.get_submitted(seed_send.sample.transmission_id)
    raw = _addressed(transmission.raw, seed_send.addresses[number]) if transmission.raw else b""
    return replace(transmission, id=seed_send.id, raw=raw)


def _addressed(raw: bytes, address: str) -> bytes:
    """Return a pre-built message with ``address`` in To, in place of the real recipient."""
    fields, body = rfc822.split(rfc822.normalise(raw))
    to = encode_addresses("To", [Address(None, address)])
    return rfc822.join(rfc822.replace_field(fields, to), body)


def _recipient(seed_send: SeedSend, number: int) -> StoredRecipient:
    recipient = samples.recipient_of(seed_send.sample)
    fields = {name: value for name, value in recipient.items() if name in _COPIED_FIELDS}
    return cast(StoredRecipient, fields | {"email": seed_send.addresses[number]})
