"""Consume the ``ses-notifications`` queue: queue the events that notifications of SES make.

SES publishes to a topic of the stage, whose only subscriber is the queue. The topic's policy lets
the stage's own configuration set publish and nobody else, and the queue's policy the topic. Beyond
that a notification is trusted because of the signed text in it that names its message, as mail is.

- What cannot be read is logged and dropped: it would not be readable later either.
- What is about no message of this service, or about a forgotten one, is dropped.
- What fails is shown again by SQS, and ends in the dead-letter queue. A notification may come any
  number of times: it makes the same event, which is recorded once.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping

from chalicelib.core.message_event import Event
from chalicelib.core.queue_event import BatchResponse, QueueEvent
from chalicelib.events import stream
from chalicelib.inbound import original_message
from chalicelib.inbound.original_message import OriginalMessage
from chalicelib.inbound.report import NoEvent
from chalicelib.inbound.ses_notifications import model
from chalicelib.inbound.ses_notifications.events import comes_after_delivery, event_of
from chalicelib.inbound.ses_notifications.model import Kind, MalformedNotification, Notification

QUEUE = "ses-notifications"

_log = logging.getLogger(__name__)


def take_batch(event: QueueEvent) -> BatchResponse:
    """Queue the events of the notifications of one SQS event; return the messages that failed.

    They are taken together, and if that fails one by one, so that a bad one fails alone.
    """
    notifications = dict(_readable(event))
    if _is_taken(notifications):
        return {"batchItemFailures": []}
    failed = [each for each in notifications if not _is_taken({each: notifications[each]})]
    return {"batchItemFailures": [{"itemIdentifier": each} for each in failed]}


def _readable(event: QueueEvent) -> Iterator[tuple[str, Notification]]:
    """Yield the notifications that may make an event, each with the id of its SQS message."""
    for record in event["Records"]:
        try:
            notification = model.read(record["body"])
        except MalformedNotification as error:
            _log.error("dropped the notification %s of SES: %s", record["messageId"], error)
            continue
        if notification.kind is not Kind.OTHER and notification.message_id:
            yield record["messageId"], notification
        else:
            _log.info("dropped a notification of SES: %s", _why(notification))


def _why(notification: Notification) -> str:
    if notification.kind is Kind.OTHER:
        return "nothing is recorded of its type"
    return "it names no message of this service"


def _is_taken(notifications: Mapping[str, Notification]) -> bool:
    try:
        stream.emit(list(_events(notifications)))
    except Exception:
        _log.exception("%d notifications of SES were not taken", len(notifications))
        return False
    return True


def _events(notifications: Mapping[str, Notification]) -> Iterator[Event]:
    messages = original_message.find_each(
        each.message_id for each in notifications.values() if not comes_after_delivery(each)
    )
    for notification in notifications.values():
        message = _message(notification, messages)
        if message is None:
            _log.info("dropped a notification of SES about a message of which nothing is known")
            continue
        event = event_of(notification, message)
        if isinstance(event, NoEvent):
            _log.info("dropped a notification of SES: %s", event.why)
        else:
            yield event


def _message(
    notification: Notification, messages: Mapping[str, OriginalMessage]
) -> OriginalMessage | None:
    if comes_after_delivery(notification):
        return original_message.find(notification.message_id)
    return messages.get(notification.message_id)
