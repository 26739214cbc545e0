"""What event source mappings and schedules do on AWS: call the functions when there is work.

``python -m infrastructure.local.worker --name worker-1`` polls each queue of ``app.QUEUE_HANDLERS``
in a thread of its own, passes what it receives as an SQS event, and deletes what the handler did
not report as failed. A failed message is shown again after 1, 2, 4 and 8 seconds; the queue's own
limit then moves it to the dead-letter queue. A crash hides messages for ``VISIBILITY`` seconds.

With ``--schedules`` the process also calls each function of ``app.SCHEDULES`` every second, where
AWS calls them every minute.

SIGTERM: batches in hand are finished, then the process ends.
"""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.core import aws
from chalicelib.core.settings import settings

log = logging.getLogger(__name__)

Json = dict[str, Any]
Handler = Callable[[Json, Any], Json]

# Messages to a call: chunks and units of delivery are large, and both workers should get some.
BATCH_SIZES = {"generation": 1, "delivery": 4, "events": 10, "ingest": 1}
# A slow mail host or webhook target holds up the thread that it answers, and no other.
THREADS = {"generation": 4, "delivery": 3, "webhook-batches": 8}
# Messages to a call of a queue with a batching window; SQS hands out ten at a time.
MOST_GATHERED = 200
RECEIVE_BATCH = 10
LONG_POLL = 20
VISIBILITY = 12
HEARTBEAT = 4.0
TICK = 1.0
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 1.0

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@dataclass(frozen=True, slots=True)
class Context:
    """The part of Lambda's context object that a handler may look at."""

    function_name: str
    memory_limit_in_mb: int = 512
    aws_request_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    _deadline: float = field(default_factory=lambda: time.monotonic() + 900)

    @property
    def invoked_function_arn(self) -> str:
        """Return the address of the function."""
        return f"arn:aws:lambda:us-east-1:000000000000:function:{self.function_name}"

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds until Lambda would end the call."""
        return int((self._deadline - time.monotonic()) * 1000)


class Consumer:
    """One queue, its handler, and the thread that brings them together.

    ``receiver`` is a client that does not retry: the thread does, and sooner.
    """

    def __init__(self, queue: str, handler: Handler, receiver: Any) -> None:
        self._queue = queue
        self._handler = handler
        self._receiver = receiver
        self._client: Any = aws.sqs()
        self._batch_size = BATCH_SIZES.get(queue, 10)
        self._window = batching_window(queue)
        self._url = ""
        self._working = threading.Lock()

    def start(self) -> None:
        """Poll in a thread of its own, for as long as the process lives."""
        threading.Thread(target=self._poll, name=self._queue, daemon=True).start()

    def finish(self) -> None:
        """Return when no batch is in hand, and let no other begin."""
        self._working.acquire()

    def _poll(self) -> None:
        pause = FIRST_PAUSE
        while True:
            try:
                self._consume_once()
                pause = FIRST_PAUSE
            except Exception as error:
                surprising = not isinstance(error, BotoCoreError | ClientError)
                log.warning("going on in %.1f s after: %s", pause, error, exc_info=surprising)
                time.sleep(pause)
                pause = min(LONGEST_PAUSE, pause * 2)

    def _consume_once(self) -> None:
        if not self._url:
            name = settings().queue(self._queue)
            self._url = self._receiver.get_queue_url(QueueName=name)["QueueUrl"]
        messages = self._received(self._batch_size, LONG_POLL)
        if messages:
            with self._working:
                self._consume([*messages, *self._later(messages)])

    def _received(self, most: int, wait: int) -> list[Json]:
        return self._receiver.receive_message(
            QueueUrl=self._url,
            MaxNumberOfMessages=most,
            WaitTimeSeconds=wait,
            VisibilityTimeout=VISIBILITY,
            MessageSystemAttributeNames=["All"],
            MessageAttributeNames=["All"],
        ).get("Messages", [])

    def _later(self, messages: Sequence[Json]) -> list[Json]:
        """Return what arrives within the batching window that ``messages`` open."""
        later: list[Json] = []
        if self._window:
            with self._kept_hidden(messages):
                time.sleep(self._window)
            while len(later) < MOST_GATHERED and (more := self._received(RECEIVE_BATCH, 0)):
                later += more
        return later

    def _consume(self, messages: Sequence[Json]) -> None:
        with self._kept_hidden(messages):
            failed = self._failures(messages)
        done = [message for message in messages if message["MessageId"] not in failed]
        for some in _tens(done):
            self._client.delete_message_batch(
                QueueUrl=self._url,
                Entries=[
                    {"Id": str(i), "ReceiptHandle": message["ReceiptHandle"]}
                    for i, message in enumerate(some)
                ],
            )
        for message in messages:
            if message["MessageId"] in failed:
                self._show_again([message], retry_pause(message))

    def _failures(self, messages: Sequence[Json]) -> set[str]:
        """Call the handler; return the ids of the messages that it did not finish."""
        try:
            answer = self._handler(sqs_event(self._queue, messages), Context(self._queue))
            failures = (answer or {}).get("batchItemFailures", [])
            return {failure["itemIdentifier"] for failure in failures}
        except Exception:
            log.exception("the handler failed")
            return {message["MessageId"] for message in messages}

    @contextmanager
    def _kept_hidden(self, messages: Sequence[Json]) -> Iterator[None]:
        """Extend the messages' time-out for as long as the block runs."""
        done = threading.Event()

        def extend() -> None:
            while not done.wait(HEARTBEAT):
                try:
                    self._show_again(messages, VISIBILITY)
                except (BotoCoreError, ClientError) as error:
                    log.warning("messages may be shown again: %s", error)

        heartbeat = threading.Thread(target=extend, daemon=True)
        heartbeat.start()
        try:
            yield
        finally:
            done.set()
            heartbeat.join()

    def _show_again(self, messages: Sequence[Json], seconds: int) -> None:
        for some in _tens(messages):
            self._client.change_message_visibility_batch(
                QueueUrl=self._url,
                Entries=[
                    {
                        "Id": str(i),
                        "ReceiptHandle": message["ReceiptHandle"],
                        "VisibilityTimeout": seconds,
                    }
                    for i, message in enumerate(some)
                ],
            )


