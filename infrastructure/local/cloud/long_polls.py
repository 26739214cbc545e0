"""Wake a waiting receiver of a queue as soon as a message is sent.

Repairs (MiniStack 1.5.33):

- MiniStack looks at a queue ten times a second while a receiver waits on it. That costs processor
  time, and a message waits up to a tenth of a second. Here a receiver sleeps until a message is
  sent, is made visible, or becomes visible by itself.
- MiniStack goes on waiting for a receiver that has hung up, and hands it a message that nobody will
  handle. Here the request is cancelled when its client disconnects.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from ministack.services import sqs

from chalicelib.core.json_types import Json

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
AsgiApplication = Callable[[Scope, Receive, Send], Awaitable[None]]

# Not every way into a queue passes the actions below (other services put messages there too).
LONGEST_SLEEP = 1.0

_REVEALING = (
    "SendMessage",
    "SendMessageBatch",
    "ChangeMessageVisibility",
    "ChangeMessageVisibilityBatch",
)


class LongPolls:
    """The receivers that wait, by the name of their queue."""

    def __init__(self) -> None:
        self._receivers: dict[str, set[asyncio.Future[None]]] = {}

    def install(self) -> None:
        """Take the place of MiniStack's own receive action and listen to those that reveal."""
        receive = sqs._HANDLERS["ReceiveMessage"]
        sqs._HANDLERS["ReceiveMessage"] = self._receive_that_waits(receive)
        for action in _REVEALING:
            sqs._HANDLERS[action] = self._waking(sqs._HANDLERS[action])

    def _receive_that_waits(self, receive: Callable[[Json, str], Awaitable[Json]]) -> Any:
        async def receive_when_there_is_something(data: Json, url: str) -> Json:
            queue = sqs._get_q(data.get("QueueUrl", url))
            wait = data.get("WaitTimeSeconds")
            if wait is None:
                wait = queue["attributes"].get("ReceiveMessageWaitTimeSeconds", 0)
            deadline = time.monotonic() + int(wait)
            while True:
                answer = await receive({**data, "WaitTimeSeconds": 0}, url)
                seconds_left = deadline - time.monotonic()
                if answer or seconds_left <= 0:
                    return answer
                await self._sleep(queue["name"], min(seconds_left, _until_visible(queue)))

        return receive_when_there_is_something

    def _waking(self, action: Callable[[Json, str], Json]) -> Callable[[Json, str], Json]:
        def act_and_wake(data: Json, url: str) -> Json:
            answer = action(data, url)
            self._wake(sqs._get_q(data.get("QueueUrl", url))["name"])
            return answer

        return act_and_wake

    async def _sleep(self, queue: str, seconds: float) -> None:
        receivers = self._receivers.setdefault(queue, set())
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        receivers.add(future)
        try:
            await asyncio.wait_for(future, seconds)
        except TimeoutError:
            pass
        finally:
            receivers.discard(future)

    def _wake(self, queue: str) -> None:
        for future in self._receivers.get(queue, ()):
            if not future.done():
                future.set_result(None)


def _until_visible(queue: Json) -> float:
    """Return the seconds until a message of ``queue`` becomes visible, at most LONGEST_SLEEP."""
    earliest = min((message["visible_at"] for message in queue["messages"]), default=float("inf"))
    return min(LONGEST_SLEEP, max(0.005, earliest - sqs.time.time()))


def forget_hung_up(application: AsgiApplication) -> AsgiApplication:
    """Cancel a ReceiveMessage request of ``application`` when its client disconnects."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if (b"x-amz-target", b"AmazonSQS.ReceiveMessage") not in scope.get("headers", ()):
            await application(scope, receive, send)
            return
        messages: asyncio.Queue[MutableMapping[str, Any]] = asyncio.Queue()
        request = asyncio.ensure_future(application(scope, messages.get, send))
        listener = asyncio.ensure_future(_listen(receive, messages, request))
        try:
            await request
        except asyncio.CancelledError:
            if not listener.done():
                request.cancel()
                raise
        finally:
            listener.cancel()

    return serve


async def _listen(
    receive: Receive,
    messages: asyncio.Queue[MutableMapping[str, Any]],
    request: asyncio.Future[None],
) -> None:
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            request.cancel()
            return
        messages.put_nowait(message)
