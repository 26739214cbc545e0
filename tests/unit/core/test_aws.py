from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from botocore.parsers import ResponseParserFactory
from botocore.session import get_session
from hypothesis import given, settings
from hypothesis import strategies as st
from moto import mock_aws

from chalicelib.core import aws
from chalicelib.core.item_parser import ItemParserFactory

_BASE64 = st.binary(max_size=12).map(lambda raw: b64encode(raw).decode())
_SCALARS = st.one_of(
    st.fixed_dictionaries({"S": st.text(max_size=8)}),
    st.fixed_dictionaries({"N": st.integers().map(str)}),
    st.fixed_dictionaries({"B": _BASE64}),
    st.fixed_dictionaries({"BOOL": st.booleans()}),
    st.fixed_dictionaries({"NULL": st.just(True)}),
    st.fixed_dictionaries({"SS": st.lists(st.text(max_size=4), max_size=3)}),
    st.fixed_dictionaries({"NS": st.lists(st.integers().map(str), max_size=3)}),
    st.fixed_dictionaries({"BS": st.lists(_BASE64, max_size=3)}),
)
_ATTRIBUTES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.fixed_dictionaries({"L": st.lists(inner, max_size=3)})
        | st.fixed_dictionaries({"M": st.dictionaries(st.text(max_size=4), inner, max_size=3)})
    ),
    max_leaves=10,
)
_ITEMS = st.dictionaries(st.text(max_size=6), _ATTRIBUTES, max_size=4)
_QUERY = get_session().get_service_model("dynamodb").operation_model("Query")


def parsed(factory: ResponseParserFactory, body: Any) -> Any:
    response = {"status_code": 200, "headers": {}, "body": json.dumps(body).encode(), "context": {}}
    return factory.create_parser("json").parse(response, _QUERY.output_shape)


@settings(max_examples=200, deadline=None)
@given(st.lists(_ITEMS, max_size=3), _ITEMS)
def test_items_are_parsed_as_botocore_parses_them(items: list[Any], last_key: Any) -> None:
    body = {"Items": items, "Count": len(items), "LastEvaluatedKey": last_key}
    assert parsed(ItemParserFactory(), body) == parsed(ResponseParserFactory(), body)


@pytest.fixture
def fresh_clients() -> Any:
    aws.clear_cache()
    yield
    aws.clear_cache()


@pytest.mark.usefixtures("fresh_clients")
def test_aws_refuses_wrong_parameters_that_the_client_no_longer_checks() -> None:
    with mock_aws(), pytest.raises(ClientError) as failure:
        aws.sqs().get_queue_url(QueueName="no-such-queue")
    assert failure.value.response["Error"]["Code"] == "AWS.SimpleQueueService.NonExistentQueue"
    with mock_aws(), pytest.raises(ClientError):
        aws.dynamodb().get_item(TableName="no-such-table", Key={"pk": {"S": "p"}})


@pytest.mark.usefixtures("fresh_clients")
def test_a_cloud_that_is_out_of_reach_is_an_overload(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    client = aws.make_client("sqs", retries={"total_max_attempts": 1})
    with pytest.raises(EndpointConnectionError) as failure:
        client.get_queue_url(QueueName="any")
    assert aws.is_overload(failure.value)


@pytest.mark.usefixtures("fresh_clients")
def test_clients_that_were_made_before_work_came_are_those_that_work_uses() -> None:
    aws.make_clients()
    made_clients = aws.dynamodb(), aws.sqs(), aws.s3()
    aws.make_clients()
    assert (aws.dynamodb(), aws.sqs(), aws.s3()) == made_clients
