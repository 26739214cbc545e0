"""Keep a recent message of each campaign, to be copied when the threshold is reached.

Access patterns of ``metrics``:

- the newest sample of a campaign → ``inline-seeds#<account>`` /
  ``sample#<owner>#<sending domain>#<campaign>``
- seed sends and samples of an account → ``inline-seeds#<account>`` / ``run# .. sample#``

A sample holds the data of one recipient, which is kept nowhere else once the message is generated.
Large data is an object of the bucket, under ``transmissions/<transmission id>/``. Each seed send
has a copy of its sample (``seed_sends.py``); both are emptied when the recipient is forgotten.
"""

from __future__ import annotations

import json
import zlib
from typing import Final, NotRequired

from chalicelib.core import blobs, clock
from chalicelib.core.addresses import spelling
from chalicelib.core.dynamo import Attributes, ConditionFailed, Keyed, Table
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.recipient_lists.stored_form import StoredRecipient
from chalicelib.seeding.model import Campaign, Sample
from chalicelib.seeding.store.counters import campaign_key, partition

RETENTION: Final = 3 * 86_400
"""Seconds: longer than the longest duration, and than messages ever wait to be counted."""

_NO_RECIPIENT: Final = zlib.compress(b"{}")


class SampleFields(Attributes):
    """The fields of a ``Sample``."""

    transmission_id: str
    data: bytes
    #: The object of the bucket that holds the data if they are large, else empty
    blob: str
    #: Version 0.1.0 did not write it
    sampled_email: NotRequired[str]


class SampleItem(SampleFields, Keyed):
    """The newest sample of a campaign; a seed send holds such fields too."""

    subaccount_id: int | None
    expires: int


_metrics: Table[SampleItem] = Table("metrics")


def put(
    account_id: int,
    campaign: Campaign,
    transmission_id: str,
    index: int,
    recipient: StoredRecipient,
) -> None:
    """Store a message of a campaign by the index and the stored form of its recipient."""
    text = json.dumps(recipient, separators=(",", ":"), ensure_ascii=False)
    data, blob = zlib.compress(text.encode("utf-8", "surrogatepass")), ""
    if len(data) > settings().item_inline_bytes:
        blob = f"transmissions/{transmission_id}/sample-{index}"
        blobs.put(blob, data)
        data = b""
    sample = Sample(transmission_id, data, blob, spelling(recipient["email"]))
    _metrics.put(
        {
            **to_fields(sample),
            "pk": partition(account_id),
            "sk": _sort_key(campaign),
            "subaccount_id": campaign.subaccount_id,
            "expires": int(clock.now()) + RETENTION,
        }
    )


def newest(account_id: int, campaign: Campaign) -> Sample | None:
    """Return the sample of a campaign, ``None`` if there is none."""
    item = _metrics.get(partition(account_id), _sort_key(campaign))
    if item is None or item["expires"] <= clock.now():
        return None
    return from_item(item)


def recipient_of(sample: Sample) -> StoredRecipient:
    """Return the recipient of a sample; raises ``BlobMissing`` when its object has expired."""
    data = blobs.get(sample.blob) if sample.blob else sample.data
    return json.loads(zlib.decompress(data).decode("utf-8", "surrogatepass"))


def erase_recipient(scope: Scope, email: str) -> int:
    """Erase a recipient from samples and seed sends; return from how many.

    A seed send that is under way goes on without the recipient's data. Repeating it does no harm.
    """
    items = _metrics.query_all(
        "#pk = :pk AND #sk BETWEEN :first AND :last",
        {"pk": partition(scope.account_id), "first": "run#", "last": "sample#\U0010ffff"},
        consistent=True,
    )
    address = spelling(email)
    return sum(
        _erase(item)
        for item in items
        if spelling(item.get("sampled_email", "")) == address
        and scope.covers(item["subaccount_id"])
    )


def from_item(item: SampleFields) -> Sample:
    """Return the sample in an item of the table, which may hold other things too."""
    return Sample(
        item["transmission_id"], item["data"], item["blob"], item.get("sampled_email", "")
    )


def to_fields(sample: Sample) -> SampleFields:
    """Return the fields of a sample in an item."""
    return {
        "transmission_id": sample.transmission_id,
        "data": sample.data,
        "blob": sample.blob,
        "sampled_email": sample.email,
    }


def _erase(item: SampleItem) -> bool:
    """Empty the sample in an item; return ``False`` if another sample replaced it meanwhile."""
    if item["blob"]:
        blobs.delete(item["blob"])
    try:
        _metrics.update(
            item["pk"],
            item["sk"],
            "SET #data = :nothing, #blob = :none, #sampled_email = :none",
            values={"nothing": _NO_RECIPIENT, "none": "", "seen": item["sampled_email"]},
            condition="#sampled_email = :seen",
        )
    except ConditionFailed:
        return False
    return True


def _sort_key(campaign: Campaign) -> str:
    return f"sample#{campaign_key(campaign)}"
