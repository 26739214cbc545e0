"""Where events are kept for ten days.

Access patterns (table ``events``):

- events of an account in an hour, newest first → ``pk = <account>#<hour>#<shard>``,
  ``sk = <milliseconds>#<event id>``; an account's hour is spread over ``EVENTS_SHARDS`` partitions
- which hours of an account hold events → ``pk = <account>#hours``, ``sk = <hour>``
- events of a recipient, newest first, also to erase them → index ``by_recipient``:
  ``recipient_key = <account>#<address>``, ``sk`` as above

An event's place follows from its time and id, so storing it again changes nothing. The fields are
kept as one compressed value: with all of them as attributes an event would pass 1 KB, and cost
twice the write units in the table and in each index.
"""

from __future__ import annotations

import heapq
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice

from chalicelib.core.dynamo import WRITE_BATCH, Item, Table
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.events.model import Event

_events = Table("events")

_HOUR_MS = 3_600_000
_DIGITS = 13  # of the milliseconds in a position, which sort as text
_LATEST_MS = 10**_DIGITS - 1
_PAGE = 1000

# What most events have in common, so that even a single one compresses well (RFC 1950 dictionary).
# Part of the stored format: changing it makes stored events unreadable.
_DICTIONARY = (
    b'"bounce_class":"10","error_code":"550","raw_reason":"550 5.1.1 ","reason":"550 5.1.1 '
    b'"num_retries":"0","queue_time":"","outbound_tls":"","ip_address":"127.0.0.1","sending_ip":"'
    b'"delv_method":"esmtp","ab_test_id":"","user_agent":"","geo_ip":{},"target_link_name":"",'
    b'"target_link_url":"https://","template_version":"0","template_id":"","scheduled_time":"",'
    b'"subaccount_id":"","transactional":"1","campaign_id":"","rcpt_type":"","mailbox_provider":"'
    b'"mailbox_provider_region":"","type":"delay","type":"bounce","type":"delivery",'
    b'{"customer_id":"1","transmission_id":"217","recv_method":"esmtp","recv_method":"rest",'
    b'"ip_pool":"default","open_tracking":true,"click_tracking":true,"initial_pixel":true,'
    b'"open_tracking":false,"click_tracking":false,"initial_pixel":false,"amp_enabled":false,'
    b'"rcpt_to":"@example.com","raw_rcpt_to":"","rcpt_hash":"","rcpt_meta":{},"rcpt_tags":[],'
    b'"recipient_domain":"gmail.com","routing_domain":"gmail.com","message_id":"03","subject":"",'
    b'"friendly_from":"","sending_domain":"","msg_from":"","msg_size":"","injection_time":"2026-'
    b'T00:00:00.000Z","type":"injection","timestamp":17,"event_id":"'
)


@dataclass(frozen=True, slots=True)
class Window:
    """A span of time in milliseconds: ``start`` belongs to it, ``end`` does not."""

    start: int
    end: int


