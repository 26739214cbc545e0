"""Find what the source has still to do, and hand scheduled work over to the target.

Scheduled work is done once: transmissions that start later, A/B tests that end, checks of domains,
and counts that wait to be added up. While the source works, it does this itself. When it does no
more work, each piece is written to the target and then removed at the source, so that no side does
it twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from chalicelib.core.json_types import Json
from infrastructure.machine.moving import target_writes
from infrastructure.machine.moving.images import sealed
from infrastructure.machine.moving.kinds import TABLES, Kind, rule_of
from infrastructure.machine.moving.place import Place
from infrastructure.machine.moving.sides import Sides
from infrastructure.machine.moving.steps import StepRefused, Steps

_DEAD = "-dead"
_COUNTS: Any = [
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
]
#: The name of counts that are being added up, beside those of the queues
ROLLUPS = "counts being added up"


def under_way(place: Place) -> dict[str, int]:
    """Return what only this side can finish: messages by queue, without empty ones.

    Dead letters count too: they are work that was accepted and is not done.
    """
    numbers = {name: _messages(place, url) for name, url in _queues(place)}
    numbers[ROLLUPS] = sum(
        1
        for page in place.pages("metrics")
        for item in page.items
        if item["pk"]["S"] == "pending" and item["sk"]["S"].endswith("#0fold")
    )
    return {name: number for name, number in numbers.items() if number}


def scheduled(place: Place) -> Iterator[tuple[str, Json]]:
    """Yield the scheduled work of a side, each piece with its table."""
    for table in TABLES:
        for page in place.pages(table):
            for item in page.items:
                if rule_of(table, item).kind is Kind.WORK:
                    yield table, item


def hand_over(sides: Sides) -> int:
    """Move the scheduled work to the target; return how many pieces.

    A killed process writes no piece twice: the target may have done it already.
    """
    steps = Steps(sides.target, sides.checkpoint, sides.number)
    steps.finish()
    number = 0
    for table, item in list(scheduled(sides.source)):
        image = sides.source_image(table, Kind.WORK, item)
        note = f"{table} {item['pk']['S']} {item['sk']['S']}"
        if not sides.checkpoint.note(note):
            put: Any = {
                "TableName": sides.target.table(table),
                "Item": sealed(table, image, sides.sealer),
                **target_writes.unchanged(None),
            }
            try:
                steps.make(table, [{"Put": put}], {}, note=note)
            except StepRefused:  # the target has scheduled the same itself
                sides.checkpoint.set_note(note, "target")
        if target_writes.delete(sides.source, table, item):
            sides.checkpoint.remove_note(note)
        number += 1
    return number


def _queues(place: Place) -> Iterator[tuple[str, str]]:
    prefix = place.table("")
    pages = place.sqs.get_paginator("list_queues").paginate(QueueNamePrefix=prefix)
    for page in pages:
        for url in page.get("QueueUrls", []):
            yield url.rpartition("/")[2].removeprefix(prefix), url


def _messages(place: Place, url: str) -> int:
    answer = place.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=_COUNTS)
    return sum(int(answer["Attributes"][name]) for name in _COUNTS)
