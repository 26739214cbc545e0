"""Encode events that happened within a few seconds as one compressed block, and read blocks.

Most fields are equal in all events of a bulk send, and most others are alike: a hundred events take
6 KB in one block and 70 KB apart, and the block is one item to write and to read. A block is
searched by columns: only the fields that a filter names are decoded, and an event is put together
only when it is shown.

A block is compressed text: a large one with Zstandard, which is quicker and has a larger window, a
small one with zlib, whose frame is smaller; both with the same dictionary. Each line is JSON: first
``[count, derived fields, {field: value that all events have}]``, then ``[field, value of each
event, ...]``, with ``null`` where an event has no such field. A field that follows from another one
in every event of the block is left out and named among the derived fields.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

from chalicelib.core import compression, ids
from chalicelib.core.compact_json import dumps
from chalicelib.core.message_event import Event
from chalicelib.events.positions import position_at

#: Most time between the first and the last event of a block
SPAN_MS: Final = 5_000
#: Most events in a block
MOST_EVENTS: Final = 100
#: Most compressed bytes of a block of more than one event (an item holds 400 KB)
MOST_BYTES: Final = 64_000

#: Bytes that a small block and the dictionary fit in; zlib keeps some of them for itself
_SMALL_WINDOW: Final = 4096
_LOOKAHEAD: Final = 262

#: Tests by field: whether a value passes, ``None`` where an event has no such field
Conditions = Mapping[str, Callable[[Any], bool]]

_DERIVED: Final[dict[str, tuple[str, Callable[[str], str]]]] = {
    "rcpt_hash": ("rcpt_to", ids.recipient_hash),
    "raw_rcpt_to": ("rcpt_to", str),
    "recipient_domain": ("rcpt_to", lambda address: address.rpartition("@")[2]),
    "routing_domain": ("rcpt_to", lambda address: address.rpartition("@")[2]),
}

# What most events have in common, so that even a single one compresses well.
# Part of the stored format: changing it makes stored blocks unreadable.
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


class EncodedBlock(NamedTuple):
    """A block to store: the time of its newest event, the number of events, and the bytes."""

    newest_ms: int
    size: int
    data: bytes


def cut(events: Sequence[Event]) -> Iterator[list[Event]]:
    """Cut events, which must be sorted by position, into the groups that make a block each."""
    start = 0
    for end in range(1, len(events) + 1):
        if (
            end == len(events)
            or end - start == MOST_EVENTS
            or events[end]["timestamp"] - events[start]["timestamp"] > SPAN_MS
        ):
            yield list(events[start:end])
            start = end


def encode_parts(events: Sequence[Event]) -> Iterator[tuple[Sequence[Event], EncodedBlock]]:
    """Encode events as one block, or as several if one would take more than ``MOST_BYTES``."""
    data = encode(events)
    if len(data) > MOST_BYTES and len(events) > 1:
        half = len(events) // 2
        yield from encode_parts(events[:half])
        yield from encode_parts(events[half:])
    else:
        yield events, EncodedBlock(events[-1]["timestamp"], len(events), data)


def encode(events: Sequence[Event]) -> bytes:
    """Return the bytes of a block."""
    derived = [name for name in _DERIVED if _is_derived(events, name)]
    constants: dict[str, Any] = {}
    columns: list[list[Any]] = []
    for name in dict.fromkeys(chain.from_iterable(events)):
        if name in derived:
            continue
        column = [event.get(name) for event in events]
        if not _is_constant(column):
            columns.append([name, *column])
        elif column[0] is not None:
            constants[name] = column[0]
    return _compress(b"\n".join(map(dumps, [[len(events), derived, constants], *columns])))


def _compress(text: bytes) -> bytes:
    # The memory of the usual window takes longer to get than a block of two events to compress
    if len(text) > _SMALL_WINDOW - _LOOKAHEAD - len(_DICTIONARY):
        return compression.compress(text, _DICTIONARY)
    wbits = _SMALL_WINDOW.bit_length() - 1
    compressor = zlib.compressobj(6, zlib.DEFLATED, wbits, memLevel=6, zdict=_DICTIONARY)
    return compressor.compress(text) + compressor.flush()


class EventBlock:
    """A block that is read. Its columns are decoded when they are needed."""

    __slots__ = ("_columns", "_constants", "_derived", "_lines", "count")

    def __init__(self, data: bytes) -> None:
        text = compression.decompress(data, _DICTIONARY)
        head, *lines = text.decode("utf-8", "surrogatepass").split("\n")
        self.count: int
        self.count, derived, self._constants = json.loads(head)
        self._derived = frozenset(derived)
        self._lines = {line[2 : line.index('"', 2)]: line for line in lines}
        self._columns: dict[str, list[Any]] = {}

    def positions(self) -> list[str]:
        """Return the positions of the events, in their order."""
        moments, names = self.column("timestamp"), self.column("event_id")
        return [f"{position_at(at)}#{name}" for at, name in zip(moments, names, strict=True)]

    def column(self, name: str) -> list[Any]:
        """Return each event's value in a field, ``None`` where it has none."""
        if name not in self._columns:
            self._columns[name] = self._decode(name)
        return self._columns[name]

    def rows(self, conditions: Conditions) -> Sequence[int]:
        """Return the rows of the events that pass all conditions."""
        rows: Sequence[int] = range(self.count)
        for name, holds in conditions.items():
            if self._is_constant(name):
                if not holds(self._constants.get(name)):
                    return ()
                continue
            column = self.column(name)
            rows = [row for row in rows if holds(column[row])]
            if not rows:
                break
        return rows

    def event(self, row: int) -> Event:
        """Return an event with all its fields."""
        values = {name: self.column(name)[row] for name in (*self._lines, *self._derived)}
        return self._constants | {n: value for n, value in values.items() if value is not None}

    def _is_constant(self, name: str) -> bool:
        return name not in self._lines and name not in self._derived

    def _decode(self, name: str) -> list[Any]:
        if name in self._derived:
            source, derive = _DERIVED[name]
            return [derive(value) for value in self.column(source)]
        if name in self._lines:
            return json.loads(self._lines[name])[1:]
        return [self._constants.get(name)] * self.count


def _is_derived(events: Sequence[Event], name: str) -> bool:
    source, derive = _DERIVED[name]
    last_value, last_derived = None, None
    for event in events:
        value = event.get(source)
        if value is None or value != last_value:
            if not isinstance(value, str):
                return False
            last_value, last_derived = value, derive(value)
        if event.get(name) != last_derived:
            return False
    return True


def _is_constant(column: list[Any]) -> bool:
    """Tell whether all values are the same in JSON, where 1, 1.0 and true are not."""
    first = column[0]
    kind = type(first)
    if column.count(first) < len(column):
        return False
    if kind is str:
        return True
    if len(set(map(type, column))) > 1:
        return False
    if kind in _SAME_IN_JSON or first in ([], {}):
        return True
    # 0.0 and -0.0 are equal, and so are mappings with their names in another order
    return len(set(map(dumps, column))) == 1


#: Types whose equal values are the same in JSON
_SAME_IN_JSON = frozenset({int, bool, type(None)})
