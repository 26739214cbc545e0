from __future__ import annotations

import datetime
import json
import ssl
import sys
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials, RefreshableCredentials
from botocore.exceptions import EndpointConnectionError, SSLError
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from chalicelib.core import aws
from chalicelib.core.aws_requests import PreparedRequests
from chalicelib.core.botocore_faults import report_unprepared
from tests.unit.core.scripted_aws import (
    ScriptedAws,
    SeenRequest,
    Step,
    and_closed,
    raw_response,
    reset,
    response,
    scripted_aws,
    silence,
    written,
)

_ITEM = {
    "pk": {"S": "pk"},
    "bytes": {"B": b"\x00\xff"},
    "inner": {"M": {"list": {"L": [{"N": "1"}, {"B": b"b"}]}, "set": {"BS": [b"c"]}}},
}
_ITEM_JSON = {
    "pk": {"S": "pk"},
    "bytes": {"B": "AP8="},
    "inner": {"M": {"list": {"L": [{"N": "1"}, {"B": "Yg=="}]}, "set": {"BS": ["Yw=="]}}},
}
_QUEUE = "http://queue.invalid/1/q"


def fault(code: str, status: int = 400, **fields: Any) -> Step:
    body = {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "why", **fields}
    return response(status, body)


class Outcome(NamedTuple):
    """What a caller sees of a call, and how many requests it took."""

    error: str
    result: Any
    requests: int


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give clients of a real connection; retries do not wait."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKID")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "SECRET")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for name in ("AWS_SESSION_TOKEN", "AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=lambda _: None))
    aws.clear_cache()
    yield
    aws.clear_cache()


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedAws]:
    with scripted_aws() as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.port}")
        yield server


def prepared(service: str, operation: str, arguments: Any, **options: Any) -> Any:
    """Return a client that has sent one request of the operation."""
    client = aws.make_client(service, **options)
    getattr(client, operation)(**arguments)
    return client


def botocores_own(service: str, operation: str, arguments: Any, **options: Any) -> Any:
    """Return a client that sends each request as botocore does."""
    client = prepared(service, operation, arguments, **options)
    del client._make_api_call  # what `prepare_requests` sets on the client
    return client


def outcome(
    make: Callable[..., Any], cloud: ScriptedAws, script: list[Step], call: tuple[str, str, Any]
) -> Outcome:
    service, operation, arguments = call
    options = {"read_timeout": 0.2} if silence in script else {}
    client = make(service, operation, arguments, **options)
    cloud.script[:] = list(script)
    before = len(cloud.requests)
    error, result = "", None
    try:
        result = getattr(client, operation)(**arguments)
    except Exception as failure:
        error = f"{type(failure).__mro__} {failure!s}"
        result = getattr(failure, "response", None)
    return Outcome(error, result, len(cloud.requests) - before)


_PUT = ("dynamodb", "put_item", {"TableName": "t", "Item": _ITEM})
_GET = ("dynamodb", "get_item", {"TableName": "t", "Key": {"pk": {"S": "pk"}}})
_TRANSACT = (
    "dynamodb",
    "transact_write_items",
    {"TransactItems": [{"Put": {"TableName": "t", "Item": _ITEM}}]},
)
_SEND = ("sqs", "send_message", {"QueueUrl": _QUEUE, "MessageBody": "x"})
_THROTTLED = fault("ProvisionedThroughputExceededException")
_FOUR_FAULTS = [raw_response(500, b"oops")] * 4

