"""Run the operator's commands about dead letters: messages that failed in each of five tries.

They are work that was accepted and is not done. Once the cause is repaired they can be moved back
to their queue; it is safe to handle all of them again, nothing is done twice.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

from chalicelib.core import aws
from chalicelib.core.json_types import Json
from chalicelib.core.settings import settings
from infrastructure.admin.accounts import Refused

#: Adds a command: its name and what runs it
Adding = Callable[..., argparse.ArgumentParser]

_SUFFIX = "-dead"
_COUNTS: Any = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
# Others do not see a message while it is moved
_VISIBILITY_SECONDS = 60
_WAIT_SECONDS = 1


def add_commands(command: Adding) -> None:
    """Add the commands about dead letters to the tool."""
    command("list-dead-letters", list_dead_letters, of_account=False)
    redrive = command("redrive-dead-letters", redrive_dead_letters, of_account=False)
    redrive.add_argument(
        "queue", nargs="?", help="queue to which its dead letters go back (default: every queue)"
    )


def list_dead_letters(options: argparse.Namespace) -> None:
    """List the queues whose messages failed too often, with the number of these messages."""
    for queue, count in counts().items():
        print(f"{queue}\t{count}")


def redrive_dead_letters(options: argparse.Namespace) -> None:
    """Move dead letters back to the queues they came from, where they are tried again."""
    queues = list(counts())
    if options.queue is not None:
        if options.queue not in queues:
            raise Refused(f"{options.queue} has no dead letters: {', '.join(queues) or 'none has'}")
        queues = [options.queue]
    for queue in queues:
        print(f"{queue}\t{_redrive(queue)}")


def counts() -> dict[str, int]:
    """Return the numbers of dead letters by queue, without queues that have none."""
    numbers = {name: _count(url) for name, url in _dead_letter_queues()}
    return {name: number for name, number in numbers.items() if number}


def _redrive(queue: str) -> int:
    """Move the dead letters of ``queue`` back; return how many."""
    client, full_name = aws.sqs(), settings().queue(queue)
    source = client.get_queue_url(QueueName=full_name)["QueueUrl"]
    dead = client.get_queue_url(QueueName=f"{full_name}{_SUFFIX}")["QueueUrl"]
    moved = 0
    while messages := _receive(dead):
        for message in messages:
            client.send_message(QueueUrl=source, **_request(message))
            client.delete_message(QueueUrl=dead, ReceiptHandle=message["ReceiptHandle"])
            moved += 1
    return moved


def _receive(url: str) -> list[Json]:
    response: Json = aws.sqs().receive_message(  # type: ignore[assignment]
        QueueUrl=url,
        MaxNumberOfMessages=10,
        VisibilityTimeout=_VISIBILITY_SECONDS,
        WaitTimeSeconds=_WAIT_SECONDS,
        MessageSystemAttributeNames=["MessageGroupId"],
        MessageAttributeNames=["All"],
    )
    return response.get("Messages", [])


def _request(message: Json) -> Json:
    request = {"MessageBody": message["Body"]}
    if attributes := message.get("MessageAttributes"):
        request["MessageAttributes"] = attributes
    if group := message.get("Attributes", {}).get("MessageGroupId"):
        request["MessageGroupId"] = group
    return request


def _dead_letter_queues() -> Iterator[tuple[str, str]]:
    """Yield the name of each queue that has a dead-letter queue, and the URL of the latter."""
    prefix = settings().queue("")
    pages = aws.sqs().get_paginator("list_queues").paginate(QueueNamePrefix=prefix)
    for page in pages:
        for url in page.get("QueueUrls", []):
            name = url.rpartition("/")[2]
            if name.endswith(_SUFFIX):
                yield name.removeprefix(prefix).removesuffix(_SUFFIX), url


def _count(url: str) -> int:
    response = aws.sqs().get_queue_attributes(QueueUrl=url, AttributeNames=_COUNTS)
    return sum(int(response["Attributes"][name]) for name in _COUNTS)
