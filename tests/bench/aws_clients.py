"""Measure the processor time of AWS requests in the client, beside botocore with its defaults.

The requests go over a loopback connection to another process, which answers each with the same
response: serializing, signing, sending, receiving and parsing are measured, and no work of a cloud.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import socket
import threading
from typing import Any
from zlib import crc32

from botocore.config import Config
from botocore.session import get_session

from chalicelib.core import aws
from tests.bench.timing import rates

# How much of the defaults' processor time a request may take
SMALL_BAR = 0.25
LARGE_BAR = 0.33

_ITEM = {
    "pk": {"S": "transmission#1#7194538123456789"},
    "sk": {"S": "facts#0000000000000042"},
    "ttl": {"N": "1793535000"},
    "facts": {"B": b"\x00\xff" * 300},
    "counts": {"M": {f"count-{number}": {"N": str(number)} for number in range(6)}},
}
_QUEUE = "https://sqs.us-east-1.amazonaws.com/000000000000/delivery"


def main() -> None:
    """Measure each kind of request with both clients in the same run."""
    page = {**_ITEM, "facts": {"B": "AAEC" * 200}}
    responses = {"Query": json.dumps({"Items": [page] * 100, "Count": 100}).encode()}
    listener = socket.create_server(("127.0.0.1", 0))
    cloud = multiprocessing.get_context("fork").Process(
        target=_serve, args=(listener, responses), daemon=True
    )
    cloud.start()
    os.environ["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{listener.getsockname()[1]}"
    os.environ |= dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "test")
    os.environ["AWS_DEFAULT_REGION"] = "us-east-1"
    session = get_session()
    config = Config(retries={"max_attempts": 4, "mode": "standard"})
    ours = {"dynamodb": aws.dynamodb(), "sqs": aws.sqs()}
    plain = {name: session.create_client(name, config=config) for name in ours}
    key = {name: _ITEM[name] for name in ("pk", "sk")}
    put = {"Put": {"TableName": "t", "Item": _ITEM}}
    _compare(ours, plain, "dynamodb", "get_item", TableName="t", Key=key)
    _compare(ours, plain, "dynamodb", "put_item", TableName="t", Item=_ITEM)
    _compare(ours, plain, "sqs", "send_message", QueueUrl=_QUEUE, MessageBody="x" * 5000)
    _compare(ours, plain, "dynamodb", "transact_write_items", TransactItems=[put] * 4)
    batch = {"t": [{"PutRequest": {"Item": _ITEM}}] * 25}
    _compare(ours, plain, "dynamodb", "batch_write_item", bar=LARGE_BAR, RequestItems=batch)
    _compare(
        ours,
        plain,
        "dynamodb",
        "query",
        bar=LARGE_BAR,
        TableName="t",
        KeyConditionExpression="pk = :pk",
        ExpressionAttributeValues={":pk": {"S": "p"}},
    )
    cloud.terminate()


def _compare(
    ours: dict[str, Any],
    plain: dict[str, Any],
    service: str,
    operation: str,
    bar: float = SMALL_BAR,
    **arguments: Any,
) -> None:
    tasks = {
        name: lambda clients=clients: getattr(clients[service], operation)(**arguments)
        for name, clients in (("ours", ours), ("plain", plain))
    }
    for task in tasks.values():  # botocore composes the first request of each operation
        task()
    calls = rates(tasks)
    ratio = calls["plain"] / calls["ours"]
    verdict = "holds" if ratio <= bar else "FAILS"
    print(
        f"{operation}: {1e6 / calls['ours']:.0f} us a call, {1e6 / calls['plain']:.0f} with "
        f"botocore's defaults, {ratio:.2f} of it [{verdict}: at most {bar}]",
        flush=True,
    )


def _serve(listener: socket.socket, responses: dict[str, bytes]) -> None:
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=_answer, args=(connection, responses), daemon=True).start()


def _answer(connection: socket.socket, responses: dict[str, bytes]) -> None:
    stream = connection.makefile("rb")
    while stream.readline():
        headers: dict[str, str] = {}
        while (line := stream.readline()) != b"\r\n":
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        stream.read(int(headers["content-length"]))
        body = responses.get(headers["x-amz-target"].rpartition(".")[2], b"{}")
        head = {
            "server": "Server",
            "date": "Sun, 22 Nov 2026 12:00:00 GMT",
            "content-type": "application/x-amz-json-1.0",
            "content-length": str(len(body)),
            "connection": "keep-alive",
            "x-amzn-requestid": "4HQ6BVOQ41UKBL2EIT0EXAMPLEVV4KQNSO5AEMVJF66Q9ASUAAJG",
            "x-amz-crc32": str(crc32(body)),
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        connection.sendall(f"HTTP/1.1 200 OK\r\n{lines}\r\n".encode() + body)


if __name__ == "__main__":
    main()
