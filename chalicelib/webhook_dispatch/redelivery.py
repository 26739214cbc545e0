"""A batch once more, whatever became of it: its bytes are kept for a day."""

from __future__ import annotations

from chalicelib.core import queues
from chalicelib.core.queues import Work
from chalicelib.webhook_dispatch.batch import QUEUE, Head
from chalicelib.webhooks import batches
from chalicelib.webhooks.model import Webhook


def redeliver(webhook: Webhook, batch_id: str) -> bool:
    """Queue a batch to be posted now, with the same id; ``False`` if it is not kept any more.

    It begins anew, with eight hours of its own, and takes the place of attempts still to come:
    only once it is queued, or a crash would leave neither.
    """
    found = batches.anew(webhook.id, batch_id)
    if found is None:
        return False
    batch, body = found
    head = Head(
        webhook.account_id,
        webhook.id,
        batch_id,
        batch.size,
        batch.at_ms,
        round=batch.round,
    )
    queues.send(QUEUE, [Work(head.as_json(), body)])
    batches.record(batch, None)
    return True