def put_all(events: Sequence[Event]) -> None:
    """Store events (of any accounts); those stored before are rewritten unchanged."""
    unique = {event["event_id"]: event for event in events}
    _events.write_all([_to_item(event) for event in unique.values()])
    hours = {(e["customer_id"], e["timestamp"] // _HOUR_MS * _HOUR_MS) for e in unique.values()}
    for account, begin in hours:
        _note_hour(account, begin)


def newest_first(
    account_id: int, window: Window, *, before: str = "", recipients: Sequence[str] = ()
) -> Iterator[tuple[str, Event]]:
    """Yield ``(position, event)`` of an account, newest first, as far as they are asked for.

    ``before`` is the position behind which to go on; ``recipients`` narrows to these addresses.
    """
    low, high = _position(window.start), _position(window.end)
    high = min(before, high) if before else high
    if low >= high:  # which a query would refuse as a range
        return
    if recipients:
        keys = [f"{account_id}#{address}" for address in recipients]
        yield from _merged(keys, low, high, _page_of_recipient)
        return
    for hour in _hours(account_id, low, high):
        shards = [f"{account_id}#{hour}#{shard}" for shard in range(settings().events_shards)]
        yield from _merged(shards, low, high, _page_of_hour)


def erase_recipient(scope: Scope, address: str) -> int:
    """Delete a recipient's events in a scope for good; return how many there were."""
    found = _events.query_all(
        "#recipient_key = :key",
        {"key": f"{scope.account_id}#{address.lower()}"},
        index="by_recipient",
    )
    erased = 0
    inside = (item for item in found if scope.covers(_subaccount_of(_expand(item["data"]))))
    while batch := [(item["pk"], item["sk"]) for item in islice(inside, WRITE_BATCH)]:
        _events.write_all([], delete=batch)
        erased += len(batch)
    return erased


def _position(moment_ms: int) -> str:
    """Return where events of this moment begin, for any moment that a caller may name."""
    return f"{min(max(moment_ms, 0), _LATEST_MS):0{_DIGITS}d}"


def _to_item(event: Event) -> Item:
    account, stamp, event_id = event["customer_id"], event["timestamp"], event["event_id"]
    shard = int(event_id) % settings().events_shards
    return {
        "pk": f"{account}#{_hour(stamp)}#{shard}",
        "sk": f"{_position(stamp)}#{event_id}",
        "recipient_key": f"{account}#{event['rcpt_to']}",
        "data": _compress(event),
        "expires": _expiry(stamp),
    }


def _expiry(moment_ms: int) -> int:
    return moment_ms // 1000 + settings().events_retention


def _compress(event: Event) -> bytes:
    packer = zlib.compressobj(level=6, zdict=_DICTIONARY)
    text = json.dumps(event, separators=(",", ":"), ensure_ascii=False)
    return packer.compress(text.encode("utf-8", "surrogatepass")) + packer.flush()


def _expand(data: bytes) -> Event:
    text = zlib.decompressobj(zdict=_DICTIONARY).decompress(data)
    return json.loads(text.decode("utf-8", "surrogatepass"))


def _hour(stamp_ms: int) -> str:
    return datetime.fromtimestamp(stamp_ms / 1000, UTC).strftime("%Y%m%d%H")


@lru_cache(maxsize=4096)
def _note_hour(account: str, begin_ms: int) -> None:
    """Note once per process that the account has events in the hour that begins then."""
    expires = _expiry(begin_ms + _HOUR_MS)
    _events.put({"pk": f"{account}#hours", "sk": _hour(begin_ms), "expires": expires})


def _hours(account_id: int, low: str, high: str) -> list[str]:
    """Return the hours that hold events between two positions, newest first."""
    noted = _events.query_all(
        "#pk = :pk AND #sk BETWEEN :low AND :high",
        {
            "pk": f"{account_id}#hours",
            "low": _hour(int(low[:_DIGITS])),
            "high": _hour(int(high[:_DIGITS])),
        },
        newest_first=True,
    )
    return [item["sk"] for item in noted]


def _subaccount_of(event: Event) -> int | None:
    return int(event["subaccount_id"]) if event.get("subaccount_id") else None


_Pages = Callable[[str, str, str, Item | None], tuple[list[Item], Item | None]]


def _page_of_hour(
    key: str, low: str, high: str, start: Item | None
) -> tuple[list[Item], Item | None]:
    page = _events.query(
        "#pk = :key AND #sk BETWEEN :low AND :high",
        {"key": key, "low": low, "high": high},
        newest_first=True,
        limit=_PAGE,
        start=start,
    )
    return page.items, page.next_key


def _page_of_recipient(
    key: str, low: str, high: str, start: Item | None
) -> tuple[list[Item], Item | None]:
    page = _events.query(
        "#recipient_key = :key AND #sk BETWEEN :low AND :high",
        {"key": key, "low": low, "high": high},
        index="by_recipient",
        newest_first=True,
        limit=_PAGE,
        start=start,
    )
    return page.items, page.next_key


def _merged(keys: Iterable[str], low: str, high: str, pages: _Pages) -> Iterator[tuple[str, Event]]:
    streams = [_stream(key, low, high, pages) for key in keys]
    for item in heapq.merge(*streams, key=lambda item: item["sk"], reverse=True):
        yield item["sk"], _expand(item["data"])


def _stream(key: str, low: str, high: str, pages: _Pages) -> Iterator[Item]:
    start: Item | None = None
    while True:
        items, start = pages(key, low, high, start)
        for item in items:
            # BETWEEN includes its upper bound; a window and a cursor do not
            if item["sk"] < high:
                yield item
        if start is None:
            return


def forget_noted_hours() -> None:
    """Forget which hours this process has noted (tests start with empty tables)."""
    _note_hour.cache_clear()
