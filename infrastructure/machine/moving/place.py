"""Describe one side of a move: where its tables, queues and objects are, and what seals secrets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Final

from botocore.config import Config

from chalicelib.core.json_types import Json
from chalicelib.core.sealing import Sealer

#: Requests to one side that are under way at a time
CONNECTIONS: Final = 16

#: Options of the clients of both sides
CLIENT_OPTIONS: Final = Config(
    max_pool_connections=2 * CONNECTIONS,
    retries={"max_attempts": 10, "mode": "standard"},
    s3={"addressing_style": "path"},
    parameter_validation=False,
)


class Place(ABC):
    """A service whose data can be read and written.

    ``name`` is for people. ``is_idle`` tells that nothing works there any more: no worker takes
    from its queues and no schedule starts anything.
    """

    name: str
    stage: str
    bucket: str
    is_idle: bool
    dynamodb: Any
    s3: Any
    sqs: Any

    def table(self, name: str) -> str:
        """Return the full name of a table."""
        return f"postfinch-{self.stage}-{name}"

    @property
    @abstractmethod
    def secret_key(self) -> str:
        """``SECRET_KEY`` as the service there has it."""

    @property
    @abstractmethod
    def sealer(self) -> Sealer:
        """What seals secrets there."""

    @property
    @abstractmethod
    def makes_first_start(self) -> bool:
        """Tell whether each start of the service there makes what it lacks of a first start."""

    @abstractmethod
    def adopt(self, source: Place) -> None:
        """Take the source's ``SECRET_KEY`` in place of one's own; raises ``MoveRefused``.

        It may be called again, and changes nothing then.
        """

    def pages(self, table: str, start: Json | None = None, **request: Any) -> Iterator[Page]:
        """Yield the items of a table page by page, from behind the key ``start`` on."""
        while True:
            more = {"ExclusiveStartKey": start} if start else {}
            answer = self.dynamodb.scan(
                TableName=self.table(table), ConsistentRead=True, **more, **request
            )
            start = answer.get("LastEvaluatedKey")
            yield Page(answer["Items"], start)
            if not start:
                return

    def get(self, table: str, pk: str, sk: str) -> Json | None:
        """Return an item as it is now, or ``None``."""
        answer = self.dynamodb.get_item(
            TableName=self.table(table), Key=key_of(pk, sk), ConsistentRead=True
        )
        item: Json | None = answer.get("Item")
        return item


class Page:
    """Some items of a table, and where the next page begins (``None`` behind the last one)."""

    def __init__(self, items: list[Json], end: Json | None) -> None:
        self.items = items
        self.end = end


def key_of(pk: str, sk: str) -> Json:
    """Return a key in typed form."""
    return {"pk": {"S": pk}, "sk": {"S": sk}}
