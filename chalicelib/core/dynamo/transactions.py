"""Write several items in one transaction: all of them or none.

A transaction is a list of :class:`Write`, made with :func:`put`, :func:`update` and
:func:`delete`, that :func:`transact` applies.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from chalicelib.core import aws
from chalicelib.core.dynamo.batches import backoff
from chalicelib.core.dynamo.codec import encode_item, encode_key, expression_arguments
from chalicelib.core.dynamo.conflicts import TransactionFailed
from chalicelib.core.dynamo.items import ItemT
from chalicelib.core.dynamo.table import Table

# Reasons for a cancellation after which the same transaction may succeed a moment later
_TEMPORARY = {"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}


@dataclass(frozen=True, slots=True)
class Write:
    """One action of a transaction; make it with :func:`put`, :func:`update` or :func:`delete`."""

    action: str
    arguments: dict[str, Any]


def put(
    table: Table[ItemT],
    item: ItemT,
    *,
    condition: str = "",
    values: Mapping[str, Any] | None = None,
) -> Write:
    """Return the action that writes ``item``."""
    arguments: dict[str, Any] = {"TableName": table.name, "Item": encode_item(item)}
    if condition:
        arguments |= {"ConditionExpression": condition}
        arguments |= expression_arguments(values or {}, condition)
    return Write("Put", arguments)


def update(
    table: Table[Any],
    pk: str,
    sk: str,
    expression: str,
    *,
    values: Mapping[str, Any] | None = None,
    condition: str = "",
) -> Write:
    """Return the action that updates one item."""
    arguments: dict[str, Any] = {
        "TableName": table.name,
        "Key": encode_key(pk, sk),
        "UpdateExpression": expression,
    } | expression_arguments(values or {}, expression, condition)
    if condition:
        arguments["ConditionExpression"] = condition
    return Write("Update", arguments)


def delete(
    table: Table[Any],
    pk: str,
    sk: str,
    *,
    condition: str = "",
    values: Mapping[str, Any] | None = None,
) -> Write:
    """Return the action that deletes one item."""
    arguments: dict[str, Any] = {"TableName": table.name, "Key": encode_key(pk, sk)}
    if condition:
        arguments |= {"ConditionExpression": condition}
        arguments |= expression_arguments(values or {}, condition)
    return Write("Delete", arguments)


def transact(writes: Sequence[Write], *, token: str | None = None) -> None:
    """Apply up to 100 actions, all or none; raises :class:`TransactionFailed`.

    A ``token`` makes a repeat of the same actions within ten minutes succeed without effect.
    """
    arguments: dict[str, Any] = {
        "TransactItems": [{write.action: write.arguments} for write in writes]
    }
    if token:
        arguments["ClientRequestToken"] = token
    for pause in backoff():
        try:
            aws.dynamodb().transact_write_items(**arguments)
            return
        except ClientError as error:
            _check_temporary(error)
            time.sleep(pause)
    raise aws.Overloaded("a transaction met conflicts or throttling for too long")


def write(action: Write) -> None:
    """Apply one action alone, for half of what a transaction costs; raises TransactionFailed.

    The client may repeat a request whose response was lost, and unlike a transaction the repetition
    is not recognised: a condition may fail because of this very write. The caller must then find
    its own write in place.
    """
    client = aws.dynamodb()
    call: Any = {
        "Put": client.put_item,
        "Update": client.update_item,
        "Delete": client.delete_item,
    }[action.action]
    try:
        call(**action.arguments)
    except ClientError as error:
        if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
            raise
        raise TransactionFailed([0]) from None


def _check_temporary(error: ClientError) -> None:
    """Raise the error of a failed transaction, unless the transaction is worth repeating."""
    if error.response["Error"]["Code"] != "TransactionCanceledException":
        raise error
    reasons = [reason.get("Code") for reason in error.response.get("CancellationReasons", [])]
    failed = [i for i, code in enumerate(reasons) if code == "ConditionalCheckFailed"]
    if failed:
        raise TransactionFailed(failed) from None
    if not _TEMPORARY.intersection(reasons):
        raise error


def try_transact(writes: Sequence[Write]) -> bool:
    """Apply up to 100 actions, all or none; return ``False`` if a condition does not hold.

    It is for conflicts that are an answer, such as an id that is taken. One that is to be retried
    needs :func:`transact`, whose exception ``retry_conflicts`` catches.
    """
    try:
        transact(writes)
    except TransactionFailed:
        return False
    return True