class Clockwork:
    """One scheduled function and the thread that calls it every ``TICK`` seconds."""

    def __init__(self, name: str, function: Handler) -> None:
        self._name = name
        self._function = function
        self._working = threading.Lock()

    def start(self) -> None:
        """Call in a thread of its own, for as long as the process lives."""
        threading.Thread(target=self._run, name=self._name, daemon=True).start()

    def finish(self) -> None:
        """Return when no call is under way, and let no other begin."""
        self._working.acquire()

    def _run(self) -> None:
        while True:
            time.sleep(TICK)
            with self._working:
                try:
                    self._function(scheduled_event(self._name), Context(self._name))
                except Exception:
                    log.exception("%s failed; it is called again", self._name)


def batching_window(queue: str) -> float:
    """Return the seconds that a queue's consumer waits for more messages, as ``app.py`` says."""
    return settings().webhook_window if queue == "webhook-events" else 0.0


def _tens(messages: Sequence[Json]) -> Iterator[Sequence[Json]]:
    """Yield as many messages at a time as one request to SQS takes."""
    return (messages[i : i + RECEIVE_BATCH] for i in range(0, len(messages), RECEIVE_BATCH))


def scheduled_event(name: str) -> Json:
    """Return the event with which a schedule calls its function."""
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "account": "000000000000",
        "region": os.environ.get("AWS_DEFAULT_REGION", "us-east-1"),
        "detail": {},
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "resources": [name],
    }


def retry_pause(message: Json) -> int:
    """Return the seconds after which a failed message is shown again: 1, doubled each time."""
    received = int(message["Attributes"]["ApproximateReceiveCount"])
    return int(min(VISIBILITY, 2 ** (received - 1)))


def sqs_event(queue: str, messages: Sequence[Json]) -> Json:
    """Return ``messages``, as the SQS API gave them, in the form in which Lambda passes them."""
    return {"Records": [_record(queue, message) for message in messages]}


def _record(queue: str, message: Json) -> Json:
    region = os.environ.get("AWS_DEFAULT_REGION", "us-east-1")
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "md5OfBody": message["MD5OfBody"],
        "attributes": message.get("Attributes", {}),
        "messageAttributes": {
            name: {key[0].lower() + key[1:]: part for key, part in value.items()}
            for name, value in message.get("MessageAttributes", {}).items()
        },
        "eventSource": "aws:sqs",
        "eventSourceARN": f"arn:aws:sqs:{region}:000000000000:{settings().queue(queue)}",
        "awsRegion": region,
    }


def work(handlers: Mapping[str, Handler], schedules: Mapping[str, Handler] | None = None) -> None:
    """Consume queues and call schedules until SIGTERM or SIGINT; then finish and return."""
    # Blocked before threads exist, so that only the wait below takes the signals.
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    consumers = sum(THREADS.get(queue, 1) for queue in handlers)
    config = Config(
        retries={"total_max_attempts": 1},
        read_timeout=LONG_POLL + 10,
        max_pool_connections=consumers,
    )
    receiver = boto3.client("sqs", config=config)
    threads: list[Consumer | Clockwork] = [
        *(
            Consumer(queue, handler, receiver)
            for queue, handler in handlers.items()
            for _ in range(THREADS.get(queue, 1))
        ),
        *(Clockwork(name, function) for name, function in (schedules or {}).items()),
    ]
    for thread in threads:
        thread.start()
    signal.sigwait(_SIGNALS)
    for thread in threads:
        thread.finish()


def main(arguments: list[str] | None = None) -> None:
    """Consume the queues of ``app.py``."""
    parser = argparse.ArgumentParser(description="Consume the queues, as Lambda does on AWS.")
    parser.add_argument("--name", default="worker", help="what its log lines are headed with")
    parser.add_argument("--schedules", action="store_true", help="call the scheduled functions too")
    given = parser.parse_args(arguments)
    logging.basicConfig(
        level=settings().log_level,
        format=f"%(asctime)s {given.name} %(threadName)s %(levelname)s %(message)s",
    )
    logging.getLogger("botocore").setLevel(logging.WARNING)
    app = importlib.import_module("app")
    work(app.QUEUE_HANDLERS, app.SCHEDULES if given.schedules else None)
    # Threads that wait for messages would keep the process; the queue notices that they are gone.
    os._exit(0)


if __name__ == "__main__":
    main()
