"""Keep the message context: the event fields of each message, for events that come after delivery.

A click, a complaint or a late bounce names its message and little else, but its event also tells
the campaign, the subject and the metadata. An unsubscription also needs ``list_id``, the mailing
list of the message if it has one. Generation stores these fields for ``MESSAGES_RETENTION``, in one
compressed item for each work unit of about a hundred messages, in the transaction that writes the
unit's record. The unit of a transmission's only message has its record in the same item
(``delivery.store.work_units``).

Access patterns of ``messages``:

- the contexts of a work unit's messages → ``transmission#<id>#<block>`` / ``facts#<first index>``
  (many units in one request; the index has eight digits; ``core.message_keys``)
- the context of one message by its id → ``transmission#<id>#<block>`` / ``facts#0 ..
  facts#<index>`` (the last one, or that of a block before; also to erase a recipient's data, and to
  find the messages that SES tells of)
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from itertools import islice
from typing import Any, Literal, NamedTuple, NotRequired, cast

from chalicelib.core import blobs, clock, dynamo, ids, message_keys
from chalicelib.core.dynamo import Attributes, Key, Keyed, Table
from chalicelib.core.message_event import EventFields
from chalicelib.core.reading import Read
from chalicelib.core.settings import settings

#: A message id, and the index of the first recipient of its work unit
MessageRef = tuple[str, int]


class ContextTable(Attributes):
    """The fields of a work unit's messages, as columns of one table."""

    #: The recipient index of each message
    indexes: list[int]
    #: The fields that have the same value in all messages
    shared: dict[str, Any]
    #: The values of each other field in all messages; ``None`` where a message lacks it
    columns: dict[str, list[Any]]


class ContextItem(Keyed):
    """The context of a work unit's messages, in one of ``data`` and ``blob``."""

    #: A ``ContextTable`` as compressed JSON
    data: NotRequired[bytes]
    #: The object of the bucket that holds the data if they are large
    blob: NotRequired[str]
    #: The name of the work unit; version 0.1.0 did not write it
    unit: NotRequired[str]
    expires: int


_messages: Table[ContextItem] = Table("messages")
#: The attribute that holds a context
_Data = Literal["data", "blob"]
#: What an erasure replaces in a message's fields; the address stays, unsubscribing needs it
_ERASED: EventFields = {"rcpt_meta": {}, "rcpt_tags": [], "subject": ""}
_DERIVED = ("message_id", "transmission_id", "rcpt_hash")


class Context(NamedTuple):
    """The context of one message: its event fields, and the work unit that it was generated in.

    ``unit`` is the unit's name, empty if version 0.1.0 stored the context (goes with 0.3.0).
    """

    fields: EventFields
    first_index: int
    unit: str


def item_of(
    transmission_id: str,
    first_index: int,
    shared: EventFields,
    messages: Sequence[tuple[int, EventFields]],
    unit: str = "",
) -> ContextItem | None:
    """Return the item that holds the context of the messages of a work unit, by its name ``unit``.

    It belongs into the request that begins the unit. ``shared`` holds the event fields that all
    messages share; ``messages`` holds each recipient's index with its own fields. A context that is
    too large for an item is put into the bucket at once. A unit without messages needs no item.
    """
    if not messages:
        return None
    data = _encode([(index, {**shared, **own}) for index, own in messages])
    key = key_of(transmission_id, first_index)
    expires = int(clock.now()) + settings().messages_retention
    item: ContextItem = {"pk": key["pk"], "sk": key["sk"], "expires": expires}
    if unit:
        item["unit"] = unit
    name, value = _data_attribute(transmission_id, first_index, data)
    item[name] = value
    return item


def keys_of(refs: Iterable[MessageRef]) -> list[Key]:
    """Return the keys of the messages' contexts, one for each work unit."""
    return list(dict.fromkeys(_item_key(_unit(ref)) for ref in refs))


