"""Post a batch again that is on record, whether or not its target took it."""

from __future__ import annotations

from chalicelib.core import audit, dynamo, queues
from chalicelib.webhook_dispatch.batch import QUEUE, BatchHead
from chalicelib.webhook_dispatch.batch_kind import BatchKind, BodyGone
from chalicelib.webhooks.model import Endpoint
from chalicelib.webhooks.store import batches


def redeliver(kind: BatchKind, webhook: Endpoint, batch_id: str) -> bool:
    """Queue a batch to be posted now, with the same id; ``False`` if it has expired.

    The new round has its full retry time and ends the attempts that are still to come. It is queued
    before it is recorded, so that a crash between the two does not lose both.
    """
    stored_batch = batches.find(webhook.id, batch_id)
    if stored_batch is None:
        return False
    batch, body = batches.next_round(stored_batch[0]), stored_batch[1]
    head = BatchHead(
        webhook.account_id,
        webhook.id,
        batch_id,
        batch.size,
        batch.at_ms,
        round=batch.round,
        earlier_attempts=batch.attempts,
    )
    try:
        work = kind.work_again(head, body)
    except BodyGone:
        return False
    queues.send(QUEUE, [work])
    line = audit.line(
        webhook.id, None, {"redelivered_batch": batch_id}, subaccount_id=webhook.subaccount_id
    )
    if not batches.record(batch, None, line, retention=kind.retention()) and line:
        dynamo.write(line[0])  # a worker was faster: it has recorded its attempt of this round
    return True