FAILURES: dict[str, tuple[list[Step], tuple[str, str, Any]]] = {
    "condition with item": (
        [fault("ConditionalCheckFailedException", Item=_ITEM_JSON)],
        _PUT,
    ),
    "cancelled transaction": (
        [
            fault(
                "TransactionCanceledException",
                CancellationReasons=[
                    {"Code": "None"},
                    {"Code": "ConditionalCheckFailed", "Item": _ITEM_JSON, "Message": "no"},
                ],
            )
        ],
        _TRANSACT,
    ),
    "throttled once": ([_THROTTLED, response(body={"Item": _ITEM_JSON})], _GET),
    "throttled always": ([_THROTTLED] * 4, _PUT),
    "fault once": ([raw_response(500, b""), response(body={})], _PUT),
    "fault always": (_FOUR_FAULTS, _PUT),
    "unavailable": ([raw_response(503, b"<html>no</html>")] * 4, _SEND),
    "expired credentials": ([fault("ExpiredTokenException")], _PUT),
    "no such table": ([fault("ResourceNotFoundException")], _GET),
    "no such queue": (
        [
            response(
                400,
                {"__type": "com.amazonaws.sqs#QueueDoesNotExist", "message": "no"},
                x_amzn_query_error="AWS.SimpleQueueService.NonExistentQueue;Sender",
            )
        ],
        _SEND,
    ),
    "reset once": ([reset], _PUT),
    "reset always": ([reset] * 4, _PUT),
    "cut head": ([and_closed(written(b"HTTP/1.1 2"))] * 4, _PUT),
    "cut chunks": (
        [and_closed(written(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n{}"))] * 4,
        _GET,
    ),
    "no HTTP": ([and_closed(written(b"hello\r\n\r\n"))] * 4, _GET),
    "time-out once": ([silence, response(body={"Item": _ITEM_JSON})], _GET),
    "time-out always": ([silence] * 4, _GET),
    "wrong checksum once": (
        [raw_response(200, b"{}", x_amz_crc32="1"), response(body={"Item": _ITEM_JSON})],
        _GET,
    ),
    "no JSON": ([raw_response(200, b"<html>")], _SEND),
}


@pytest.mark.parametrize("case", FAILURES.values(), ids=FAILURES)
def test_a_call_that_fails_fails_as_botocores_does(cloud: ScriptedAws, case: Any) -> None:
    script, call = case
    assert outcome(prepared, cloud, script, call) == outcome(botocores_own, cloud, script, call)


def test_a_response_that_ends_within_its_body_is_no_success(cloud: ScriptedAws) -> None:
    """Newer versions of botocore do not look at the length."""
    complete = response(body={"Item": _ITEM_JSON})
    script = [and_closed(raw_response(200, b"{}", content_length="9")), complete]
    assert outcome(prepared, cloud, script, _GET).result["Item"] == _ITEM
    assert len(cloud.requests) == 3


def test_a_response_that_ends_within_its_headers_is_no_success(cloud: ScriptedAws) -> None:
    # botocore's own connections take it for one
    client = prepared(*_GET)
    cut = and_closed(written(b"HTTP/1.1 200 OK\r\nContent-Le"))
    cloud.script[:] = [cut, response(body={"Item": _ITEM_JSON})]
    assert client.get_item(**_GET[2])["Item"] == _ITEM


def test_a_cloud_that_is_gone_fails_as_botocores_call_does(cloud: ScriptedAws) -> None:
    cloud.script[:] = [and_closed(response(body={}))] * 2
    clients = [make(*_PUT) for make in (prepared, botocores_own)]
    for _ in clients:
        assert cloud.closed_connections.acquire(timeout=5)
    cloud.close()
    errors = []
    for client in clients:
        with pytest.raises(EndpointConnectionError) as error:
            client.put_item(**_PUT[2])
        errors.append(str(error.value))
    assert errors[0] == errors[1]


RESPONSES: dict[str, tuple[Any, tuple[str, str, Any]]] = {
    "get": ({"Item": _ITEM_JSON, "ConsumedCapacity": None}, _GET),
    "nothing": ({}, _GET),
    "put": ({"Attributes": _ITEM_JSON}, _PUT),
    "query": (
        {"Items": [_ITEM_JSON], "Count": 1, "LastEvaluatedKey": {"pk": {"B": "AP8="}}},
        ("dynamodb", "query", {"TableName": "t", "KeyConditionExpression": "pk = :pk"}),
    ),
    "batch get": (
        {
            "Responses": {"t": [_ITEM_JSON]},
            "UnprocessedKeys": {"t": {"Keys": [{"pk": {"B": "AP8="}}], "ConsistentRead": True}},
        },
        ("dynamodb", "batch_get_item", {"RequestItems": {"t": {"Keys": [{"pk": {"S": "p"}}]}}}),
    ),
    "batch write": (
        {
            "UnprocessedItems": {
                "t": [
                    {"PutRequest": {"Item": _ITEM_JSON}},
                    {"DeleteRequest": {"Key": {"pk": {"B": "AP8="}}}},
                ]
            }
        },
        (
            "dynamodb",
            "batch_write_item",
            {"RequestItems": {"t": [{"PutRequest": {"Item": _ITEM}}]}},
        ),
    ),
    "transaction": ({}, _TRANSACT),
    "delete": (
        {"Attributes": _ITEM_JSON},
        ("dynamodb", "delete_item", {"TableName": "t", "Key": {"pk": {"S": "p"}}}),
    ),
    "update": (
        {"Attributes": _ITEM_JSON},
        ("dynamodb", "update_item", {"TableName": "t", "Key": {"pk": {"S": "p"}}}),
    ),
    "send": ({"MessageId": "1", "MD5OfMessageBody": "9dd4e461268c8034f5c8564e155c67a6"}, _SEND),
    "send batch": (
        {"Successful": [{"Id": "0", "MessageId": "1"}], "Failed": None},
        (
            "sqs",
            "send_message_batch",
            {"QueueUrl": _QUEUE, "Entries": [{"Id": "0", "MessageBody": "x"}]},
        ),
    ),
    "receive": (
        {
            "Messages": [
                {
                    "MessageId": "1",
                    "Body": "é",
                    "Attributes": {"ApproximateReceiveCount": "1"},
                    "MessageAttributes": {"a": {"DataType": "Binary", "BinaryValue": "AP8="}},
                }
            ]
        },
        ("sqs", "receive_message", {"QueueUrl": _QUEUE, "WaitTimeSeconds": 0}),
    ),
    "delete messages": (
        {"Successful": [{"Id": "0"}]},
        (
            "sqs",
            "delete_message_batch",
            {"QueueUrl": _QUEUE, "Entries": [{"Id": "0", "ReceiptHandle": "h"}]},
        ),
    ),
}


@pytest.mark.parametrize("case", RESPONSES.values(), ids=RESPONSES)
def test_requests_and_results_are_botocores(cloud: ScriptedAws, case: Any) -> None:
    body, call = case
    ours = outcome(prepared, cloud, [response(body=body)], call)
    request = cloud.requests[-1]
    assert ours == outcome(botocores_own, cloud, [response(body=body)], call)
    _assert_same_request(request, cloud.requests[-1])
    _assert_signed(request)


def _assert_same_request(ours: SeenRequest, botocores: SeenRequest) -> None:
    of_attempts = {"amz-sdk-invocation-id", "amz-sdk-request"}
    assert set(ours.headers) == set(botocores.headers) - of_attempts
    for name in ("host", "x-amz-target", "content-type", "user-agent", "accept-encoding"):
        assert ours.headers[name] == botocores.headers[name]
    bodies = [json.loads(request.body) for request in (ours, botocores)]
    for body in bodies:
        assert body.pop("ClientRequestToken", "x" * 36)[8:9] in "-x"
    assert bodies[0] == bodies[1]


def _assert_signed(request: SeenRequest) -> None:
    """Sign the request again with botocore: the same headers, at the same time."""
    authorization = request.headers["authorization"]
    signed = authorization.partition("SignedHeaders=")[2].partition(",")[0].split(";")
    assert {"host", "x-amz-date", "x-amz-target", "content-type"} <= set(signed)
    again = AWSRequest(
        "POST",
        f"http://{request.headers['host']}/",
        headers={name: request.headers[name] for name in signed if name != "host"},
        data=request.body,
    )
    again.context["timestamp"] = request.headers["x-amz-date"]
    service = authorization.split("/")[3]
    credentials = Credentials("AKID", "SECRET")
    signer = SigV4Auth(credentials, service, authorization.split("/")[2])
    text = signer.string_to_sign(again, signer.canonical_request(again))
    assert authorization.endswith(f"Signature={signer.signature(text, again)}")


def test_a_response_in_chunks_is_put_together(cloud: ScriptedAws) -> None:
    client = prepared(*_SEND)
    chunks = b'5;x=y\r\n{"Mes\r\n7\r\nsageId"\r\n5\r\n:"1"}\r\n0\r\nTrailer: 1\r\n\r\n'
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    cloud.script[:] = [written(b"HTTP/1.1 100 Continue\r\n\r\n" + head + chunks)]
    assert client.send_message(**_SEND[2])["MessageId"] == "1"
    assert client.send_message(**_SEND[2])["ResponseMetadata"]["HTTPStatusCode"] == 200
    assert len({request.connection for request in cloud.requests[1:]}) == 1


def test_a_response_without_a_length_ends_with_its_connection(cloud: ScriptedAws) -> None:
    client = prepared(*_SEND)
    cloud.script[:] = [and_closed(written(b'HTTP/1.1 200 OK\r\n\r\n{"MessageId":"1"}'))]
    assert client.send_message(**_SEND[2])["MessageId"] == "1"
    client.send_message(**_SEND[2])
    assert len({request.connection for request in cloud.requests[1:]}) == 2


def test_a_connection_that_was_closed_meanwhile_costs_no_attempt(cloud: ScriptedAws) -> None:
    client = prepared(*_PUT)
    cloud.script[:] = [and_closed(response(body={})), response(body={})]
    client.put_item(**_PUT[2])
    assert cloud.closed_connections.acquire(timeout=5)
    assert client.put_item(**_PUT[2])["ResponseMetadata"]["RetryAttempts"] == 0
    assert len(cloud.requests) == 3


def test_successes_give_back_what_retries_took_from_the_quota(cloud: ScriptedAws) -> None:
    client = prepared(*_GET, retries={"total_max_attempts": 2, "mode": "standard"})
    # A failed call takes five or more of the quota's 500
    for _ in range(120):
        cloud.script[:] = [_THROTTLED, _THROTTLED]
        with pytest.raises(client.exceptions.ProvisionedThroughputExceededException):
            client.get_item(**_GET[2])
    before = len(cloud.requests)
    cloud.script[:] = [_THROTTLED]
    with pytest.raises(client.exceptions.ProvisionedThroughputExceededException):
        client.get_item(**_GET[2])
    assert len(cloud.requests) - before == 1  # nothing is left of the quota
    cloud.script[:] = []
    for _ in range(20):
        client.get_item(**_GET[2])
    cloud.script[:] = [_THROTTLED, response(body={"Item": _ITEM_JSON})]
    assert client.get_item(**_GET[2])["Item"] == _ITEM


def test_a_transaction_that_is_tried_again_keeps_its_token(cloud: ScriptedAws) -> None:
    client = prepared(*_TRANSACT)
    cloud.script[:] = [raw_response(500, b""), response(body={})]
    client.transact_write_items(**_TRANSACT[2])
    first, *later = (json.loads(each.body)["ClientRequestToken"] for each in cloud.requests)
    assert later[0] == later[1] != first


def test_new_credentials_sign_the_next_request(
    cloud: ScriptedAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = datetime.datetime.now(datetime.UTC)
    soon = (now + datetime.timedelta(seconds=1)).isoformat()
    later = (now + datetime.timedelta(hours=6)).isoformat()
    expiries = iter([soon, later])

    def fetch() -> dict[str, str]:
        expiry = next(expiries)
        key = "FIRST" if expiry == soon else "SECOND"
        return {"access_key": key, "secret_key": "s", "token": key, "expiry_time": expiry}

    credentials = RefreshableCredentials.create_from_metadata(fetch(), fetch, "test")
    monkeypatch.setattr(aws._session(), "_credentials", credentials)
    client = prepared(*_PUT)
    client.put_item(**_PUT[2])
    last = cloud.requests[-1].headers
    assert last["x-amz-security-token"] == "SECOND"
    assert "Credential=SECOND/" in last["authorization"]
    assert "x-amz-security-token" in last["authorization"]


def test_a_function_passes_its_trace_on(
    cloud: ScriptedAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = prepared(*_PUT)
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
    monkeypatch.setenv("_X_AMZN_TRACE_ID", "Root=1;Lineage=2")
    client.put_item(**_PUT[2])
    assert cloud.requests[-1].headers["x-amzn-trace-id"] == "Root=1;Lineage=2"


@pytest.mark.parametrize("variable", ["AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"])
def test_certificates_are_checked_with_the_configured_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    trusted, other = _certificate(tmp_path / "trusted"), _certificate(tmp_path / "other")
    monkeypatch.setenv(variable, str(trusted))
    with scripted_aws(_server_tls(trusted)) as cloud:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"https://127.0.0.1:{cloud.port}")
        client = prepared(*_PUT, retries={"total_max_attempts": 1, "mode": "standard"})
        client.put_item(**_PUT[2])
        assert "amz-sdk-request" not in cloud.requests[-1].headers

        client = prepared(*_PUT, retries={"total_max_attempts": 1, "mode": "standard"})
        cloud.tls = _server_tls(other)
        with pytest.raises(SSLError):
            client.put_item(**_PUT[2])


def _server_tls(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def _certificate(path: Path) -> Path:
    """Write a certificate of 127.0.0.1 that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    private = key.private_bytes(
        encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + certificate.public_bytes(encoding))
    return path


@pytest.mark.parametrize("path", ["/base", "/base/"])
def test_an_endpoint_with_a_path_is_left_to_botocore(
    cloud: ScriptedAws, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{cloud.port}{path}")
    client = prepared(*_PUT)
    client.put_item(**_PUT[2])
    assert "amz-sdk-request" in cloud.requests[-1].headers


def test_requests_through_a_proxy_are_left_to_botocore(
    cloud: ScriptedAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://aws.invalid")
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{cloud.port}")
    client = prepared(*_PUT)
    client.put_item(**_PUT[2])
    assert cloud.requests[-1].headers["host"] == "aws.invalid"
    assert "amz-sdk-request" in cloud.requests[-1].headers


def sent_by_botocore(request: SeenRequest) -> bool:
    return "amz-sdk-request" in request.headers


@pytest.mark.parametrize("call", [_PUT, _SEND])
def test_botocore_sends_only_the_first_request_of_an_operation(
    cloud: ScriptedAws, call: tuple[str, str, Any]
) -> None:
    client = prepared(*call)
    getattr(client, call[1])(**call[2])
    assert [sent_by_botocore(each) for each in cloud.requests] == [True, False]


def _lack(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def raise_error(*_: Any, **__: Any) -> None:
        raise AttributeError(name)

    monkeypatch.setattr(PreparedRequests, name, raise_error)


@pytest.mark.parametrize("lack", ["module", "__init__", "_prepare"])
def test_with_a_botocore_that_is_made_otherwise_it_sends_all_requests(
    cloud: ScriptedAws,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    lack: str,
) -> None:
    if lack == "module":  # one of the names that it imports is gone
        monkeypatch.setitem(sys.modules, "chalicelib.core.aws_requests", None)
    else:
        _lack(monkeypatch, lack)
    report_unprepared.cache_clear()
    for call in (_PUT, _SEND):
        client = prepared(*call)
        getattr(client, call[1])(**call[2])
    assert [sent_by_botocore(each) for each in cloud.requests] == [True] * 4
    (record,) = [each for each in caplog.records if each.levelname == "ERROR"]
    assert "requests are not prepared" in record.message
    report_unprepared.cache_clear()