def read_now(keys: Iterable[Key]) -> dict[Key, ContextItem]:
    """Read items of the table consistently, a hundred in one request."""
    return {(i["pk"], i["sk"]): i for i in _messages.get_all(keys, consistent=True)}


def of_messages(refs: Iterable[MessageRef], read: Read = read_now) -> dict[str, Context]:
    """Return the contexts of these messages, by message id.

    ``read`` reads a hundred work units in one request, unless it has read them already. Messages
    without a stored context are left out.
    """
    indexes: dict[tuple[str, int], list[int]] = {}
    for ref in refs:
        indexes.setdefault(_unit(ref), []).append(ids.transmission_of(ref[0])[1])
    contexts: dict[str, Context] = {}
    items: Mapping[Key, ContextItem] = read([_item_key(unit) for unit in indexes])
    for item in items.values():
        contexts |= _contexts(item, indexes[_unit_of(item)])
    return contexts


def of_message(message_id: str) -> Context | None:
    """Return the context of one message; ``None`` if there is none."""
    transmission_id, index = ids.transmission_of(message_id)
    item = _item_of(transmission_id, index)
    return _contexts(item, [index]).get(message_id) if item else None


def of_each(message_ids: Iterable[str]) -> dict[str, Context]:
    """Return the contexts of these messages, by message id, with one request for each work unit.

    It need not be known to which units they belong. Messages without a stored context are left out.
    """
    contexts: dict[str, Context] = {}
    indexes: dict[str, set[int]] = {}
    for message_id in message_ids:
        transmission_id, index = ids.transmission_of(message_id)
        indexes.setdefault(transmission_id, set()).add(index)
    for transmission_id, pending in indexes.items():
        while pending:
            item = _item_of(transmission_id, max(pending))
            of_unit = _contexts(item, pending) if item else {}
            contexts |= of_unit
            pending -= {max(pending), *(ids.transmission_of(each)[1] for each in of_unit)}
    return contexts


def forget(account_id: int, address: str, message_ids: Iterable[str]) -> None:
    """Erase metadata, tags and subject of those messages that were sent to the recipient.

    ``address`` is in the spelling in which events have it. Ids of messages that another system sent
    are skipped.
    """
    for message_id in message_ids:
        try:
            transmission_id, index = ids.transmission_of(message_id)
        except ValueError:
            continue
        dynamo.retry_conflicts(partial(_erase, transmission_id, index, str(account_id), address))


def _item_of(transmission_id: str, index: int) -> ContextItem | None:
    """Return the item of the work unit that a message would belong to."""
    last = key_of(transmission_id, index)
    # A unit may have begun in a block before
    starts = range(index, -message_keys.BLOCK, -message_keys.BLOCK)
    partitions = dict.fromkeys(key_of(transmission_id, max(0, start))["pk"] for start in starts)
    for partition in islice(partitions, _most_blocks()):
        page = _messages.query(
            "#pk = :pk AND #sk BETWEEN :first AND :last",
            {"pk": partition, "first": key_of(transmission_id, 0)["sk"], "last": last["sk"]},
            newest_first=True,
            limit=1,
            consistent=True,
        )
        if page.items:
            return page.items[0]
    return None


