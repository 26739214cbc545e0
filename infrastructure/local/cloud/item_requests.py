"""Answer the requests to DynamoDB that nearly all work consists of, straight from the store.

Each handler takes a request and returns the JSON of its answer. What it would have to refuse, or
does not know, it leaves to MiniStack's handler of the same name (:class:`Unusual`), before anything
is written. MiniStack evaluates the conditions and the updates.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from hashlib import blake2b
from typing import Any

from ministack.services import dynamodb

from chalicelib.core.json_types import Json
from infrastructure.local.cloud import expressions, json_text, key_conditions
from infrastructure.local.cloud.item_sizes import item_size
from infrastructure.local.cloud.stored_table import Index, Span, StoredTable, shown
from infrastructure.local.cloud.table_keys import KeyValue, Unusual, value_of
from infrastructure.local.cloud.tables import Tables

#: Seconds for which a transaction is not repeated under its token (API reference)
TOKEN_SECONDS = 600
_LARGEST_BATCH, _LARGEST_READ, _LARGEST_TRANSACTION = 25, 100, 100
_LARGEST_TRANSACTION_BYTES = 4 << 20

# What a transaction takes for each kilobyte that it writes
_TRANSACTION_UNITS = 2
# The places of the size and of the item among the values of a row
_SIZE, _ITEM = 3, 4

_EXPRESSION = frozenset({"ExpressionAttributeNames", "ExpressionAttributeValues"})
_COMMON = frozenset({"TableName", "ReturnConsumedCapacity"})
_CONDITION = _EXPRESSION | {"ConditionExpression", "ReturnValuesOnConditionCheckFailure"}
_WRITE = _COMMON | _CONDITION | {"ReturnValues"}
_ACTION = _CONDITION | {"TableName"}
_QUERY = (
    _COMMON
    | _EXPRESSION
    | {"IndexName", "KeyConditionExpression", "FilterExpression", "ProjectionExpression"}
    | {"Select", "Limit", "ScanIndexForward", "ConsistentRead", "ExclusiveStartKey"}
)

_SCAN = _COMMON | {"ExpressionAttributeNames", "ProjectionExpression"}
_SCAN |= {"Limit", "ConsistentRead", "ExclusiveStartKey"}

_Keys = tuple[KeyValue, KeyValue]
# What is to be done with one item: the table, the row to put or else the keys of what to remove
_Write = tuple[StoredTable, list[Any] | None, _Keys]


class Refused(Exception):
    """A request that is refused; ``body`` is the JSON of the error."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.body = json_text.dumps({"__type": code, "message": message}).encode()


