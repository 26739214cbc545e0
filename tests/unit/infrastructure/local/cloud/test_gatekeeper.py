"""Attack the local cloud as web pages and other programs without its secret do."""

from __future__ import annotations

import http.client
import io
import json
import os
import socket
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.cloud_requests import signed_headers
from tests.unit.infrastructure.clouds import LocalCloud

LIST_TABLES = {
    "X-Amz-Target": "DynamoDB_20120810.ListTables",
    "Content-Type": "application/x-amz-json-1.0",
}


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCloud]:
    """One cloud for all attacks, which change nothing."""
    cloud = LocalCloud(tmp_path_factory.mktemp("cloud"))
    try:
        cloud.start()
        yield cloud
    finally:
        cloud.close()


def ask(
    cloud: LocalCloud, method: str, path: str, headers: Mapping[str, str], body: bytes = b""
) -> tuple[int, dict[str, str], bytes]:
    """Send a request with exactly these headers and Content-Length."""
    connection = http.client.HTTPConnection("127.0.0.1", cloud.port, timeout=20)
    connection.putrequest(method, path, skip_host="Host" in headers, skip_accept_encoding=True)
    for name, value in {**headers, "Content-Length": str(len(body))}.items():
        connection.putheader(name, value)
    connection.endheaders(body)
    response = connection.getresponse()
    fields = {name.lower(): value for name, value in response.getheaders()}
    content = response.read()
    connection.close()
    return response.status, fields, content


def signed(cloud: LocalCloud, body: bytes, secret: str, **more: str) -> dict[str, str]:
    """Return the headers of a request for the names of all tables, signed with ``secret``."""
    headers = {**LIST_TABLES, **more}
    url = f"{cloud.url}/"
    return signed_headers("POST", url, secret, service="dynamodb", body=body, headers=headers)


def secret() -> str:
    return os.environ["AWS_SECRET_ACCESS_KEY"]


def client(cloud: LocalCloud, service: str, key: str = "", **more: Any) -> Any:
    config = Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path", **more})
    session: Any = boto3.session.Session(
        aws_secret_access_key=key or secret(), aws_access_key_id="test"
    )
    return session.client(service, endpoint_url=cloud.url, config=config)


@pytest.mark.parametrize(
    ("method", "path", "headers", "body"),
    [
        ("POST", "/", LIST_TABLES, b"{}"),
        ("GET", "/?Action=ListQueues", {}, b""),
        ("POST", "/", {"Content-Type": "application/x-www-form-urlencoded"}, b"Action=ListQueues"),
        ("PUT", "/bucket", {}, b""),
        ("GET", "/bucket/key?X-Amz-Credential=a&X-Amz-Signature=b", {}, b""),
        ("POST", "/2015-03-31/functions", {}, b"{}"),
        ("POST", "/2015-03-31/functions/f/invocations", {}, b"{}"),
        ("POST", "/_ministack/reset", {}, b""),
        ("POST", "/_ministack/config", {}, b"{}"),
        ("GET", "/_ministack/ses/messages", {}, b""),
        ("GET", "/_postfinch/counts", {}, b""),
        ("GET", "/_aws/execute-api", {}, b""),
        ("GET", "//_aws/execute-api/abc/api/", {}, b""),
        ("GET", "/restapis/abc/api/_user_request_/", {}, b""),
    ],
)
def test_an_unsigned_request_is_refused(
    cloud: LocalCloud, method: str, path: str, headers: dict[str, str], body: bytes
) -> None:
    status, fields, _ = ask(cloud, method, path, headers, body)
    assert status == 403
    assert not any(name.startswith("access-control-") for name in fields)


@pytest.mark.parametrize("wrong", ["test2", "t", "a" * 40])
def test_a_request_signed_with_another_secret_is_refused(cloud: LocalCloud, wrong: str) -> None:
    for service, call in [
        ("dynamodb", "list_tables"),
        ("sqs", "list_queues"),
        ("s3", "list_buckets"),
        ("lambda", "list_functions"),
        ("cloudformation", "list_stacks"),
    ]:
        with pytest.raises(ClientError) as refusal:
            getattr(client(cloud, service, wrong), call)()
        assert refusal.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403


