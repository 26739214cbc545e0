"""What is known of each message, kept for the events that come after delivery.

A click, a complaint or a late bounce names its message and little else, and its event tells of the
campaign, the subject, the metadata. Generation keeps these fields, one compressed item for a unit
of about a hundred messages, for ``MESSAGES_RETENTION``, written together with the unit's record.

Access patterns (table ``messages``):

- the facts of messages whose unit is known → ``pk = transmission#<id>``,
  ``sk = facts#<index of the unit's first recipient, 8 digits>``; many in one request
- the facts of a message by its id alone → the last of these ``sk`` up to its index
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from chalicelib.core import blobs, clock, dynamo, ids
from chalicelib.core.dynamo import Item, Key, Table, Write
from chalicelib.core.reading import Read
from chalicelib.core.settings import settings
from chalicelib.events.model import Event

#: A message id, and the index of the first recipient of its unit
Place = tuple[str, int]

_messages = Table("messages")
_DERIVED = ("message_id", "transmission_id", "rcpt_hash")


def writes(
    transmission_id: str,
    first_index: int,
    shared: Mapping[str, Any],
    messages: Sequence[tuple[int, Mapping[str, Any]]],
) -> list[Write]:
    """Return what keeps the event fields of a unit's messages, for the transaction that begins it.

    ``shared`` are those of all of them; ``messages`` holds for each its recipient's index and its
    own fields. Of a unit with much metadata they are put into the bucket here and now. A unit
    without messages has nothing to keep.
    """
    if not messages:
        return []
    data = _packed([(index, {**shared, **own}) for index, own in messages])
    item: Item = {
        **_key(transmission_id, first_index),
        "expires": int(clock.now()) + settings().messages_retention,
    }
    if len(data) > settings().item_inline_bytes:
        # Named by its content too: a unit that is begun already keeps what it has
        digest = blake2b(data, digest_size=8).hexdigest()
        item["blob"] = f"transmissions/{transmission_id}/facts/{first_index}-{digest}"
        blobs.put(item["blob"], data)
    else:
        item["data"] = data
    return [dynamo.put(_messages, item)]


def keys_of(places: Iterable[Place]) -> list[Key]:
    """Return where the facts of messages are kept, a key for each unit."""
    return list(dict.fromkeys(_item_key(_unit(place)) for place in places))


def read_now(keys: Iterable[Key]) -> dict[Key, Item]:
    """Read items of the table as they are now, a hundred in one request."""
    return {(i["pk"], i["sk"]): i for i in _messages.get_all(keys, consistent=True)}


def of_messages(places: Iterable[Place], read: Read = read_now) -> dict[str, Event]:
    """Return the event fields of those messages that are known, by their ids.

    A hundred units are one request, if ``read`` has not read them yet.
    """
    wanted: dict[tuple[str, int], list[int]] = {}
    for place in places:
        wanted.setdefault(_unit(place), []).append(ids.transmission_of(place[0])[1])
    known: dict[str, Event] = {}
    for item in read([_item_key(unit) for unit in wanted]).values():
        unit = _unit_of(item)
        known |= _facts(item, unit[0], wanted[unit])
    return known


def of_message(message_id: str) -> Event | None:
    """Return the event fields of one message by its id, ``None`` if it is not known."""
    transmission_id, index = ids.transmission_of(message_id)
    last = _key(transmission_id, index)
    page = _messages.query(
        "#pk = :pk AND #sk BETWEEN :first AND :last",
        {"pk": last["pk"], "first": _key(transmission_id, 0)["sk"], "last": last["sk"]},
        newest_first=True,
        limit=1,
        consistent=True,
    )
    facts = [_facts(item, transmission_id, [index]) for item in page.items]
    return facts[0].get(message_id) if facts else None


def _packed(messages: list[tuple[int, Event]]) -> bytes:
    text = json.dumps(_to_table(messages), separators=(",", ":"), ensure_ascii=False)
    return zlib.compress(text.encode("utf-8", "surrogatepass"), 6)


def _to_table(messages: list[tuple[int, Event]]) -> dict[str, Any]:
    """Return fields as columns, those that are equal in all messages once."""
    names = dict.fromkeys(name for _, fields in messages for name in fields)
    columns = {
        name: [fields.get(name) for _, fields in messages] for name in names if name not in _DERIVED
    }
    shared = {name: column[0] for name, column in columns.items() if _is_constant(column)}
    return {
        "indexes": [index for index, _ in messages],
        "shared": shared,
        "columns": {name: column for name, column in columns.items() if name not in shared},
    }


def _is_constant(column: list[Any]) -> bool:
    return column.count(column[0]) == len(column)


def _facts(item: Item, transmission_id: str, indexes: Iterable[int]) -> dict[str, Event]:
    """Return the fields of these messages of a unit, by message id."""
    data = blobs.get(item["blob"]) if "blob" in item else item["data"]
    table = json.loads(zlib.decompress(data).decode("utf-8", "surrogatepass"))
    rows = {index: row for row, index in enumerate(table["indexes"])}
    return {
        fields["message_id"]: fields
        for index in indexes
        if index in rows
        for fields in [_fields(table, rows[index], transmission_id, index)]
    }


def _fields(table: dict[str, Any], row: int, transmission_id: str, index: int) -> Event:
    own = {name: column[row] for name, column in table["columns"].items()}
    return {
        **table["shared"],
        **{name: value for name, value in own.items() if value is not None},
        "transmission_id": transmission_id,
        "message_id": ids.message_id(transmission_id, index),
        "rcpt_hash": ids.recipient_hash(own.get("rcpt_to") or table["shared"]["rcpt_to"]),
    }


def _key(transmission_id: str, first_index: int) -> dict[str, str]:
    return {"pk": f"transmission#{transmission_id}", "sk": f"facts#{first_index:08d}"}


def _item_key(unit: tuple[str, int]) -> Key:
    key = _key(*unit)
    return key["pk"], key["sk"]


def _unit(place: Place) -> tuple[str, int]:
    return ids.transmission_of(place[0])[0], place[1]


def _unit_of(item: Item) -> tuple[str, int]:
    return item["pk"].removeprefix("transmission#"), int(item["sk"].removeprefix("facts#"))
