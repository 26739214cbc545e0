"""What surrounds each call of a queue's or a schedule's function: log lines, metrics, failures.

``app.py`` registers both functions as Chalice's middleware, so that no handler has to do it.

SQS shows a message that was not handled again when its time-out is over. That time-out is long,
because it must outlast the longest run of a function, so what failed is shown again sooner: after
``REDELIVERY_BASE`` seconds, and each time ``REDELIVERY_FACTOR`` times later. After five tries the
queue moves a message to its dead-letter queue, but only when it would be shown once more: that is
at once, so that nobody waits for hours for the alarm.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.core import aws, logs
from chalicelib.core.retry import Backoff
from chalicelib.core.settings import settings

Json = dict[str, Any]

_log = logging.getLogger(__name__)

#: How often a message is tried: ``maxReceiveCount`` of the queues in infrastructure/template.yaml
TRIES = 5

_BATCH = 10
_LONGEST = 43_200
# The head of a queue message comes first in it (chalicelib.core.queues).
_TRANSMISSION = re.compile(r'"transmission":"(\d+)"')
_HEAD = 500


def of_schedule(event: Any, call: Callable[[Any], Any]) -> Any:
    """Surround a call by a schedule."""
    with logs.bound(**logs.of_invocation(event.context)):
        return call(event)


def of_queue(event: Any, handle: Callable[[Any], Any]) -> Any:
    """Surround a call with messages of a queue."""
    records: Sequence[Json] = event.to_dict()["Records"]
    queue = _queue(records[0]) if records else ""
    with logs.bound(
        **logs.of_invocation(event.context), queue=queue, transmission_id=_transmission(records)
    ):
        began = time.monotonic()
        answer = handle(event)
        failed = {each["itemIdentifier"] for each in (answer or {}).get("batchItemFailures", [])}
        logs.measured(
            _log,
            "handled a batch",
            {
                "Messages": len(records),
                "FailedMessages": len(failed),
                "BatchTime": round((time.monotonic() - began) * 1000, 1),
            },
            dimensions={"Queue": queue},
            routine=True,
        )
        if failed:
            _show_again(queue, [each for each in records if each["messageId"] in failed])
        return answer


def redelivery_delay(record: Mapping[str, Any]) -> int:
    """Return the seconds after which a message that failed is shown again, or given up."""
    tries = int(record["attributes"].get("ApproximateReceiveCount", 1))
    if tries >= TRIES:
        return 0
    current = settings()
    backoff = Backoff(current.redelivery_base, current.redelivery_factor, _LONGEST)
    return int(backoff.delay(tries))


def _show_again(queue: str, records: Sequence[Json]) -> None:
    """Set when these messages are shown again; without it they are shown when it is time."""
    try:
        for batch in _batches(records):
            aws.sqs().change_message_visibility_batch(
                QueueUrl=_url(queue),
                Entries=[
                    {
                        "Id": str(i),
                        "ReceiptHandle": record["receiptHandle"],
                        "VisibilityTimeout": redelivery_delay(record),
                    }
                    for i, record in enumerate(batch)
                ],
            )
    except (BotoCoreError, ClientError) as error:
        _log.warning("failed messages are shown again at the end of their time-out: %s", error)


def _batches(records: Sequence[Json]) -> Iterable[Sequence[Json]]:
    return (records[start : start + _BATCH] for start in range(0, len(records), _BATCH))


def _queue(record: Mapping[str, Any]) -> str:
    return str(record.get("eventSourceARN", "")).rpartition(":")[2]


@cache
def _url(queue: str) -> str:
    return aws.sqs().get_queue_url(QueueName=queue)["QueueUrl"]


def _transmission(records: Sequence[Json]) -> str | None:
    """Return the transmission that all messages are about, if there is one."""
    matches = [_TRANSMISSION.search(record["body"][:_HEAD]) for record in records]
    found = {match[1] if match else None for match in matches}
    return found.pop() if len(found) == 1 else None