def test_a_signature_is_good_for_its_own_request_only(cloud: LocalCloud) -> None:
    headers = signed(cloud, b"{}", secret())
    assert ask(cloud, "POST", "/", headers, b"{}")[0] == 200
    assert ask(cloud, "POST", "/", headers, b'{"Limit": 1}')[0] == 403
    assert ask(cloud, "PUT", "/", headers, b"{}")[0] == 403
    assert ask(cloud, "POST", "/other", headers, b"{}")[0] == 403
    assert ask(cloud, "POST", "/?a=b", headers, b"{}")[0] == 403
    moved = {**headers, "X-Amz-Target": "DynamoDB_20120810.CreateTable"}
    assert ask(cloud, "POST", "/", moved, b"{}")[0] == 403


@pytest.mark.parametrize(
    "authorization",
    [
        "AWS4-HMAC-SHA256",
        "AWS4-HMAC-SHA256 Credential=/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, "
        "Signature=" + "0" * 64,
        "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, "
        "Signature=" + "0" * 64,
        "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=, "
        "Signature=",
        "Basic dGVzdDp0ZXN0",
        "AWS test:signature",
    ],
)
def test_a_malformed_signature_is_refused(cloud: LocalCloud, authorization: str) -> None:
    headers = {"Authorization": authorization, "X-Amz-Date": "20260101T000000Z", **LIST_TABLES}
    assert ask(cloud, "POST", "/", headers, b"{}")[0] == 403


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "10.1.2.3", "[::2]"])
def test_another_host_name_is_refused_even_with_the_secret(cloud: LocalCloud, host: str) -> None:
    headers = signed(cloud, b"{}", secret(), Host=f"{host}:{cloud.port}")
    assert ask(cloud, "POST", "/", headers, b"{}")[0] == 403
    assert ask(cloud, "GET", "/_ministack/health", {"Host": host})[0] == 403


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Origin", "https://evil.example"),
        ("Origin", "null"),
        ("Origin", "http://127.0.0.1"),
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
        ("Sec-Fetch-Site", "same-origin"),
    ],
)
def test_a_request_of_a_web_page_is_refused_even_with_the_secret(
    cloud: LocalCloud, name: str, value: str
) -> None:
    headers = {**signed(cloud, b"{}", secret()), name: value}
    assert ask(cloud, "POST", "/", headers, b"{}")[0] == 403
    assert ask(cloud, "GET", "/_ministack/health", {name: value})[0] == 403


@pytest.mark.parametrize("path", ["/", "/bucket/key", "/_aws/execute-api/abc/api/x", "/_x"])
def test_no_preflight_is_answered(cloud: LocalCloud, path: str) -> None:
    preflight = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    for headers in (preflight, {}):
        status, fields, _ = ask(cloud, "OPTIONS", path, headers)
        assert status == 403
        assert not any(name.startswith("access-control-") for name in fields)


def test_no_answer_has_a_cors_header(cloud: LocalCloud) -> None:
    for path, headers, body in [
        ("/", signed(cloud, b"{}", secret()), b"{}"),
        ("/_aws/execute-api/abc/api/x", {}, b""),
        ("/_ministack/health", {}, b""),
    ]:
        fields = ask(cloud, "POST" if body else "GET", path, headers, body)[1]
        assert not any(name.startswith("access-control-") for name in fields)


def test_a_websocket_is_refused(cloud: LocalCloud) -> None:
    upgrade = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version": "13",
    }
    for path in ("/", "/_aws/execute-api/abc/api"):
        assert ask(cloud, "GET", path, upgrade)[0] != 101


def test_a_large_body_of_a_web_page_is_refused_before_it_is_read(cloud: LocalCloud) -> None:
    with socket.create_connection(("127.0.0.1", cloud.port), 20) as connection:
        connection.sendall(
            b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: https://evil.example\r\n"
            b"Content-Length: 1000000000\r\n\r\n"
        )
        assert connection.recv(12, socket.MSG_WAITALL) == b"HTTP/1.1 403"


