"""Answer the requests to SQS that nearly all work consists of, straight from the store.

What a handler would have to refuse, or does not know, it leaves to MiniStack (:class:`Unusual`)
before anything is written. FIFO queues are MiniStack's.

Repairs (MiniStack 1.5.33): a receiver that waits looks at the queue ten times a second there, which
costs processor time and keeps a message waiting; here it sleeps until there is something. And
MiniStack hands a message to a receiver that has hung up.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ministack.core.concurrency import esm_wake
from ministack.services import sqs

from chalicelib.core.json_types import Json
from infrastructure.local.cloud import json_text
from infrastructure.local.cloud.queues import Queues
from infrastructure.local.cloud.steady_time import SteadyTime
from infrastructure.local.cloud.stored_queue import StoredQueue
from infrastructure.local.cloud.table_keys import Unusual

#: Not every way into a queue wakes those who wait
LONGEST_SLEEP = 1.0
_SHORTEST_SLEEP = 0.005
_LONGEST_DELAY, _LONGEST_WAIT, _LONGEST_VISIBILITY = 900, 20, 43_200
_LARGEST_BATCH = 10
_LARGEST_MESSAGE = 1 << 20
_SEND = frozenset({"QueueUrl", "MessageBody", "DelaySeconds", "MessageGroupId"})
_RECEIVE = frozenset(
    {"QueueUrl", "MaxNumberOfMessages", "WaitTimeSeconds", "VisibilityTimeout"}
    | {"AttributeNames", "MessageSystemAttributeNames", "MessageAttributeNames"}
)
_COUNTS = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)
_BAD_RECEIPT = {
    "Code": "ReceiptHandleIsInvalid",
    "Message": "The input receipt handle is invalid.",
    "SenderFault": True,
}


class QueueRequests:
    """The handlers, by the operation that a request names."""

    def __init__(self, queues: Queues, clock: SteadyTime) -> None:
        self._queues = queues
        self._clock = clock
        self.handlers: Mapping[str, Callable[[Json], str]] = {
            "SendMessage": self._send,
            "SendMessageBatch": self._send_batch,
            "DeleteMessage": self._delete,
            "DeleteMessageBatch": self._delete_batch,
            "ChangeMessageVisibility": self._change_visibility,
            "ChangeMessageVisibilityBatch": self._change_visibility_batch,
            "GetQueueAttributes": self._attributes,
        }

    def install(self) -> None:
        """Let deployed functions take their messages from the store, in threads of MiniStack."""
        receive, delete = sqs._receive_messages_for_esm, sqs._delete_messages_for_esm
        sqs._receive_messages_for_esm = _or_ministack(self._receive_for_function, receive)
        sqs._delete_messages_for_esm = _or_ministack(self._delete_for_function, delete)

    async def receive(
        self, request: Json, listen: Callable[[], asyncio.Future[None]]
    ) -> str | None:
        """Answer ReceiveMessage when there is a message, or when its time is over.

        ``listen`` returns what is done when the client hangs up; the answer is then ``None``.
        """
        if not request.keys() <= _RECEIVE:
            raise Unusual
        queue = self._queues.find(request.get("QueueUrl"))
        wait = _whole(
            request.get("WaitTimeSeconds", queue.attributes.get("ReceiveMessageWaitTimeSeconds")),
            _LONGEST_WAIT,
        )
        deadline = time.monotonic() + wait
        hung_up: asyncio.Future[None] | None = None
        try:
            while True:
                messages = self._take(queue, request)
                if messages or time.monotonic() >= deadline:
                    return _received(messages, request)
                hung_up = hung_up or listen()
                await self._sleep(queue, deadline, hung_up)
                if hung_up.done():
                    return None
        finally:
            if hung_up is not None:
                hung_up.cancel()

    def _take(self, queue: StoredQueue, request: Json) -> list[Json]:
        most = _whole(request.get("MaxNumberOfMessages", 1), _LARGEST_BATCH, lowest=1)
        visibility = _whole(
            request.get("VisibilityTimeout", queue.attributes.get("VisibilityTimeout")),
            _LONGEST_VISIBILITY,
        )
        with queue.store.transaction():
            return queue.take(most, visibility, self._clock.time(), self._queues.dead(queue))

    async def _sleep(
        self, queue: StoredQueue, deadline: float, hung_up: asyncio.Future[None]
    ) -> None:
        """Sleep until a message may be there, the client hangs up, or the time is over."""
        seconds = min(LONGEST_SLEEP, deadline - time.monotonic())
        visible_at = queue.next_visible()
        if visible_at is not None:
            seconds = min(seconds, visible_at - self._clock.time())
        with self._queues.receiver(queue) as woken:
            await asyncio.wait(
                {woken, hung_up},
                timeout=max(_SHORTEST_SLEEP, seconds),
                return_when=asyncio.FIRST_COMPLETED,
            )

    def _send(self, request: Json) -> str:
        answer = self._sent(self._queues.find(request.get("QueueUrl")), request)
        return json_text.dumps(answer)

    def _send_batch(self, request: Json) -> str:
        queue, entries = self._batch(request)
        if sum(len(each.get("MessageBody") or "") for each in entries) > _LARGEST_MESSAGE:
            raise Unusual
        for entry in entries:
            _checked_message(queue, entry)
        answers = [{"Id": each["Id"]} | self._sent(queue, each) for each in entries]
        return json_text.dumps({"Successful": answers, "Failed": []})

    def _sent(self, queue: StoredQueue, request: Json) -> Json:
        body, delay = _checked_message(queue, request)
        group = request.get("MessageGroupId")
        rest = {"sys": {"SenderId": queue.name[0]}} | ({"group_id": group} if group else {})
        id, digest = queue.add(body, self._clock.time(), delay, rest)
        esm_wake.set()
        return {"MessageId": id, "MD5OfMessageBody": digest}

    def _delete(self, request: Json) -> str:
        queue = self._queues.find(request.get("QueueUrl"))
        if not queue.delete(request.get("ReceiptHandle")):
            raise Unusual
        return "{}"

    def _delete_batch(self, request: Json) -> str:
        queue, entries = self._batch(request)
        return _results(entries, [queue.delete(each.get("ReceiptHandle")) for each in entries])

    def _change_visibility(self, request: Json) -> str:
        queue = self._queues.find(request.get("QueueUrl"))
        if not self._show(queue, request):
            raise Unusual
        return "{}"

    def _change_visibility_batch(self, request: Json) -> str:
        queue, entries = self._batch(request)
        for entry in entries:
            _whole(entry.get("VisibilityTimeout"), _LONGEST_VISIBILITY)
        return _results(entries, [self._show(queue, each) for each in entries])

    def _show(self, queue: StoredQueue, request: Json) -> bool:
        seconds = _whole(request.get("VisibilityTimeout"), _LONGEST_VISIBILITY)
        is_there = queue.show(request.get("ReceiptHandle"), self._clock.time() + seconds)
        if is_there and not seconds:
            esm_wake.set()
        return is_there

    def _attributes(self, request: Json) -> str:
        queue = self._queues.find(request.get("QueueUrl"))
        names = request.get("AttributeNames") or ["All"]
        counts = zip(_COUNTS, queue.counts(self._clock.time()), strict=True)
        attributes = {**queue.attributes, **{name: str(count) for name, count in counts}}
        answer = {
            name: value for name, value in attributes.items() if "All" in names or name in names
        }
        return json_text.dumps({"Attributes": answer})

    def _batch(self, request: Json) -> tuple[StoredQueue, list[Json]]:
        """Return the queue and the entries of a batch; raises :class:`Unusual`."""
        queue = self._queues.find(request.get("QueueUrl"))
        entries = request.get("Entries")
        if not isinstance(entries, list) or not 0 < len(entries) <= _LARGEST_BATCH:
            raise Unusual
        ids = {each.get("Id") for each in entries if _is_id(each.get("Id"))}
        if len(ids) < len(entries):
            raise Unusual
        return queue, entries

    def _receive_for_function(self, url: str, most: Any) -> list[Json]:
        request = {"MaxNumberOfMessages": min(int(most or 1), _LARGEST_BATCH)}
        return self._take(self._queues.find(url), request)

    def _delete_for_function(self, url: str, receipts: Iterable[str]) -> None:
        queue = self._queues.find(url)
        with queue.store.transaction():
            for receipt in receipts:
                queue.delete(receipt)


def _or_ministack(ours: Callable[..., Any], theirs: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that leaves FIFO queues to MiniStack's."""

    def call(*arguments: Any) -> Any:
        try:
            return ours(*arguments)
        except Unusual:
            return theirs(*arguments)

    return call


