"""Record what the real code asks of AWS while messages go through all functions, in one process.

API requests are handed to the application, and the messages of each queue to its function, in
batches as large as on AWS, until all queues are empty. Requests are recorded where the clients make
them: each item with its table, its key and the units that DynamoDB bills for it. Functions are
measured too: how often each is called, with how many messages, and how much processor time it
takes.
"""

from __future__ import annotations

import json
import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from botocore.exceptions import ClientError

from chalicelib.core import aws
from chalicelib.core.json_types import Json
from chalicelib.core.lambda_events import scheduled_event, sqs_event
from chalicelib.core.settings import settings
from infrastructure.deployment.functions import Function, FunctionKind, functions
from infrastructure.provision import read_template
from tests.bench.cloud_service import api_event
from tests.client_calls import Call, observed_calls

_WRITE_KB, _READ_KB = 1024, 4096
_WRITES = ("Put", "Update", "Delete", "ConditionCheck")


class Place(NamedTuple):
    """A partition key of a table, or of an index of it (``table/index``)."""

    table: str
    key: str


@dataclass
class Work:
    """What the calls of one function did; units are by place."""

    calls: int = 0
    handled: int = 0
    processor: float = 0.0
    requests: Counter[str] = field(default_factory=Counter)
    writes: Counter[Place] = field(default_factory=Counter)
    reads: Counter[Place] = field(default_factory=Counter)


class Recorder:
    """The work of each function, by name; ``current`` is the one that is running."""

    def __init__(self) -> None:
        self.work: dict[str, Work] = defaultdict(Work)
        self.current = "setup"
        self._sizes: dict[tuple[str, str, str], int] = {}
        self._indexes = dict(_indexes())

    def note(self, operation: str, arguments: Json, response: Json) -> None:
        """Note one request to DynamoDB."""
        self.work[self.current].requests[operation] += 1
        if operation == "TransactWriteItems":
            for action in arguments["TransactItems"]:
                ((kind, each),) = action.items()
                self._write(kind, each, factor=2)
        elif operation == "BatchWriteItem":
            for table, actions in arguments["RequestItems"].items():
                for action in actions:
                    ((kind, each),) = action.items()
                    self._write(kind.removesuffix("Request"), {"TableName": table} | each)
        elif (kind := operation.removesuffix("Item")) in _WRITES:
            self._write(kind, arguments)
        elif operation == "BatchGetItem":
            for table, each in arguments["RequestItems"].items():
                items = response["Responses"].get(table, [])
                sizes = {(i["pk"]["S"], i["sk"]["S"]): _size(i) for i in items}
                for key in each["Keys"]:
                    size = sizes.get((key["pk"]["S"], key["sk"]["S"]), 1)
                    self._read(table, key["pk"]["S"], size, each)
        elif operation == "GetItem":
            size = _size(response.get("Item", {}))
            self._read(arguments["TableName"], arguments["Key"]["pk"]["S"], size, arguments)
        elif operation == "Query":
            self._query(arguments, response)

    def _write(self, kind: str, arguments: Json, factor: int = 1) -> None:
        table = arguments["TableName"]
        item = arguments.get("Item") or arguments["Key"]
        pk, sk = item["pk"]["S"], item["sk"]["S"]
        size = _size(item)
        if kind == "Update":  # what it sets, or as large as before
            size += _size(arguments.get("ExpressionAttributeValues", {}))
        before = self._sizes.get((table, pk, sk), 0)
        if kind != "Put":
            size = max(size, before)
        self._sizes[table, pk, sk] = size
        units = math.ceil(max(size, before, 1) / _WRITE_KB) * factor
        work, place = self.work[self.current], Place(_short(table), pk)
        work.writes[place] += units
        values = {**item, **_named_values(arguments)}
        for index, key in self._indexes.get(_short(table), ()):
            if key in values:
                work.writes[Place(f"{_short(table)}/{index}", values[key]["S"])] += units // factor

    def _read(self, table: str, pk: str, size: int, arguments: Json) -> None:
        units = math.ceil(max(size, 1) / _READ_KB)
        factor = 1 if arguments.get("ConsistentRead") else 0.5
        self.work[self.current].reads[Place(_short(table), pk)] += units * factor

    def _query(self, arguments: Json, response: Json) -> None:
        table, values = arguments["TableName"], arguments["ExpressionAttributeValues"]
        index = arguments.get("IndexName")
        partition = values.get(":pk") or values.get(":owner") or next(iter(values.values()))
        size = sum(map(_size, response.get("Items", [])))
        name = f"{table}/{index}" if index else table
        self._read(name, partition["S"], size, arguments)


