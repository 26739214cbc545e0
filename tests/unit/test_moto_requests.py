"""Requests that reach moto without HTTP get the responses that botocore gets from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from chalicelib.core import aws
from chalicelib.core.json_types import Json
from chalicelib.core.settings import settings

TABLE = "postfinch-test-config"
KEY = {"pk": {"S": "a"}, "sk": {"S": "b"}}
ITEM = KEY | {
    "binary": {"B": b"\x00\xff"},
    "binaries": {"BS": [b"\x01"]},
    "number": {"N": "1.5"},
    "nothing": {"NULL": True},
    "words": {"SS": ["x"]},
    "tree": {"M": {"list": {"L": [{"BOOL": False}, {"B": b"\x02"}, {"S": "ü"}]}}},
}
TEXTS = {name: ITEM[name] for name in ("pk", "sk", "number", "nothing", "words")}


def call(client: Any, operation: str, parameters: Json) -> Json:
    """Make a call as the service makes it."""
    response: Json = client._make_api_call(operation, parameters)
    return response


def call_botocore(client: Any, operation: str, parameters: Json) -> Json:
    """Make the same call through botocore."""
    response: Json = type(client)._make_api_call(client, operation, parameters)
    return response


def outcome(make: Callable[[Any, str, Json], Json], *arguments: Any) -> Json:
    """Return a response or error without what is about HTTP."""
    try:
        response = make(*arguments)
    except ClientError as error:
        response = {**error.response, "Operation": error.operation_name}
    return {name: value for name, value in response.items() if name != "ResponseMetadata"}


@pytest.mark.parametrize(
    ("operation", "parameters"),
    [
        ("GetItem", {"TableName": TABLE, "Key": KEY}),
        ("GetItem", {"TableName": TABLE, "Key": KEY | {"sk": {"S": "none"}}}),
        ("GetItem", {"TableName": "none", "Key": KEY}),
        ("BatchGetItem", {"RequestItems": {TABLE: {"Keys": [KEY]}}}),
        (
            "Query",
            {
                "TableName": TABLE,
                "KeyConditionExpression": "pk = :pk",
                "ExpressionAttributeValues": {":pk": {"S": "a"}},
                "Limit": 1,
            },
        ),
        ("PutItem", {"TableName": TABLE, "Item": TEXTS, "ReturnValues": "ALL_OLD"}),
        (
            "PutItem",
            {
                "TableName": TABLE,
                "Item": ITEM,
                "ConditionExpression": "attribute_not_exists(pk)",
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            },
        ),
        (
            "TransactWriteItems",
            {
                "TransactItems": [
                    {"Put": {"TableName": TABLE, "Item": ITEM | {"sk": {"S": "c"}}}},
                    {
                        "Put": {
                            "TableName": TABLE,
                            "Item": ITEM,
                            "ConditionExpression": "attribute_not_exists(pk)",
                        }
                    },
                ]
            },
        ),
        (
            "UpdateItem",
            {
                "TableName": TABLE,
                "Key": KEY,
                "UpdateExpression": "SET #n = :n",
                "ExpressionAttributeNames": {"#n": "number"},
                "ExpressionAttributeValues": {":n": {"N": "2"}},
                "ReturnValues": "ALL_NEW",
            },
        ),
    ],
)
def test_answers_are_those_that_botocore_gets(
    cloud: None, operation: str, parameters: Json
) -> None:
    client = aws.dynamodb()
    # moto itself encodes the bytes of returned attributes twice
    client.put_item(TableName=TABLE, Item=TEXTS if "ReturnValues" in parameters else ITEM)
    assert outcome(call, client, operation, parameters) == outcome(
        call_botocore, client, operation, parameters
    )


def test_a_failed_transaction_leaves_every_item_as_it_was(cloud: None) -> None:
    client = aws.dynamodb()
    client.put_item(TableName=TABLE, Item=ITEM)
    update: Any = {
        "TableName": TABLE,
        "Key": KEY,
        "UpdateExpression": "SET words = :n",
        "ExpressionAttributeValues": {":n": {"S": "y"}},
    }
    new: Any = {"TableName": TABLE, "Item": ITEM | {"sk": {"S": "c"}}}
    check: Any = {
        "TableName": TABLE,
        "Key": KEY | {"sk": {"S": "d"}},
        "ConditionExpression": "attribute_exists(pk)",
    }
    with pytest.raises(client.exceptions.TransactionCanceledException):
        client.transact_write_items(
            TransactItems=[{"Update": update}, {"Put": new}, {"ConditionCheck": check}]
        )
    query: Any = {
        "TableName": TABLE,
        "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": {":pk": {"S": "a"}},
    }
    assert client.query(**query)["Items"] == [ITEM]


def test_messages_come_back_as_botocore_gets_them(cloud: None) -> None:
    client = aws.sqs()
    url = client.get_queue_url(QueueName=settings().queue("generation"))["QueueUrl"]
    attributes: Any = {"bytes": {"DataType": "Binary", "BinaryValue": b"\x00"}}
    message: Any = {"QueueUrl": url, "MessageBody": "ü", "MessageAttributes": attributes}
    receive: Any = {
        "QueueUrl": url,
        "MessageAttributeNames": ["All"],
        "AttributeNames": ["ApproximateReceiveCount"],
    }
    messages = []
    for make in (call, call_botocore):
        response = outcome(make, client, "SendMessage", message)
        (received,) = outcome(make, client, "ReceiveMessage", receive)["Messages"]
        assert response.pop("MessageId") == received.pop("MessageId")
        del received["ReceiptHandle"]
        messages.append((response, received))
    assert messages[0] == messages[1]
