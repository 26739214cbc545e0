"""Provide two small places in moto's cloud, whose requests can be counted and killed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chalicelib.core import aws
from chalicelib.core.dynamo.codec import decode_item, encode_item
from chalicelib.core.sealing import Sealer, key_of
from infrastructure.machine.moving import service
from infrastructure.machine.moving.kinds import TABLES
from infrastructure.machine.moving.place import Place
from infrastructure.machine.moving.service import Outcome

SECRETS = {"machine": "A" * 43 + "=", "stage": "B" * 42 + "A="}


class Killed(BaseException):
    """The process is gone."""


# What these requests do not change is as it was before them
_READS = ("batch_get_", "get_", "head_", "list_", "query", "scan")


class Requests:
    """Counts the requests of both places; the request ``last`` kills, ``after`` it was made.

    Those that only read do not count then: to be killed after them is to be killed before them.
    """

    def __init__(self) -> None:
        self.number = 0
        self.last = 0
        self.after = False
        self._lock = threading.Lock()

    def make(self, request: Callable[..., Any], arguments: Any) -> Any:
        """Make a request, or kill."""
        with self._lock:
            self.number += not (self.after and request.__name__.startswith(_READS))
            is_last = bool(self.last) and self.number >= self.last
        if is_last and not self.after:
            raise Killed
        answer = request(**arguments)
        if is_last:
            raise Killed
        return answer


class _Client:
    """A client whose requests are counted."""

    def __init__(self, client: Any, requests: Requests) -> None:
        self._client = client
        self._requests = requests

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._client, name)
        if name in ("get_paginator", "exceptions"):
            return attribute
        return lambda **arguments: self._requests.make(attribute, arguments)


class FakePlace(Place):
    """A place with small tables of its own."""

    makes_first_start = False

    def __init__(self, name: str, requests: Requests, *, is_idle: bool = True) -> None:
        self.name = self.stage = name
        self.bucket = f"bucket-{name}"
        self.is_idle = is_idle
        # Those of the service itself, which moto answers faster
        self.dynamodb, self.s3, self.sqs = (
            _Client(aws.make_client(each), requests) for each in ("dynamodb", "s3", "sqs")
        )
        self._secret = SECRETS[name]

    @property
    def secret_key(self) -> str:
        return self._secret

    @property
    def sealer(self) -> Sealer:
        """A stage seals with another key than that of the links."""
        return Sealer(key_of(SECRETS[self.name]))

    def adopt(self, source: Place) -> None:
        self._secret = source.secret_key

    def provide(self) -> None:
        """Create the tables and the bucket."""
        for table in TABLES:
            self.dynamodb.create_table(
                TableName=self.table(table),
                AttributeDefinitions=[
                    {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")
                ],
                KeySchema=[
                    {"AttributeName": "pk", "KeyType": "HASH"},
                    {"AttributeName": "sk", "KeyType": "RANGE"},
                ],
                BillingMode="PAY_PER_REQUEST",
            )
        self.s3.create_bucket(Bucket=self.bucket)

    def put(self, table: str, pk: str, sk: str, **attributes: Any) -> None:
        """Store an item of plain values."""
        item = encode_item({"pk": pk, "sk": sk, **attributes})
        self.dynamodb.put_item(TableName=self.table(table), Item=item)

    def remove(self, table: str, pk: str, sk: str) -> None:
        """Delete an item."""
        key = encode_item({"pk": pk, "sk": sk})
        self.dynamodb.delete_item(TableName=self.table(table), Key=key)

    def add(self, table: str, pk: str, sk: str, **numbers: int) -> None:
        """Add to the numbers of an item."""
        clauses = ", ".join(f"#{name} :{name}" for name in numbers)
        self.dynamodb.update_item(
            TableName=self.table(table),
            Key=encode_item({"pk": pk, "sk": sk}),
            UpdateExpression=f"ADD {clauses}",
            ExpressionAttributeNames={f"#{name}": name for name in numbers},
            ExpressionAttributeValues=encode_item(
                {f":{name}": number for name, number in numbers.items()}
            ),
        )

    def read(self, table: str, pk: str, sk: str) -> Any:
        """Return an item's plain values but its keys, ``None`` without the item."""
        item = self.get(table, pk, sk)
        if item is None:
            return None
        return {
            name: value for name, value in decode_item(item).items() if name not in ("pk", "sk")
        }

    def items(self) -> dict[tuple[str, str, str], Any]:
        """Return all items of all tables but the notes of moves."""
        return {
            (table, item["pk"]["S"], item["sk"]["S"]): decode_item(item)
            for table in TABLES
            for page in self.pages(table)
            for item in page.items
            if item["pk"]["S"] != "move"
        }

    def objects(self) -> dict[str, bytes]:
        """Return all objects by key."""
        contents = self.s3.list_objects_v2(Bucket=self.bucket).get("Contents", [])
        return {
            each["Key"]: self.s3.get_object(Bucket=self.bucket, Key=each["Key"])["Body"].read()
            for each in contents
        }


class Move:
    """A move between two fake places."""

    def __init__(self, folder: Path) -> None:
        self.requests = Requests()
        self.source = FakePlace("machine", self.requests)
        self.target = FakePlace("stage", self.requests)
        self.path = folder / "move" / "stage.sqlite3"
        self.lines: list[str] = []
        for place in (self.source, self.target):
            place.provide()

    def run(self) -> Outcome:
        """Make a pass."""
        return service.move(self.source, self.target, self.path, self._say)

    def killed(self, last: int, *, after: bool) -> bool:
        """Make a pass that is killed at its n-th request; tell whether it was."""
        self.requests.number, self.requests.last, self.requests.after = 0, last, after
        try:
            self.run()
        except Killed:
            return True
        finally:
            self.requests.last = 0
        return False

    def _say(self, line: str, replaceable: bool) -> None:
        self.lines.append(line)