def test_a_deployed_api_answers_without_a_signature(cloud: LocalCloud) -> None:
    """MiniStack says that there is no such API, so the request has passed."""
    path = "/_aws/execute-api/abc123/api/t/c/token"
    assert ask(cloud, "GET", path, {})[0] == 404
    assert ask(cloud, "GET", path, {"Sec-Fetch-Site": "cross-site"})[0] == 404
    own = {"Host": f"127.0.0.1:{cloud.port}", "Origin": f"http://127.0.0.1:{cloud.port}"}
    assert ask(cloud, "POST", path, own)[0] == 404
    assert ask(cloud, "POST", path, {"Origin": "https://evil.example"})[0] == 403
    assert ask(cloud, "POST", path, {"Sec-Fetch-Site": "cross-site"})[0] == 403
    assert ask(cloud, "GET", path, {"Host": "evil.example"})[0] == 403
    # Such a host would lead MiniStack elsewhere
    assert ask(cloud, "GET", path, {"Host": "bucket.localhost"})[0] == 403


class _Stream(io.RawIOBase):
    """A body whose length botocore must be told, and which it cannot read twice."""

    def __init__(self, size: int) -> None:
        self._unread = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = min(len(buffer), self._unread)
        buffer[:count] = b"x" * count
        self._unread -= count
        return count


def test_every_form_of_signing_that_clients_use_for_objects_is_accepted(
    cloud: LocalCloud,
) -> None:
    store = client(cloud, "s3")
    store.create_bucket(Bucket="forms")
    for key in ("plain", "with space/ü+~*'()", "a//b", "../c", "%2F"):
        store.put_object(Bucket="forms", Key=key, Body=b"body", Metadata={"a": "x  y"})
        assert store.get_object(Bucket="forms", Key=key)["Body"].read() == b"body"
    unsigned = client(cloud, "s3", payload_signing_enabled=False)
    unsigned.put_object(Bucket="forms", Key="unsigned", Body=b"body")
    store.upload_fileobj(_Stream(9 << 20), "forms", "parts")
    assert store.head_object(Bucket="forms", Key="parts")["ContentLength"] == 9 << 20
    page = store.list_objects_v2(Bucket="forms", Prefix="with space", Delimiter="/")
    assert page["CommonPrefixes"] == [{"Prefix": "with space/"}]
    store.put_object_tagging(
        Bucket="forms", Key="plain", Tagging={"TagSet": [{"Key": "a", "Value": "b c"}]}
    )
    url = f"{cloud.url}/forms/streamed"
    body = b"4\r\nbody\r\n0\r\nx-amz-checksum-crc32:26gLsg==\r\n\r\n"
    streaming = {
        "x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
        "Content-Encoding": "aws-chunked",
        "x-amz-decoded-content-length": "4",
        "x-amz-trailer": "x-amz-checksum-crc32",
    }
    headers = signed_headers("PUT", url, secret(), service="s3", body=body, headers=streaming)
    sending = urllib.request.Request(url, data=body, headers=headers, method="PUT")
    with urllib.request.urlopen(sending) as response:
        assert response.status == 200


def test_paths_with_escapes_are_verified_for_other_services(cloud: LocalCloud) -> None:
    functions = client(cloud, "lambda")
    with pytest.raises(functions.exceptions.ResourceNotFoundException):
        functions.get_function(
            FunctionName="arn:aws:lambda:us-east-1:000000000000:function:a", Qualifier="1"
        )
    assert client(cloud, "kms").list_keys()["Keys"] == []


def test_the_cloud_does_not_start_without_a_secret(tmp_path: Path) -> None:
    from infrastructure.local.cloud.gatekeeper import Gatekeeper

    async def application(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError

    with pytest.raises(ValueError, match="AWS_SECRET_ACCESS_KEY"):
        Gatekeeper(application, "")


def test_a_refusal_names_its_reason(cloud: LocalCloud) -> None:
    assert json.loads(ask(cloud, "POST", "/", LIST_TABLES, b"{}")[2]) == {
        "__type": "MissingAuthenticationTokenException",
        "message": "the request is not signed",
    }
