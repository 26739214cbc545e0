"""A recent message of each seeded campaign, so that there is something to copy at the threshold.

Generation notes of one message which transmission it belongs to and for which recipient it was
made, at most once in ``EVERY`` seconds a process (threads that meet may each note one). The
recipient's data is kept nowhere else once the message is made, and goes when the recipient is to be
forgotten (``erasure``). Nothing is noted for accounts whose campaigns are not seeded.

Access patterns (table ``metrics``):

- the newest sample of a campaign → ``pk = inline-seeds#<account>``,
  ``sk = sample#<subaccount>#<sending domain>#<campaign>``; a large one names an object of the
  bucket, under ``transmissions/<id>/``
"""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from chalicelib.core import blobs, caches, clock
from chalicelib.core.dynamo import Item, Table
from chalicelib.core.settings import settings
from chalicelib.seeding.model import Campaign
from chalicelib.seeding.store import configs
from chalicelib.seeding.store.counters import partition, place

Json = dict[str, Any]

EVERY: Final = 60.0
RETENTION: Final = 3 * 86_400
"""Longer than the longest duration, and than anybody waits for messages to be counted."""

_MOST_REMEMBERED = 10_000

_metrics = Table("metrics")
_noted: dict[tuple[int, Campaign], float] = {}
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Sample:
    """A message: its transmission, and its recipient in the stored form (or the object of it).

    ``email`` is the recipient's address in lower case, empty for one that was forgotten.
    """

    transmission_id: str
    data: bytes
    blob: str
    email: str = ""

    def recipient(self) -> Json:
        """Return the recipient; raises ``BlobMissing`` when its object has expired."""
        packed = blobs.get(self.blob) if self.blob else self.data
        return json.loads(zlib.decompress(packed).decode("utf-8", "surrogatepass"))


def note(
    account_id: int,
    subaccount_id: int | None,
    campaign_id: str,
    transmission_id: str,
    messages: Iterable[tuple[str, int, Mapping[str, Any]]],
) -> None:
    """Note messages of a transmission that were just made, one for each sending domain.

    Each is given by its sending domain, and the index and stored form of its recipient.
    """
    if not campaign_id:
        return
    config = configs.acting_config(account_id)
    if config is None or not config.covers(campaign_id):
        return
    if not configs.acting_owners(account_id, [subaccount_id]):
        return
    for domain, index, recipient in messages:
        campaign = Campaign(subaccount_id, campaign_id, domain)
        if _is_time(account_id, campaign):
            _put(account_id, campaign, transmission_id, index, recipient)
            _wait(account_id, campaign)  # not before it is stored: what failed is repeated


def newest(account_id: int, campaign: Campaign) -> Sample | None:
    """Return the sample of a campaign, ``None`` if there is none."""
    item = _metrics.get(partition(account_id), _sort_key(campaign))
    if item is None or item["expires"] <= clock.now():
        return None
    return from_item(item)


def from_item(item: Item) -> Sample:
    """Return the sample that an item of the table has, by itself or among other things."""
    return Sample(
        item["transmission_id"], item["data"], item["blob"], item.get("sampled_email", "")
    )


def to_fields(sample: Sample) -> Item:
    """Return the fields under which an item has a sample."""
    return {
        "transmission_id": sample.transmission_id,
        "data": sample.data,
        "blob": sample.blob,
        "sampled_email": sample.email,
    }


@caches.register
def clear_cache() -> None:
    """Forget what this process has noted (tests change clouds)."""
    with _lock:
        _noted.clear()


def _is_time(account_id: int, campaign: Campaign) -> bool:
    with _lock:
        return clock.now() >= _noted.get((account_id, campaign), 0.0)


def _wait(account_id: int, campaign: Campaign) -> None:
    with _lock:
        if len(_noted) >= _MOST_REMEMBERED:
            _noted.clear()
        _noted[account_id, campaign] = clock.now() + EVERY


def _put(
    account_id: int,
    campaign: Campaign,
    transmission_id: str,
    index: int,
    recipient: Mapping[str, Any],
) -> None:
    text = json.dumps(recipient, separators=(",", ":"), ensure_ascii=False)
    data, blob = zlib.compress(text.encode("utf-8", "surrogatepass")), ""
    if len(data) > settings().item_inline_bytes:
        blob = f"transmissions/{transmission_id}/sample-{index}"
        blobs.put(blob, data)
        data = b""
    found = Sample(transmission_id, data, blob, recipient["email"].lower())
    _metrics.put(
        to_fields(found)
        | {
            "pk": partition(account_id),
            "sk": _sort_key(campaign),
            "subaccount_id": campaign.subaccount_id,
            "expires": int(clock.now()) + RETENTION,
        }
    )


def _sort_key(campaign: Campaign) -> str:
    return f"sample#{place(campaign)}"