def _whole(value: Any, most: int, *, lowest: int = 0) -> int:
    """Return a whole number of a request or of a setting; raises :class:`Unusual`."""
    try:
        number = int(value)
    except (TypeError, ValueError):
        raise Unusual from None
    if not lowest <= number <= most:
        raise Unusual
    return number


def _is_id(id: Any) -> bool:
    return (
        isinstance(id, str)
        and 0 < len(id) <= 80
        and id.isascii()
        and id.replace("-", "").replace("_", "").isalnum()
    )


def _checked_message(queue: StoredQueue, request: Json) -> tuple[str, int]:
    """Return the body and the delay of a message to send; raises :class:`Unusual`."""
    if not request.keys() <= _SEND | {"Id"}:
        raise Unusual
    body = request.get("MessageBody")
    # MiniStack tells which characters a message may have
    if not isinstance(body, str) or not body or not (body.isascii() and body.isprintable()):
        raise Unusual
    if len(body) > _whole(queue.attributes.get("MaximumMessageSize"), _LARGEST_MESSAGE):
        raise Unusual
    delay = request.get("DelaySeconds", queue.attributes.get("DelaySeconds"))
    return body, _whole(delay, _LONGEST_DELAY)


def _results(entries: list[Json], successes: list[bool]) -> str:
    pairs = list(zip(entries, successes, strict=True))
    good = [{"Id": each["Id"]} for each, success in pairs if success]
    bad = [{"Id": each["Id"], **_BAD_RECEIPT} for each, success in pairs if not success]
    return json_text.dumps({"Successful": good, "Failed": bad})


def _received(messages: list[Json], request: Json) -> str:
    names = request.get("AttributeNames") or request.get("MessageSystemAttributeNames") or []
    user_names = request.get("MessageAttributeNames") or []
    answers = []
    for message in messages:
        answer = {
            "MessageId": message["id"],
            "ReceiptHandle": message["receipt_handle"],
            "MD5OfBody": message["md5_body"],
            "Body": message["body"],
        }
        if attributes := sqs._build_sys_attrs(message, names):
            answer["Attributes"] = attributes
        if members := sqs._filter_msg_attrs(message["message_attributes"], user_names):
            answer["MessageAttributes"] = members
            answer["MD5OfMessageAttributes"] = sqs._md5_msg_attrs(members)
        answers.append(answer)
    return json_text.dumps({"Messages": answers} if answers else {})
