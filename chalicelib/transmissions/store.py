"""Where transmissions are kept.

Access patterns (table ``transmissions``):

- one transmission → ``pk = transmission#<id>``, ``sk = transmission``

The body is one compressed value in the item, or an object of the bucket when it is large. A
request of several chunks is written in the state ``accepting`` and becomes ``submitted`` when all
its chunks are queued: what was only partly accepted is never sent.
"""

from __future__ import annotations

import zlib
from functools import lru_cache

from chalicelib.core import blobs, clock
from chalicelib.core.dynamo import Item, Table
from chalicelib.core.settings import settings
from chalicelib.transmissions.model import ACCEPTING, SUBMITTED, Transmission, unpacked

_transmissions = Table("transmissions")

_RETENTION = 30 * 86_400


def put(transmission: Transmission, packed: bytes, *, state: str, recipients: int) -> None:
    """Store a new transmission; ``packed`` is its packed form."""
    body = zlib.compress(packed, 1)
    item: Item = {
        "pk": _pk(transmission.id),
        "sk": "transmission",
        "account_id": transmission.account_id,
        "subaccount_id": transmission.subaccount_id,
        "campaign_id": transmission.campaign_id,
        "state": state,
        "recipients": recipients,
        "created_ms": transmission.created_ms,
        "expires": int(clock.now()) + _RETENTION,
    }
    if len(body) > settings().item_inline_bytes:
        item["blob"] = f"transmissions/{transmission.id}"
        blobs.put(item["blob"], body)
    else:
        item["body"] = body
    _transmissions.create(item)


def commit(transmission_id: str) -> None:
    """Note that all chunks of a transmission are queued."""
    _transmissions.update(
        _pk(transmission_id), "transmission", "SET #state = :state", values={"state": SUBMITTED}
    )


@lru_cache(maxsize=8)
def get_submitted(transmission_id: str) -> Transmission:
    """Return a transmission that was wholly accepted; raises :class:`NotSubmitted`."""
    item = _transmissions.get(_pk(transmission_id), "transmission")
    if item is None or item["state"] == ACCEPTING:
        raise NotSubmitted(transmission_id)
    return unpacked(zlib.decompress(blobs.get(item["blob"]) if "blob" in item else item["body"]))


class NotSubmitted(LookupError):
    """The transmission is unknown, or not all of it has been accepted yet."""


def _pk(transmission_id: str) -> str:
    return f"transmission#{transmission_id}"
