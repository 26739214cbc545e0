"""Log and measure each call of a queue's or a schedule's function, and redeliver failed messages.

``app.py`` registers both functions as Chalice's middleware, so that no handler has to do it.

SQS redelivers a failed message when its visibility timeout is over. That timeout is long, because
it must outlast the longest run of a function. So a failed message is redelivered sooner: after
``REDELIVERY_BASE`` seconds, and each time ``REDELIVERY_FACTOR`` times later. After five tries the
queue moves a message to its dead-letter queue, but only when it would deliver it once more. So the
fifth failure makes the message visible at once, and the alarm does not come hours late.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.core import aws, logs, tracing
from chalicelib.core.queue_event import QueueRecord
from chalicelib.core.retry import Backoff
from chalicelib.core.settings import settings

_log = logging.getLogger(__name__)

#: How often a message is tried: ``maxReceiveCount`` of the queues in infrastructure/template.yaml
TRIES = 5

_BATCH = 10
_LONGEST = 43_200
# A queue message begins with its head (chalicelib.core.queues).
_TRANSMISSION = re.compile(r'"transmission":"(\d+)"')
_HEAD = 500


def of_schedule(event: Any, call: Callable[[Any], Any]) -> Any:
    """Call a schedule's function, with its id on every log line."""
    with logs.bound(**logs.of_invocation(event.context)), tracing.call("schedule"):
        return call(event)


def of_queue(event: Any, handle: Callable[[Any], Any]) -> Any:
    """Call a queue's function, log and measure it, and redeliver the messages that failed."""
    records: Sequence[QueueRecord] = event.to_dict()["Records"]
    queue = _queue(records[0]) if records else ""
    ids = {"queue": queue, "transmission_id": _transmission(records)}
    with logs.bound(**logs.of_invocation(event.context), **ids), tracing.call("batch", **ids):
        started = time.monotonic()
        response = handle(event)
        failed = {each["itemIdentifier"] for each in (response or {}).get("batchItemFailures", [])}
        logs.measured(
            _log,
            "handled a batch",
            {
                "Messages": len(records),
                "FailedMessages": len(failed),
                "BatchTime": round((time.monotonic() - started) * 1000, 1),
            },
            dimensions={"Queue": queue},
            routine=True,
        )
        if failed:
            _redeliver(queue, [each for each in records if each["messageId"] in failed])
        return response


def redelivery_delay(record: QueueRecord) -> int:
    """Return the seconds until a failed message is redelivered, or moved to the dead letters."""
    tries = int(record["attributes"].get("ApproximateReceiveCount", 1))
    if tries >= TRIES:
        return 0
    current = settings()
    backoff = Backoff(current.redelivery_base, current.redelivery_factor, _LONGEST)
    return int(backoff.delay(tries))


def _redeliver(queue: str, records: Sequence[QueueRecord]) -> None:
    """Set when these messages are redelivered; if that fails, their timeout decides."""
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
        _log.warning("failed messages are redelivered at the end of their time-out: %s", error)


def _batches(records: Sequence[QueueRecord]) -> Iterable[Sequence[QueueRecord]]:
    return (records[start : start + _BATCH] for start in range(0, len(records), _BATCH))


def _queue(record: QueueRecord) -> str:
    return str(record.get("eventSourceARN", "")).rpartition(":")[2]


@cache
def _url(queue: str) -> str:
    return aws.sqs().get_queue_url(QueueName=queue)["QueueUrl"]


def _transmission(records: Sequence[QueueRecord]) -> str | None:
    """Return the transmission that all messages belong to, if there is one."""
    matches = [_TRANSMISSION.search(record["body"][:_HEAD]) for record in records]
    transmissions = {match[1] if match else None for match in matches}
    return transmissions.pop() if len(transmissions) == 1 else None
