"""Hand the requests of this process's AWS clients to moto without their way over HTTP.

moto answers what botocore is about to send: it parses a URL, headers and a body that botocore has
just composed, and composes a response that botocore parses again. That takes four times as long as
the work itself. Here a prepared request (`chalicelib.core.aws_requests`) reaches moto's backend as
the JSON that it is, and its response is parsed by the service's own parsers. What fails goes the
way that it goes in the service: botocore gets the response, and decides.

Other services and operations reach moto through botocore.
"""

from __future__ import annotations

import copy
import json
import pickle
import threading
import time
from base64 import b64encode
from collections.abc import Sequence
from datetime import datetime
from functools import cache
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl

from moto import backend_index
from moto.core import DEFAULT_ACCOUNT_ID, responses
from moto.core import models as moto_models
from moto.core.botocore_stubber import BotocoreStubber
from moto.core.models import botocore_stubber
from moto.core.responses import ActionResult, BaseResponse
from moto.dynamodb import models as dynamodb_models
from moto.dynamodb.models.dynamo_type import DynamoType, Item, LimitedSizeDict
from moto.dynamodb.models.table import Table
from moto.dynamodb.parsing import validators
from moto.dynamodb.parsing.ast_nodes import DepthFirstTraverser, Node
from moto.dynamodb.parsing.expressions import UpdateExpressionParser
from moto.dynamodb.responses import DynamoHandler
from moto.sqs import models as sqs_models
from moto.sqs.responses import SQSResponse

from chalicelib.core import aws_requests
from chalicelib.core.aws_connections import Response
from chalicelib.core.aws_responses import PARSERS

#: The most bytes that DynamoDB takes as the value of a key
_LONGEST = {"pk": 2048, "sk": 1024}


def answer_requests() -> None:
    """Let moto answer, while it is on, the requests of clients that are made from now on."""
    aws_requests.prepare_requests = _prepare_requests
    BotocoreStubber.__call__ = _respond  # type: ignore[method-assign]
    # The service never scans a table, but tests of moves do, thousands of times
    PARSERS.setdefault("Scan", PARSERS["Query"])
    _make_faster()


_one_at_a_time = threading.Lock()
_prepare: Any = aws_requests.prepare_requests
_respond_to_botocore: Any = BotocoreStubber.__call__


class _ThreadState(threading.local):
    """Whether botocore is about to get a response that moto has made already."""

    failed = False


_thread = _ThreadState()


def _respond(*arguments: Any, **options: Any) -> Any:
    """Let moto serve one request at a time: a transaction copies tables that others may change."""
    if _thread.failed:
        _thread.failed = False
        return None
    with _one_at_a_time:
        return _respond_to_botocore(*arguments, **options)


def _prepare_requests(client: Any, credentials: Any) -> None:
    _prepare(client, credentials)
    prepared = client._make_api_call.__self__
    prepared._operations = _Operations(client)


class _Operations(dict[str, Any]):
    """The prepared operations of a client; those of moto while it is on."""

    def __init__(self, client: Any) -> None:
        super().__init__()
        self._service: str = client.meta.service_model.service_name
        self._region: str = client.meta.region_name

    def get(self, name: str, default: Any = None) -> Any:
        if botocore_stubber.enabled and name in PARSERS:
            return _Operation(_HANDLERS[self._service], name, self._region)
        return super().get(name, default)


class _Operation:
    """One operation of moto's, in the place of one that sends its requests."""

    def __init__(self, handler: type[BaseResponse], name: str, region: str) -> None:
        self._handler = handler
        self._name = name
        self._region = region

    def send(self, body: bytes, _: Any) -> Response:
        parameters = json.loads(body)
        _refuse_long_keys(parameters)
        status, headers, content = call(self._handler, self._name, parameters, self._region)
        _thread.failed = status != 200
        lower = {name.lower(): str(value) for name, value in headers.items()}
        return Response(status, lower, content.encode())


