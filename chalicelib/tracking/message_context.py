"""What is known of each message, kept for the events that come after delivery.

A click, a complaint or a late bounce names its message and little else, and its event tells of the
campaign, the subject, the metadata. Generation keeps these fields, one compressed item for a unit
of about a hundred messages, for ``MESSAGES_RETENTION``, written together with the unit's record.

Access patterns (table ``messages``):

- the facts of messages whose unit is known → ``pk = transmission#<id>``,
  ``sk = facts#<index of the unit's first recipient, 8 digits>``; many in one request
- the facts of a message by its id alone → the last of these ``sk`` up to its index; also to take
  out of them what a recipient wants to have forgotten
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from chalicelib.core import blobs, clock, dynamo, ids
from chalicelib.core.dynamo import ConditionFailed, Item, Key, Table, Write
from chalicelib.core.errors import Unavailable
from chalicelib.core.reading import Read
from chalicelib.core.settings import settings
from chalicelib.events.model import Event

#: A message id, and the index of the first recipient of its unit
Place = tuple[str, int]

_messages = Table("messages")
_ATTEMPTS = 20
#: What is forgotten of a message; its address is needed to unsubscribe by it
_FORGOTTEN: Mapping[str, Any] = {"rcpt_meta": {}, "rcpt_tags": [], "subject": ""}
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
        **_placed(transmission_id, first_index, data),
    }
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
    item = _item_with(transmission_id, index)
    return _facts(item, transmission_id, [index]).get(message_id) if item else None


def forget(account_id: int, address: str, message_ids: Iterable[str]) -> None:
    """Forget metadata, tags and subject of those of the messages that are the recipient's.

    ``address`` is in lower case. Ids that were made elsewhere are passed over.
    """
    for message_id in message_ids:
        try:
            transmission_id, index = ids.transmission_of(message_id)
        except ValueError:
            continue
        for _ in range(_ATTEMPTS):
            item = _item_with(transmission_id, index)
            if item is None or _rewritten(item, index, str(account_id), address):
                break
        else:
            raise Unavailable


def _item_with(transmission_id: str, index: int) -> Item | None:
    """Return the item in which a message's facts would be."""
    last = _key(transmission_id, index)
    page = _messages.query(
        "#pk = :pk AND #sk BETWEEN :first AND :last",
        {"pk": last["pk"], "first": _key(transmission_id, 0)["sk"], "last": last["sk"]},
        newest_first=True,
        limit=1,
        consistent=True,
    )
    return page.items[0] if page.items else None


def _rewritten(item: Item, index: int, customer_id: str, address: str) -> bool:
    """Write an item without what is to be forgotten; ``False`` if somebody else has changed it."""
    transmission_id, first_index = _unit_of(item)
    messages = _messages_of(item)
    fields = dict(messages).get(index, {})
    owner = fields.get("customer_id"), fields.get("rcpt_to")
    if owner != (customer_id, address) or fields.items() >= _FORGOTTEN.items():
        return True
    fields.update(_FORGOTTEN)
    place = "blob" if "blob" in item else "data"
    rest = {name: value for name, value in item.items() if name != place}
    new = rest | _placed(transmission_id, first_index, _packed(messages))
    try:
        _messages.put(new, condition=f"#{place} = :seen", values={"seen": item[place]})
    except ConditionFailed:
        return False
    if place == "blob":
        blobs.delete(item["blob"])
    return True


def _placed(transmission_id: str, first_index: int, data: bytes) -> Item:
    """Return the attribute that holds a unit's facts, after storing what does not fit into one."""
    if len(data) <= settings().item_inline_bytes:
        return {"data": data}
    # Named by its content too: a unit that is begun already keeps what it has
    digest = blake2b(data, digest_size=8).hexdigest()
    blob = f"transmissions/{transmission_id}/facts/{first_index}-{digest}"
    blobs.put(blob, data)
    return {"blob": blob}


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
    table = _table_in(item)
    rows = {index: row for row, index in enumerate(table["indexes"])}
    return {
        fields["message_id"]: fields
        for index in indexes
        if index in rows
        for fields in [_fields(table, rows[index], transmission_id, index)]
    }


def _table_in(item: Item) -> dict[str, Any]:
    data = blobs.get(item["blob"]) if "blob" in item else item["data"]
    table: dict[str, Any] = json.loads(zlib.decompress(data).decode("utf-8", "surrogatepass"))
    return table


def _messages_of(item: Item) -> list[tuple[int, Event]]:
    """Return what an item was made of: each message's index and fields."""
    table = _table_in(item)
    return [(index, _own(table, row)) for row, index in enumerate(table["indexes"])]


def _own(table: dict[str, Any], row: int) -> Event:
    own = {name: column[row] for name, column in table["columns"].items()}
    return table["shared"] | {name: value for name, value in own.items() if value is not None}


def _fields(table: dict[str, Any], row: int, transmission_id: str, index: int) -> Event:
    own = _own(table, row)
    return {
        **own,
        "transmission_id": transmission_id,
        "message_id": ids.message_id(transmission_id, index),
        "rcpt_hash": ids.recipient_hash(own["rcpt_to"]),
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