def _most_blocks() -> int:
    """Return over how many blocks a unit's messages may extend."""
    return -(-settings().chunk_recipients // message_keys.BLOCK) + 1


def _erase(transmission_id: str, index: int, customer_id: str, address: str) -> None:
    """Erase the recipient's data in a message's context; raises ``ConditionFailed``."""
    item = _item_of(transmission_id, index)
    if item is None or not _has_context(item):
        return
    _, first_index = _unit_of(item)
    messages = _messages_of(item)
    fields = dict(messages).get(index, {})
    owner = fields.get("customer_id"), fields.get("rcpt_to")
    if owner != (customer_id, address) or fields.items() >= _ERASED.items():
        return
    fields.update(_ERASED)
    attribute: _Data = "blob" if "blob" in item else "data"
    name, value = _data_attribute(transmission_id, first_index, _encode(messages))
    removal = "" if name == attribute else f" REMOVE #{attribute}"
    unchanged = dynamo.if_unchanged(attribute, item[attribute])
    values = unchanged["values"] | {"new": value}
    # The record of a unit may be in the same item, and change meanwhile
    _messages.update(
        item["pk"],
        item["sk"],
        f"SET #{name} = :new{removal}",
        values=values,
        condition=unchanged["condition"],
    )
    if attribute == "blob":
        blobs.delete(item["blob"])


def _data_attribute(transmission_id: str, first_index: int, data: bytes) -> tuple[_Data, Any]:
    """Return the attribute for a unit's context and its value, after storing large data."""
    if len(data) <= settings().item_inline_bytes:
        return "data", data
    # The name contains a digest: repeated work must not replace the object of a unit that has begun
    digest = blake2b(data, digest_size=8).hexdigest()
    blob = f"transmissions/{transmission_id}/facts/{first_index}-{digest}"
    blobs.put(blob, data)
    return "blob", blob


def _encode(messages: list[tuple[int, EventFields]]) -> bytes:
    text = json.dumps(_to_table(messages), separators=(",", ":"), ensure_ascii=False)
    return zlib.compress(text.encode("utf-8", "surrogatepass"), 6)


def _to_table(messages: list[tuple[int, EventFields]]) -> ContextTable:
    """Return the fields as columns; a value that all messages share is stored once."""
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


def _contexts(item: ContextItem, indexes: Iterable[int]) -> dict[str, Context]:
    """Return the contexts of these messages of a work unit, by message id."""
    if not _has_context(item):
        return {}
    transmission_id, first_index = _unit_of(item)
    table = _decode(item)
    rows = {index: row for row, index in enumerate(table["indexes"])}
    return {
        fields["message_id"]: Context(fields, first_index, item.get("unit", ""))
        for index in indexes
        if index in rows
        for fields in [_fields(table, rows[index], transmission_id, index)]
    }


def _has_context(item: ContextItem) -> bool:
    """Tell whether an item holds a context: it may be the record of a unit without messages."""
    return "data" in item or "blob" in item


def _decode(item: ContextItem) -> ContextTable:
    data = blobs.get(item["blob"]) if "blob" in item else item["data"]
    table: ContextTable = json.loads(zlib.decompress(data).decode("utf-8", "surrogatepass"))
    return table


def _messages_of(item: ContextItem) -> list[tuple[int, EventFields]]:
    """Return each message's index and fields."""
    table = _decode(item)
    return [(index, _own(table, row)) for row, index in enumerate(table["indexes"])]


def _own(table: ContextTable, row: int) -> EventFields:
    own = {name: column[row] for name, column in table["columns"].items()}
    fields = table["shared"] | {name: value for name, value in own.items() if value is not None}
    return cast(EventFields, fields)


def _fields(table: ContextTable, row: int, transmission_id: str, index: int) -> EventFields:
    own = _own(table, row)
    return {
        **own,
        "transmission_id": transmission_id,
        "message_id": ids.message_id(transmission_id, index),
        "rcpt_hash": ids.recipient_hash(own["rcpt_to"]),
    }


def key_of(transmission_id: str, first_index: int) -> Keyed:
    """Return the key of the item of the work unit that begins with this index."""
    partition = message_keys.block_partition(transmission_id, first_index // message_keys.BLOCK)
    return {"pk": partition, "sk": f"facts#{first_index:08d}"}


def _item_key(unit: tuple[str, int]) -> Key:
    key = key_of(*unit)
    return key["pk"], key["sk"]


def _unit(ref: MessageRef) -> tuple[str, int]:
    return ids.transmission_of(ref[0])[0], ref[1]


def _unit_of(item: ContextItem) -> tuple[str, int]:
    return message_keys.transmission_of(item["pk"]), int(item["sk"].removeprefix("facts#"))