def call(
    handler_class: type[BaseResponse], name: str, parameters: dict[str, Any], region: str
) -> tuple[int, dict[str, Any], str]:
    """Return status, headers and JSON of moto's response to an operation."""
    handler: Any = handler_class()
    handler.params = parameters
    handler.current_account, handler.region = DEFAULT_ACCOUNT_ID, region
    handler.querystring, handler.uri_match, handler.path = {}, {}, "/"
    handler.headers = {
        "x-amz-target": f"Service.{name}",
        "Content-Type": "application/x-amz-json-1.0",
    }
    handler.response_headers = {}
    with _one_at_a_time:
        status, headers, content = handler.call_action()
    return int(status), headers, content


def _serialized(handler: Any, action_result: ActionResult) -> Any:
    """Return a result as JSON: moto looks for each member of its shape."""
    result = action_result.result
    if isinstance(result, Exception):
        return BaseResponse.serialized(handler, action_result)
    return 200, {}, json.dumps(result or {}, default=_json_value)


_HANDLERS: dict[str, type[BaseResponse]] = {"dynamodb": DynamoHandler, "sqs": SQSResponse}


def _json_value(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.timestamp()
    return {value.type: value.value} if isinstance(value, DynamoType) else b64encode(value).decode()


def _refuse_long_keys(parameters: dict[str, Any]) -> None:
    """Refuse keys that DynamoDB refuses, because its fakes accept them."""
    keys = [parameters["Key"]] if "Key" in parameters else []
    for action in parameters.get("TransactItems", []):
        keys += [each["Key"] for each in action.values() if "Key" in each]
    for table in parameters.get("RequestItems", {}).values():
        if isinstance(table, dict):
            keys += table["Keys"]
    partition = parameters.get("ExpressionAttributeValues", {}).get(":pk")
    for key in [*keys, *([{"pk": partition}] if partition else [])]:
        for name, most in _LONGEST.items():
            assert len(key.get(name, {"S": ""})["S"].encode()) <= most, f"too long: {name}"


def _make_faster() -> None:
    """Leave out what moto does for each test or request, and no test looks at."""
    for handler in _HANDLERS.values():
        handler.serialized = _serialized  # type: ignore[method-assign]
    # moto also takes the place of the library `requests`, which takes most of the time of its start
    moto_models.RESPONSES_METHODS = []
    # moto lists the methods of a class for each request
    responses.method_names_from_class = cache(responses.method_names_from_class)
    # It also spells each attribute of a queue in lower case, letter by letter, for each request
    responses.camelcase_to_underscores = cache(responses.camelcase_to_underscores)
    sqs_models.camelcase_to_underscores = cache(sqs_models.camelcase_to_underscores)
    # moto compares the address of each request with those of some three hundred services in order
    backend_index.backend_url_patterns.sort(key=lambda each: each[0] not in _SERVICES)
    # moto looks at the types of both values twice, for each comparison of a sort
    _DynamoType.cast_value = property(_cast_value)
    _DynamoType.__eq__ = _is_equal
    # A transaction copies each table that it is about
    _Backend.transact_write_items = _transact_write_items
    dynamodb_models.copy = SimpleNamespace(deepcopy=_deepcopy)
    _make_updates_faster()
    # The time, by way of four calendar dates
    sqs_models.unix_time = time.time
    sqs_models.unix_time_millis = lambda: time.time() * 1000
    # Fifty-two random letters for each request, which nobody reads
    responses.gen_amzn_requestid_long = _request_id
    responses.parse_qsl = _no_form


_DynamoType: Any = DynamoType
_Backend: Any = dynamodb_models.DynamoDBBackend
_cast: Any = _DynamoType.cast_value.fget
_transact: Any = _Backend.transact_write_items

#: Types of attributes whose values are compared as they are
_PLAIN = frozenset({"S", "B", "BOOL"})


def _cast_value(value: Any) -> Any:
    return value.value if value.type in _PLAIN else _cast(value)


def _is_equal(one: Any, other: Any) -> bool:
    if one.type != other.type:
        return False
    if one.type in _PLAIN:
        return bool(one.value == other.value)
    return bool(_cast(one) == _cast(other))


class _Transaction(threading.local):
    """The writes of the transaction at work."""

    writes: Sequence[dict[str, Any]] = ()


_transaction = _Transaction()


def _transact_write_items(backend: Any, items: Sequence[dict[str, Any]]) -> None:
    _transaction.writes = [write for item in items for write in item.values()]
    try:
        _transact(backend, items)
    finally:
        _transaction.writes = ()


def _deepcopy(value: Any) -> Any:
    """Copy a value; of a table that a transaction writes to, only the items that it may change.

    An item that is copied alone is for the streams of tables, of which there are none.
    """
    if isinstance(value, Item):
        return value
    if not (isinstance(value, Table) and _transaction.writes):
        return copy.deepcopy(value)
    copied: Any = copy.copy(value)
    copied.items = copy.copy(value.items)
    for write in _transaction.writes:
        if write.get("TableName") == value.name:
            key = write.get("Key") or write["Item"]
            partition, sort = (
                DynamoType(key[name]) for name in (value.hash_key_attr, value.range_key_attr)
            )
            items = value.items.get(partition, {})
            if copied.items.get(partition, items) is items:
                copied.items[partition] = copy.copy(items)
            if sort in items:
                copied.items[partition][sort] = copy.deepcopy(items[sort])
    return copied


def _make_updates_faster() -> None:
    """Parse each update expression once, and walk through it without asking what each node is."""
    parse: Any = cache(UpdateExpressionParser.make)
    _Parser.make = parse
    _validators.deepcopy = _copied
    _Traverser.traverse_node_recursively = _traversed
    # moto measures all attributes of an item again for each that it adds
    _Attributes.__setitem__ = _set_attribute


_Parser: Any = UpdateExpressionParser
_Traverser: Any = DepthFirstTraverser
_Attributes: Any = LimitedSizeDict
_validators: Any = validators
_set_measured: Any = _Attributes.__setitem__

#: Bytes of an item's attributes up to which they are counted as they come
_SURELY_FITS = 200_000


def _copied(value: Any) -> Any:
    """Copy an expression, of which each validation changes a copy: the bytes are made once."""
    if not isinstance(value, Node):
        return copy.deepcopy(value)
    expression: Any = value
    if not hasattr(expression, "pickled"):
        expression.pickled = pickle.dumps(expression)
    return pickle.loads(expression.pickled)


def _traversed(traverser: Any, node: Any, child_id: int = -1) -> Any:
    """Process the nodes of an expression, children first."""
    by_kind = traverser._processing_map()
    processors = {kind: by_kind[each] for kind, each in _processed_kinds(tuple(by_kind))}
    prepare = traverser.pre_processing_of_child
    if type(traverser).pre_processing_of_child is _Traverser.pre_processing_of_child:
        prepare = None
    return _processed(node, child_id, processors, prepare)


@cache
def _processed_kinds(bases: tuple[type, ...]) -> list[tuple[type, type]]:
    """Return each kind of node with the first of the classes that it belongs to."""
    kinds: list[type] = [Node]
    for kind in kinds:
        kinds += [each for each in kind.__subclasses__() if each not in kinds]
    first = {kind: next((each for each in bases if issubclass(kind, each)), None) for kind in kinds}
    return [(kind, each) for kind, each in first.items() if each]


def _processed(node: Any, child_id: int, processors: dict[Any, Any], prepare: Any) -> Any:
    parent = node.parent
    for number, child in enumerate(node.children or ()):
        if prepare:
            prepare(node, number)
        if isinstance(child, Node):
            _processed(child, number, processors, prepare)
    processor = processors.get(type(node))
    if processor is not None:
        node = processor(node)
        node.parent = parent
        if parent:
            parent.children[child_id] = node
    return node


def _set_attribute(attributes: Any, name: str, value: Any) -> None:
    """Set an attribute; those of a small item are not measured again."""
    size = getattr(attributes, "size", 0)
    size += value.size() if type(value) is DynamoType else len(str(value))
    attributes.size = size
    if size > _SURELY_FITS:
        _set_measured(attributes, name, value)
    else:
        dict.__setitem__(attributes, name, value)


_SERVICES = ("dynamodb", "sqs", "s3", "kms")


def _request_id(headers: dict[str, str]) -> str:
    headers["x-amzn-requestid"] = "r"
    return "r"


def _no_form(text: str, **options: Any) -> list[tuple[str, str]]:
    """Parse a form, unless the text is JSON, in which moto looks for one."""
    return [] if text.startswith("{") else parse_qsl(text, **options)
