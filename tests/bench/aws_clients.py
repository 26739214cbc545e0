"""Measure the processor time of AWS requests in the client, beside botocore with its defaults.

The connection is replaced by a constant response, so only the client's own work is measured:
serializing, signing, hooks and parsing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch
from zlib import crc32

from botocore import httpsession
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.session import get_session

from chalicelib.core import aws
from tests.bench.timing import rates

# How much of the defaults' processor time a request may take
SMALL_BAR = 0.80
LARGE_BAR = 0.65

_ITEM = {
    "pk": {"S": "transmission#1#7194538123456789"},
    "sk": {"S": "facts#0000000000000042"},
    "ttl": {"N": "1793535000"},
    "facts": {"B": b"\x00\xff" * 300},
    "counts": {"M": {f"count-{number}": {"N": str(number)} for number in range(6)}},
}
_QUEUE = "https://sqs.us-east-1.amazonaws.com/000000000000/delivery"


class _Body:
    """The body of a response, as urllib3 hands it over."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
        yield self._content


def main() -> None:
    """Measure each kind of request with both clients in the same run."""
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
    page = {**_ITEM, "facts": {"B": "AAEC" * 200}}
    _compare(
        ours,
        plain,
        "dynamodb",
        "query",
        response={"Items": [page] * 100, "Count": 100},
        bar=LARGE_BAR,
        TableName="t",
        KeyConditionExpression="pk = :pk",
        ExpressionAttributeValues={":pk": {"S": "p"}},
    )


def _compare(
    ours: dict[str, Any],
    plain: dict[str, Any],
    service: str,
    operation: str,
    response: Any = None,
    bar: float = SMALL_BAR,
    **arguments: Any,
) -> None:
    body = json.dumps(response or {}).encode()
    headers = {"content-type": "application/x-amz-json-1.0", "x-amz-crc32": str(crc32(body))}

    def send(_: Any, request: Any) -> AWSResponse:
        return AWSResponse(request.url, 200, headers, _Body(body))

    tasks = {
        name: lambda clients=clients: getattr(clients[service], operation)(**arguments)
        for name, clients in (("ours", ours), ("plain", plain))
    }
    with patch.object(httpsession.URLLib3Session, "send", send):
        calls = rates(tasks)
    ratio = calls["plain"] / calls["ours"]
    verdict = "holds" if ratio <= bar else "FAILS"
    print(
        f"{operation}: {1e6 / calls['ours']:.0f} us a call, {1e6 / calls['plain']:.0f} with "
        f"botocore's defaults, {ratio:.2f} of it [{verdict}: at most {bar}]",
        flush=True,
    )


if __name__ == "__main__":
    main()
