"""A chunk: some recipients of a transmission, as they come from the ``generation`` queue."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from chalicelib.core import packing
from chalicelib.core.queues import Received
from chalicelib.delivery.store.work_units import WorkUnit
from chalicelib.transmissions.model import Transmission, unpacked
from chalicelib.transmissions.store import transmissions

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Recipients of one transmission; the first has index ``first_index`` among all of them."""

    unit: WorkUnit
    transmission: Transmission
    first_index: int
    recipients: list[Json]


def from_received(message: Received) -> Chunk:
    """Return the chunk of a queue message; raises :class:`store.NotSubmitted`."""
    head = message.head
    _, (text, *inside) = packing.unpack(message.payload())
    transmission = (
        unpacked(inside[0]) if inside else transmissions.get_submitted(head["transmission"])
    )
    return Chunk(
        WorkUnit(head["transmission"], str(head["chunk"])),
        transmission,
        head["first_index"],
        json.loads(text.decode("utf-8", "surrogatepass")),
    )
