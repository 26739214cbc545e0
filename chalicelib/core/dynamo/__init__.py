"""The toolkit that every store is built from: tables, transactions and optimistic updates.

``items`` says how stores declare their items, ``codec`` converts them, ``table`` reads and writes
them, ``batches`` moves many at a time, ``transactions`` writes several items or none, and
``conflicts`` repeats an update that another writer overtook. Stores import this package; nothing
else uses its modules.
"""

from chalicelib.core.dynamo.batches import READ_BATCH
from chalicelib.core.dynamo.codec import attributes_of, decode_item, encode_item
from chalicelib.core.dynamo.conflicts import (
    ConditionFailed,
    TransactionFailed,
    WriteConflict,
    draw_revision,
    if_unchanged,
    retry_conflicts,
    update_record,
)
from chalicelib.core.dynamo.items import AnyItem, Attributes, Item, ItemT, Key, Keyed
from chalicelib.core.dynamo.table import ItemPage, Table, TableItem, TableKeys, batch_get, write_all
from chalicelib.core.dynamo.transactions import (
    Write,
    delete,
    put,
    transact,
    try_transact,
    update,
    write,
)

__all__ = [
    "READ_BATCH",
    "AnyItem",
    "Attributes",
    "ConditionFailed",
    "Item",
    "ItemPage",
    "ItemT",
    "Key",
    "Keyed",
    "Table",
    "TableItem",
    "TableKeys",
    "TransactionFailed",
    "Write",
    "WriteConflict",
    "attributes_of",
    "batch_get",
    "decode_item",
    "delete",
    "draw_revision",
    "encode_item",
    "if_unchanged",
    "put",
    "retry_conflicts",
    "transact",
    "try_transact",
    "update",
    "update_record",
    "write",
    "write_all",
]