class Run:
    """A service within this process, and the record of what it does."""

    def __init__(self) -> None:
        self.recorder = Recorder()
        self._functions = {each.name: each for each in functions()}

    def post(self, key: str, path: str, body: Any) -> Json:
        """Make an API request; return its response's body."""
        import app

        with self._measured("api_handler", 1):
            response: Any = app.app(api_event(key, path, json.dumps(body).encode()), None)
        assert response["statusCode"] == 200, response["body"][:500]
        return json.loads(response["body"])

    def drain(self) -> None:
        """Let the functions of all queues work until every queue is empty."""
        queues = [each for each in self._functions.values() if each.kind is FunctionKind.QUEUE]
        while sum(self._work_off(function) for function in queues):
            pass

    def call(self, name: str) -> None:
        """Call a scheduled function once."""
        import app

        with self._measured(name, 1):
            app.SCHEDULES[name](scheduled_event(name), None)

    def _work_off(self, function: Function) -> bool:
        import app

        name = settings().queue(function.queue)
        url = aws.sqs().get_queue_url(QueueName=name)["QueueUrl"]
        any_done = False
        while messages := _receive(url, _batch_size(function)):
            any_done = True
            event = sqs_event(function.queue, messages)
            with self._measured(function.name, len(messages)):
                result: Any = getattr(app, function.handler)(event, None)
            assert not result["batchItemFailures"], result
            for each in messages:
                aws.sqs().delete_message(QueueUrl=url, ReceiptHandle=each["ReceiptHandle"])
        return any_done

    @contextmanager
    def _measured(self, name: str, handled: int) -> Iterator[None]:
        work = self.recorder.work[name]
        self.recorder.current = name
        began = time.process_time()
        try:
            yield
        finally:
            work.processor += time.process_time() - began
            work.calls += 1
            work.handled += handled
            self.recorder.current = "setup"


@contextmanager
def recording() -> Iterator[Run]:
    """Record the requests of this process within the block."""
    run = Run()

    def record(service: str, make: Call, operation: str, parameters: Json) -> Any:
        try:
            response = make(operation, parameters)
        except ClientError:
            if service == "dynamodb":  # a write that fails is billed as well
                run.recorder.note(operation, parameters, {})
            raise
        if service == "dynamodb":
            run.recorder.note(operation, parameters, response)
        else:
            run.recorder.work[run.recorder.current].requests[f"{service}.{operation}"] += 1
        return response

    with observed_calls(record):
        yield run


def _batch_size(function: Function) -> int:
    import app

    (source,) = (each for each in app.app.event_sources if each.name == function.name)
    return int(source.batch_size)


def _receive(url: str, most: int) -> list[Json]:
    messages: list[Json] = []
    while len(messages) < most:
        received = aws.sqs().receive_message(
            QueueUrl=url,
            MaxNumberOfMessages=min(10, most - len(messages)),
            VisibilityTimeout=600,
            WaitTimeSeconds=0,
            AttributeNames=["All"],
        )
        if not (page := received.get("Messages", [])):
            break
        messages += page
    return messages


def _indexes() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield each table with its indexes and their partition keys."""
    for resource in read_template()["Resources"].values():
        if resource["Type"] == "AWS::DynamoDB::Table":
            declared = resource["Properties"]
            name = declared["TableName"]["Sub"].rpartition("-")[2]
            indexes = declared.get("GlobalSecondaryIndexes", [])
            yield name, [(i["IndexName"], i["KeySchema"][0]["AttributeName"]) for i in indexes]


def _named_values(arguments: Json) -> Json:
    """Return the values of an update by the names of their attributes, as the store writes them."""
    values: Mapping[str, Any] = arguments.get("ExpressionAttributeValues", {})
    return {name.removeprefix(":"): value for name, value in values.items()}


def _short(table: str) -> str:
    stage = f"postfinch-{settings().stage}-"
    return table.removeprefix(stage)


def _size(item: Json) -> int:
    """Return the bytes of an item as DynamoDB counts them."""
    return sum(len(name.encode()) + _value_size(value) for name, value in item.items())


def _value_size(value: Json) -> int:
    ((kind, content),) = value.items()
    sizes: dict[str, Callable[[], int]] = {
        "S": lambda: len(content.encode()),
        "B": lambda: len(content),
        "N": lambda: len(content) // 2 + 1,
        "L": lambda: 3 + sum(1 + _value_size(each) for each in content),
        "M": lambda: 3 + _size(content),
        "SS": lambda: sum(len(each.encode()) for each in content),
        "NS": lambda: sum(len(each) // 2 + 1 for each in content),
    }
    return sizes[kind]() if kind in sizes else 1
