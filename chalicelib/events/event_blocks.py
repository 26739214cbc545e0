"""Runs: events that happened within a few seconds, kept as one compressed value.

Most fields are equal in all events of a bulk send, and most others are alike. A hundred events in
one run take 6 KB where they would take 70 KB apart, and are one item to write and to read. A run
is searched by columns: only the fields that a filter names are looked at, and an event is put
together only when it is shown.

The form is a deflated text of lines, each of them JSON: ``[count, derived fields, {field: value
that all events have}]``, then ``[field, value of each event, ...]``, with ``null`` where an event
has no such field. Fields that follow from others in every event of the run are left out.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from chalicelib.core import ids
from chalicelib.events.model import Event

#: Time between the first and the last event of a run, at most
SPAN_MS: Final = 5_000
#: Events in a run, at most
MOST_EVENTS: Final = 100
#: Compressed bytes of a run of more than one event, at most (an item holds 400 KB)
MOST_BYTES: Final = 64_000

#: A filter: field → whether a value, ``None`` where an event has no such field, passes
Conditions = Mapping[str, Callable[[Any], bool]]

_POSITION_DIGITS = 13
_LATEST_MS = 10**_POSITION_DIGITS - 1

_DERIVED: Final[dict[str, tuple[str, Callable[[str], str]]]] = {
    "rcpt_hash": ("rcpt_to", ids.recipient_hash),
    "raw_rcpt_to": ("rcpt_to", str),
    "recipient_domain": ("rcpt_to", lambda address: address.rpartition("@")[2]),
    "routing_domain": ("rcpt_to", lambda address: address.rpartition("@")[2]),
}

# What most events have in common, so that even a single one compresses well (RFC 1950 dictionary).
# Part of the stored format: changing it makes stored runs unreadable.
_DICTIONARY = (
    b'["bounce_class","10","22","25"]["device_token"]"remote_addr":"","mailfrom":"","rcpt_subs":{},'
    b'"user_agent":"Mozilla/5.0 (","user_agent_parsed":{"agent_family":"","device_brand":"",'
    b'"device_family":"","os_family":"","os_version":"","is_mobile":false,"is_proxy":false,'
    b'"is_prefetched":false},"geo_ip":{"country":"","region":"","city":"","latitude":"",'
    b'"longitude":"","zip":"","postal_code":""},"target_link_name":"","target_link_url":"https://'
    b'"ab_test_id":"","ab_test_version":"1","bounce_class":"10","error_code":"550","reason":"550 '
    b'5.1.1 ","raw_reason":"550 5.1.1 ","scheduled_time":"17","template_version":"1",'
    b'"template_id":"","campaign_id":"","subaccount_id":"","transactional":"1","rcpt_type":"cc",'
    b'"type":"delay","type":"bounce","type":"open","type":"initial_open","type":"click",'
    b'[2,["rcpt_hash","raw_rcpt_to","recipient_domain","routing_domain"],{"customer_id":"1",'
    b'"transmission_id":"20","recv_method":"esmtp","recv_method":"rest","ip_pool":"default",'
    b'"open_tracking":true,"click_tracking":true,"initial_pixel":true,"amp_enabled":false,'
    b'"open_tracking":false,"click_tracking":false,"initial_pixel":false,"rcpt_meta":{},'
    b'"rcpt_tags":[],"message_id":"02","rcpt_to":"@gmail.com","rcpt_to":"@example.com",'
    b'"subject":"","friendly_from":"news@","msg_from":"b.02","msg_size":"","sending_domain":"",'
    b'"injection_time":"2026-01-01T00:00:00.000Z","mailbox_provider":"Gmail",'
    b'"mailbox_provider_region":"Global","sending_ip":"","delv_method":"esmtp","num_retries":"0",'
    b'"ip_address":"127.0.0.1","queue_time":"","outbound_tls":"","outbound_tls":"1",'
    b'"type":"delivery","type":"injection","timestamp":17,"event_id":"\n["timestamp",17'
    b'\n["event_id","\n["rcpt_to","\n["message_id","\n["msg_from","b.02\n["type","injection",'
    b'"delivery"]'
)


class Written(NamedTuple):
    """A run to be stored: the time of its newest event, how many there are, and the bytes."""

    newest_ms: int
    size: int
    data: bytes


def position(event: Mapping[str, Any]) -> str:
    """Return where an event stands among those of its account: by time, then by id."""
    return f"{position_at(event['timestamp'])}#{event['event_id']}"


def position_at(moment_ms: int) -> str:
    """Return where events of this moment begin, for any moment that a caller may name."""
    return f"{min(max(moment_ms, 0), _LATEST_MS):0{_POSITION_DIGITS}d}"


def moment_of(position: str) -> int:
    """Return the milliseconds of a position."""
    return int(position[:_POSITION_DIGITS])


def cut(events: Sequence[Event]) -> Iterator[list[Event]]:
    """Cut events, sorted by position, into those that make one run each."""
    start = 0
    for end in range(1, len(events) + 1):
        if (
            end == len(events)
            or end - start == MOST_EVENTS
            or events[end]["timestamp"] - events[start]["timestamp"] > SPAN_MS
        ):
            yield list(events[start:end])
            start = end


def write(events: Sequence[Event]) -> Iterator[tuple[Sequence[Event], Written]]:
    """Make a run of events, or several if they take more than ``MOST_BYTES``."""
    data = encode(events)
    if len(data) > MOST_BYTES and len(events) > 1:
        half = len(events) // 2
        yield from write(events[:half])
        yield from write(events[half:])
    else:
        yield events, Written(events[-1]["timestamp"], len(events), data)


def encode(events: Sequence[Event]) -> bytes:
    """Return events as one value."""
    derived = [name for name in _DERIVED if all(_is_derived(event, name) for event in events)]
    names = dict.fromkeys(n for event in events for n, value in event.items() if value is not None)
    columns = {n: [event.get(n) for event in events] for n in names if n not in derived}
    shared = {name: column[0] for name, column in columns.items() if _is_constant(column)}
    lines = [[len(events), derived, shared]]
    lines += [[name, *column] for name, column in columns.items() if name not in shared]
    packer = zlib.compressobj(level=6, zdict=_DICTIONARY)
    text = "\n".join(_to_json(line) for line in lines)
    return packer.compress(text.encode("utf-8", "surrogatepass")) + packer.flush()


class Run:
    """A stored run. Its columns are read as they are asked for."""

    __slots__ = ("_columns", "_derived", "_lines", "_shared", "count")

    def __init__(self, data: bytes) -> None:
        text = zlib.decompressobj(zdict=_DICTIONARY).decompress(data)
        head, *lines = text.decode("utf-8", "surrogatepass").split("\n")
        self.count: int
        self.count, derived, self._shared = json.loads(head)
        self._derived = frozenset(derived)
        self._lines = {line[2 : line.index('"', 2)]: line for line in lines}
        self._columns: dict[str, list[Any]] = {}

    def positions(self) -> list[str]:
        """Return the events' positions, in their order."""
        moments, names = self.column("timestamp"), self.column("event_id")
        return [f"{position_at(at)}#{name}" for at, name in zip(moments, names, strict=True)]

    def column(self, name: str) -> list[Any]:
        """Return the value that each event has in a field, ``None`` where it has none."""
        if name not in self._columns:
            self._columns[name] = self._read(name)
        return self._columns[name]

    def rows(self, conditions: Conditions) -> Sequence[int]:
        """Return which events pass all conditions."""
        found: Sequence[int] = range(self.count)
        for name, holds in conditions.items():
            if self._is_shared(name):
                if not holds(self._shared.get(name)):
                    return ()
                continue
            column = self.column(name)
            found = [row for row in found if holds(column[row])]
            if not found:
                break
        return found

    def event(self, row: int) -> Event:
        """Return an event with all its fields."""
        own = {name: self.column(name)[row] for name in (*self._lines, *self._derived)}
        return self._shared | {name: value for name, value in own.items() if value is not None}

    def _is_shared(self, name: str) -> bool:
        return name not in self._lines and name not in self._derived

    def _read(self, name: str) -> list[Any]:
        if name in self._derived:
            source, derive = _DERIVED[name]
            return [derive(value) for value in self.column(source)]
        if name in self._lines:
            return json.loads(self._lines[name])[1:]
        return [self._shared.get(name)] * self.count


def _is_derived(event: Event, name: str) -> bool:
    source, derive = _DERIVED[name]
    value = event.get(source)
    return isinstance(value, str) and event.get(name) == derive(value)


def _is_constant(column: list[Any]) -> bool:
    first = column[0]
    if not all(value == first for value in column):
        return False
    # Python takes 1, 1.0 and true for equal
    return isinstance(first, str) or len({_to_json(value) for value in column}) == 1


def _to_json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