class ItemRequests:
    """The handlers, by the operation that a request names."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._store = tables.store
        self.handlers: Mapping[str, Callable[[Json], str]] = {
            "GetItem": self._get,
            "PutItem": self._put,
            "UpdateItem": self._update,
            "DeleteItem": self._delete,
            "Query": self._query,
            "Scan": self._scan,
            "BatchGetItem": self._batch_get,
            "BatchWriteItem": self._batch_write,
            "TransactWriteItems": self._transact,
        }

    def _get(self, request: Json) -> str:
        _check_known(request, _COMMON | {"Key", "ConsistentRead"})
        table = self._tables.find(request.get("TableName"))
        text = table.text(*table.keys_alone(request.get("Key")))
        answer = "{" if text is None else f'{{"Item":{text}'
        return _completed(answer, _capacity(request, table))

    def _put(self, request: Json) -> str:
        _check_known(request, _WRITE | {"Item"})
        table = self._written(request, "NONE", "ALL_OLD")
        item = request.get("Item")
        keys = table.keys_of(item)
        assert isinstance(item, dict)
        row = table.row(item, keys, item_size(item))
        old = self._old_item(request, table, keys)
        _check_condition(request, old)
        table.put_row(row)
        return _answer_of_write(request, table, old, item)

    def _delete(self, request: Json) -> str:
        _check_known(request, _WRITE | {"Key"})
        table = self._written(request, "NONE", "ALL_OLD")
        keys = table.keys_alone(request.get("Key"))
        old = self._old_item(request, table, keys)
        _check_condition(request, old)
        table.remove(*keys)
        return _answer_of_write(request, table, old, None)

    def _update(self, request: Json) -> str:
        _check_known(request, _WRITE | {"Key", "UpdateExpression"})
        table = self._written(request, "NONE", "ALL_OLD", "ALL_NEW")
        keys = table.keys_alone(request.get("Key"))
        old = table.item(*keys)
        _check_condition(request, old)
        item = _updated(request, table, old)
        table.put_row(table.row(item, keys, item_size(item)))
        return _answer_of_write(request, table, old, item)

    def _query(self, request: Json) -> str:
        _check_known(request, _QUERY)
        table = self._tables.find(request.get("TableName"))
        index = table.indexes.get(request["IndexName"]) if "IndexName" in request else table.key
        if index is None or (index.is_global and request.get("ConsistentRead")):
            raise Unusual
        _check_references(
            request, "KeyConditionExpression", "FilterExpression", "ProjectionExpression"
        )
        select, limit = request.get("Select", "ALL_ATTRIBUTES"), request.get("Limit")
        projects = "ProjectionExpression" in request
        if select not in ("ALL_ATTRIBUTES", "COUNT") or (projects and "Select" in request):
            raise Unusual
        if limit is not None and (type(limit) is not int or limit < 1):
            raise Unusual
        span = key_conditions.span(request, index)._replace(
            descending=request.get("ScanIndexForward") is False
        )
        if start := request.get("ExclusiveStartKey"):
            span = span._replace(start=_start(start, table, index, span))
        texts, goes_on = table.page(index, span, limit, shows_all=index.projected is None)
        last = _end_key(texts[-1], table, index) if goes_on else None
        scanned = len(texts)
        if index.projected is not None or projects or "FilterExpression" in request:
            texts = [json_text.dumps(item) for item in _filtered(request, index, texts)]
        answer = "{" if select == "COUNT" else f'{{"Items":[{",".join(texts)}],'
        answer += f'"Count":{len(texts)},"ScannedCount":{scanned}'
        if last is not None:
            answer += f',"LastEvaluatedKey":{json_text.dumps(last)}'
        return _completed(answer, _capacity(request, table))

    def _scan(self, request: Json) -> str:
        """Answer a scan of a whole table; MiniStack reads the table for each page."""
        _check_known(request, _SCAN)
        table = self._tables.find(request.get("TableName"))
        _check_references(request, "ProjectionExpression")
        limit, start = request.get("Limit"), request.get("ExclusiveStartKey")
        if limit is not None and (type(limit) is not int or limit < 1):
            raise Unusual
        texts, goes_on = table.scan(table.keys_alone(start) if start else None, limit)
        last = _end_key(texts[-1], table, table.key) if goes_on else None
        scanned = len(texts)
        if "ProjectionExpression" in request:
            texts = [json_text.dumps(item) for item in _filtered(request, table.key, texts)]
        answer = f'{{"Items":[{",".join(texts)}],"Count":{scanned},"ScannedCount":{scanned}'
        if last is not None:
            answer += f',"LastEvaluatedKey":{json_text.dumps(last)}'
        return _completed(answer, _capacity(request, table))

    def _batch_get(self, request: Json) -> str:
        _check_known(request, {"RequestItems", "ReturnConsumedCapacity"})
        responses = []
        for name, each in _members(request, "RequestItems").items():
            table = self._tables.find(name)
            _check_known(each, {"Keys", "ConsistentRead"})
            keys = [table.keys_alone(key) for key in each.get("Keys") or ()]
            if not 0 < len(keys) <= _LARGEST_READ or len(set(keys)) < len(keys):
                raise Unusual
            texts = [text for pair in keys if (text := table.text(*pair)) is not None]
            responses.append(f"{json_text.dumps(name)}:[{','.join(texts)}]")
        return f'{{"Responses":{{{",".join(responses)}}},"UnprocessedKeys":{{}}}}'

    def _batch_write(self, request: Json) -> str:
        _check_known(request, {"RequestItems", "ReturnConsumedCapacity"})
        writes: list[_Write] = []
        for name, requests in _members(request, "RequestItems").items():
            table = self._tables.find_plain(name)
            writes += [_batch_action(table, each) for each in requests]
        if not 0 < len(writes) <= _LARGEST_BATCH:
            raise Unusual
        capacity = _capacity_of_writes(request, writes, 1)
        self._apply(writes)
        return _completed('{"UnprocessedItems":{}', capacity)

    def _transact(self, request: Json) -> str:
        _check_known(request, {"TransactItems", "ClientRequestToken", "ReturnConsumedCapacity"})
        actions = request.get("TransactItems")
        if not isinstance(actions, list) or not 0 < len(actions) <= _LARGEST_TRANSACTION:
            raise Unusual
        token = request.get("ClientRequestToken")
        if token is not None and self.is_repetition(token, actions):
            return "{}"
        checks: set[tuple[str, _Keys]] = set()
        writes: list[_Write] = []
        for action in actions:
            table, keys, write = self._action(action)
            checks.add((table.name[2], keys))
            writes += [write] if write else []
        size = sum(row[_SIZE] for _, row, _ in writes if row is not None)
        if len(checks) < len(actions) or size > _LARGEST_TRANSACTION_BYTES:
            raise Unusual
        capacity = _capacity_of_writes(request, writes, _TRANSACTION_UNITS)
        self._apply(writes)
        if token is not None:
            self.note_transaction(token, actions)
        return _completed("{", capacity)

    def is_repetition(self, token: Any, actions: Any) -> bool:
        """Tell whether a transaction was made; raises :class:`Refused` if it was another one."""
        scope = self._tables.scope()
        row = self._store.read(
            "SELECT digest, at FROM transactions WHERE (account, region, token) = (?, ?, ?)",
            (*scope, str(token)),
        ).fetchone()
        if row is None or row[1] <= time.time() - TOKEN_SECONDS:
            return False
        if row[0] != _digest(actions):
            raise Refused(
                "com.amazonaws.dynamodb.v20120810#IdempotentParameterMismatchException",
                "Request token already in use for another request with a different payload",
            )
        return True

    def note_transaction(self, token: Any, actions: Any) -> None:
        """Note that a transaction was made."""
        self._store.write(
            "INSERT OR REPLACE INTO transactions VALUES (?, ?, ?, ?, ?)",
            (*self._tables.scope(), str(token), _digest(actions), time.time()),
        )

    def _action(self, action: Any) -> tuple[StoredTable, _Keys, _Write | None]:
        """Return table, keys and write of an action; raises :class:`Unusual` if it must fail."""
        if not isinstance(action, dict) or len(action) != 1:
            raise Unusual
        ((kind, request),) = action.items()
        if kind not in _ACTIONS:
            raise Unusual
        _check_known(request, _ACTIONS[kind])
        table = self._tables.find_plain(request.get("TableName"))
        if kind == "Put":
            item = request.get("Item")
            keys = table.keys_of(item)
            row = table.row(item, keys, item_size(item))
            if "ConditionExpression" in request:
                _check_condition(request, table.item(*keys))
            return table, keys, (table, row, keys)
        keys = table.keys_alone(request.get("Key"))
        has_condition = "ConditionExpression" in request
        old = table.item(*keys) if has_condition or kind == "Update" else None
        _check_condition(request, old)
        if kind == "Update":
            item = _updated(request, table, old)
            return table, keys, (table, table.row(item, keys, item_size(item)), keys)
        return table, keys, (table, None, keys) if kind == "Delete" else None

    def _apply(self, writes: Collection[_Write]) -> None:
        """Make all of the writes, each of another item; raises :class:`Unusual` otherwise."""
        if len({(table.name, keys) for table, _, keys in writes}) < len(writes):
            raise Unusual
        for table, row, keys in writes:
            if row is None:
                table.remove(*keys)
            else:
                table.put_row(row)

    def _written(self, request: Json, *returns: str) -> StoredTable:
        """Return the table that a request writes to; it may ask for these values in return."""
        if request.get("ReturnValues", "NONE") not in returns:
            raise Unusual
        return self._tables.find_plain(request.get("TableName"))

    def _old_item(self, request: Json, table: StoredTable, keys: _Keys) -> Json | None:
        """Return what is at a key, where that matters."""
        matters = ("ConditionExpression", "ReturnValues", "ReturnConsumedCapacity")
        return table.item(*keys) if any(name in request for name in matters) else None


_ACTIONS = {
    "Put": _ACTION | {"Item"},
    "Update": _ACTION | {"Key", "UpdateExpression"},
    "Delete": _ACTION | {"Key"},
    "ConditionCheck": _ACTION | {"Key"},
}


def _check_known(request: Any, names: Collection[str]) -> None:
    if not isinstance(request, dict) or not request.keys() <= set(names):
        raise Unusual


def _members(request: Json, name: str) -> Json:
    members = request.get(name)
    if not isinstance(members, dict) or not members:
        raise Unusual
    return members


def _check_references(request: Json, *expressions: str) -> None:
    """Check that the names and values of a request are those that its expressions refer to."""
    used = key_conditions.references(*(request.get(name) or "" for name in expressions))
    names = request.get("ExpressionAttributeNames", {})
    values = request.get("ExpressionAttributeValues", {})
    if not isinstance(names, dict) or not isinstance(values, dict):
        raise Unusual
    if used != names.keys() | values.keys():
        raise Unusual
    for name in ("ExpressionAttributeNames", "ExpressionAttributeValues", *expressions):
        if name in request and not request[name]:
            raise Unusual
    item_size(values)


def _check_condition(request: Json, item: Json | None) -> None:
    """Raise :class:`Unusual` unless the condition of a request holds."""
    _check_references(request, "ConditionExpression", "UpdateExpression")
    condition = request.get("ConditionExpression")
    if condition and not _holds(condition, request, item or {}, "ConditionExpression"):
        raise Unusual


def _holds(expression: str, request: Json, item: Json, slot: str) -> bool:
    values = request.get("ExpressionAttributeValues", {})
    names = request.get("ExpressionAttributeNames", {})
    try:
        return expressions.holds(expression, item, values, names, slot)
    except (ValueError, TypeError, KeyError, IndexError):
        raise Unusual from None


def _updated(request: Json, table: StoredTable, old: Json | None) -> Json:
    """Return the item as the update expression makes it; raises :class:`Unusual`."""
    expression = request.get("UpdateExpression")
    key = request["Key"]
    if expression is None:
        return old or key
    words = expression.split(None, 1)
    if not words or words[0].upper() not in ("SET", "ADD", "REMOVE", "DELETE"):
        raise Unusual
    values = request.get("ExpressionAttributeValues", {})
    names = request.get("ExpressionAttributeNames", {})
    try:
        item, paths = dynamodb._apply_update_expression(old or key, expression, values, names)
    except ValueError:
        raise Unusual from None
    if {path[0] if isinstance(path, tuple) else path for path in paths} & key.keys():
        raise Unusual
    updated: Json = item
    return updated


def _answer_of_write(request: Json, table: StoredTable, old: Json | None, new: Json | None) -> str:
    returns = request.get("ReturnValues", "NONE")
    attributes = {"ALL_OLD": old, "ALL_NEW": new}.get(returns)
    answer = "{" if attributes is None else f'{{"Attributes":{json_text.dumps(attributes)}'
    return _completed(answer, _capacity(request, table, write=True, old_item=old, new_item=new))


def _completed(answer: str, capacity: str) -> str:
    """Return an object of JSON, which lacks its end, with the capacity that a request took."""
    separator = "," if capacity and len(answer) > 1 else ""
    return f"{answer}{separator}{capacity}}}"


def _capacity(request: Json, table: StoredTable, **options: Any) -> str:
    if request.get("ReturnConsumedCapacity", "NONE") == "NONE":
        return ""
    if request["ReturnConsumedCapacity"] != "TOTAL":
        raise Unusual
    result: Json = {}
    dynamodb._add_consumed_capacity(
        result, request, table.name[2], index_name=request.get("IndexName"), **options
    )
    return f'"ConsumedCapacity":{json_text.dumps(result["ConsumedCapacity"])}'


def _capacity_of_writes(request: Json, writes: Collection[_Write], units: int) -> str:
    """Return the capacity of writes that are to be made, each kilobyte of a table at ``units``."""
    if request.get("ReturnConsumedCapacity", "NONE") == "NONE":
        return ""
    reports = []
    for table in {table.name: table for table, _, _ in writes}.values():
        costs: Json = {"table": 0.0, "gsi": {}, "lsi": {}}
        for other, row, keys in writes:
            if other is table:
                item = None if row is None else json_text.loads(row[_ITEM])
                dynamodb._accumulate_write_capacity(costs, table.table, table.item(*keys), item)
        total = units * costs["table"] + sum(costs["gsi"].values()) + sum(costs["lsi"].values())
        reports.append({"TableName": table.name[2], "CapacityUnits": total})
    return f'"ConsumedCapacity":{json_text.dumps(reports)}'


def _batch_action(table: StoredTable, request: Any) -> _Write:
    match request:
        case {"PutRequest": {"Item": dict(item)}}:
            keys = table.keys_of(item)
            return table, table.row(item, keys, item_size(item)), keys
        case {"DeleteRequest": {"Key": dict(key)}}:
            return table, None, table.keys_alone(key)
    raise Unusual


def _start(start: Any, table: StoredTable, index: Index, span: Span) -> tuple[KeyValue, ...]:
    """Return where a page starts; raises :class:`Unusual` if no page of this query ended there."""
    names = {table.key.hash, table.key.range, index.hash, index.range} - {""}
    if not isinstance(start, dict) or start.keys() != names:
        raise Unusual
    pk, sk = table.keys_of(start)
    if value_of(start[index.hash], index.hash_kind) != span.partition:
        raise Unusual
    value = value_of(start[index.range], index.range_kind) if index.range else ""
    for bound, is_low in ((span.low, True), (span.high, False)):
        if bound is None:
            continue
        low, high = (bound[0], value) if is_low else (value, bound[0])
        if low > high or (bound[1] and low == high):  # type: ignore[operator]
            raise Unusual
    return (value, pk, sk) if index.name else (sk,)


def _end_key(text: str, table: StoredTable, index: Index) -> Json:
    item = json_text.loads(text)
    names = (table.key.hash, table.key.range, index.hash, index.range)
    return {name: item[name] for name in names if name}


def _filtered(request: Json, index: Index, texts: list[str]) -> Iterator[Json]:
    """Yield what a query returns of the items that it read."""
    condition = request.get("FilterExpression")
    is_checked = False
    for text in texts:
        item = json_text.loads(text)
        if condition and not _holds(condition, request, item, "FilterExpression"):
            continue
        yield _projected(shown(item, index), request)
        is_checked = True
    if not is_checked:
        # Wrong expressions are refused whatever the items are
        if condition:
            _holds(condition, request, {}, "FilterExpression")
        _projected({}, request)


def _projected(item: Json, request: Json) -> Json:
    try:
        projected: Json = dynamodb._apply_projection(item, request)
    except ValueError:
        raise Unusual from None
    return projected


def _digest(actions: Any) -> bytes:
    return blake2b(json_text.canonical(actions), digest_size=16).digest()
