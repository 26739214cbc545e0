"""Send the requests that most work consists of without botocore's work for each call.

botocore composes the first request of each operation. `PreparedRequests` keeps what all requests of
the operation share (address, headers, scope of the signature), and sends the later ones: the
parameters as JSON, a signature, and the response if it is without error.

- Any response but a 200, and any failure to get one, goes to botocore: it makes the call once more
  with that response or exception as the outcome of its first attempt. So botocore alone decides
  what is tried again, and what is raised.
- Only a request that botocore itself sends is prepared. A client whose requests a mock answers
  stays as botocore made it.
- A botocore without what is needed here sends its requests by itself; that is logged once.
- Hooks that are registered with botocore's events do not see prepared requests.
- Endpoints with a path or behind a proxy, and signatures other than version 4, are not prepared.
"""

from __future__ import annotations

import hmac
import json
import threading
import time
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4
from zlib import crc32

from botocore.awsrequest import AWSResponse
from botocore.handlers import add_recursion_detection_header
from botocore.utils import get_environ_proxies

from chalicelib.core.aws_connections import ConnectionOptions, ConnectionPool, Response
from chalicelib.core.aws_responses import PARSERS
from chalicelib.core.botocore_faults import report_unprepared
from chalicelib.core.json_types import Json

_ALGORITHM = "AWS4-HMAC-SHA256"
#: Headers that are new with each request, or that only botocore's attempts have
_HEADERS_OF_A_REQUEST = frozenset(
    {
        "amz-sdk-invocation-id",
        "amz-sdk-request",
        "authorization",
        "content-length",
        "x-amz-date",
        "x-amz-security-token",
        "x-amzn-trace-id",
    }
)
#: The most successes that botocore's quota of retries (``botocore.retries.quota``) can lack
_RETRY_QUOTA = 500


def prepare_requests(client: Any, credentials: Any) -> None:
    """Let a client of botocore send prepared requests; ``credentials`` are those it signs with.

    Raises whatever a botocore raises that is not made as this needs it; the client is then as it
    was.
    """
    prepared = PreparedRequests(client, credentials)
    client._make_api_call = prepared.call
    client._endpoint.http_session = prepared


class PreparedRequests:
    """The calls of one client, and the HTTP session of botocore's part of them."""

    def __init__(self, client: Any, credentials: Any) -> None:
        config = client.meta.config
        self._session = client._endpoint.http_session
        self._options = ConnectionOptions(
            config.connect_timeout,
            config.read_timeout,
            config.max_pool_connections,
            self._session._verify,
        )
        self._make_api_call = type(client)._make_api_call
        self._client = client
        self._credentials = credentials
        self._operations: dict[str, _Operation] = {}
        self._pools: dict[str, ConnectionPool] = {}
        self._thread = _ThreadState()
        self._quota_lacks = 0

    def call(self, name: str, parameters: Json) -> Json:
        """Make one call, as ``client._make_api_call`` does."""
        operation = self._operations.get(name)
        if operation is None:
            return self._call_botocore(name, parameters)
        if name == "TransactWriteItems" and "ClientRequestToken" not in parameters:
            parameters = {**parameters, "ClientRequestToken": str(uuid4())}
        try:
            body = _to_json(parameters).encode()
        except TypeError:
            return self._call_botocore(name, parameters)
        credentials = self._credentials.get_frozen_credentials()
        outcome: Response | Exception
        try:
            outcome = operation.send(body, credentials)
        except Exception as error:
            outcome = error
        else:
            parsed = _parsed(name, outcome)
            if parsed is not None:
                if self._quota_lacks:
                    self._pay_back_quota(name, outcome, parsed)
                return parsed
        self._quota_lacks = _RETRY_QUOTA
        self._thread.outcome = outcome
        try:
            return self._call_botocore(name, parameters)
        finally:
            self._thread.outcome = None

    def send(self, request: Any) -> AWSResponse:
        """Send a request of botocore's, unless the outcome of its call's first attempt is there."""
        outcome, self._thread.outcome = self._thread.outcome, None
        if isinstance(outcome, Exception):
            raise outcome
        if outcome is not None:
            return _botocores_response(request.url, outcome)
        response: AWSResponse = self._session.send(request)
        try:
            self._prepare(request)
        except Exception:
            report_unprepared()
        return response

    def close(self) -> None:
        """Close botocore's own session."""
        self._session.close()

    def _call_botocore(self, name: str, parameters: Json) -> Json:
        response: Json = self._make_api_call(self._client, name, parameters)
        return response

    def _prepare(self, request: Any) -> None:
        headers = {name.lower(): _text(value) for name, value in request.headers.items()}
        name = headers.get("x-amz-target", "").rpartition(".")[2]
        if name in self._operations or name not in PARSERS:
            return
        parts = urlsplit(request.url)
        algorithm, _, signature = headers.get("authorization", "").partition(" Credential=")
        if algorithm != _ALGORITHM or parts.path not in ("", "/") or parts.query:
            return
        if get_environ_proxies(request.url):
            return
        _, _, region, service, _ = signature.partition(",")[0].rsplit("/", 4)
        host = f"{parts.scheme}://{parts.netloc}"
        pool = self._pools.setdefault(host, ConnectionPool(host, self._options))
        shared = {key: value for key, value in headers.items() if key not in _HEADERS_OF_A_REQUEST}
        shared["host"] = _host_header(host)
        self._operations[name] = _Operation(pool, shared, f"{region}/{service}/aws4_request")

    def _pay_back_quota(self, name: str, response: Response, parsed: Json) -> None:
        """Report a success to botocore: only those give back what failures took from its quota."""
        self._quota_lacks -= 1
        service = self._client.meta.service_model.service_id.hyphenize()
        self._client.meta.events.emit(
            f"after-call.{service}.{name}",
            http_response=_botocores_response("", response),
            parsed=parsed,
            model=self._client.meta.service_model.operation_model(name),
            context={},
        )


class _Operation:
    """What the requests of one operation share; ``headers`` have names in lower case."""

    def __init__(self, pool: ConnectionPool, headers: dict[str, str], scope: str) -> None:
        self._pool = pool
        self._headers = headers
        self._scope = scope
        self._key: tuple[tuple[str, str], bytes] = (("", ""), b"")

    def send(self, body: bytes, credentials: Any) -> Response:
        """Send one request, signed with these credentials."""
        now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        headers = {**self._headers, "x-amz-date": now}
        if credentials.token:
            headers["x-amz-security-token"] = credentials.token
        trace: Json = {"headers": {}}
        add_recursion_detection_header(trace)
        unsigned = {
            "user-agent": headers.pop("user-agent", ""),
            "accept-encoding": "identity",
            "content-length": str(len(body)),
            "authorization": self._authorization(headers, now, body, credentials),
            **trace["headers"],
        }
        lines = [f"{name}: {value}\r\n" for name, value in (headers | unsigned).items()]
        head = f"POST / HTTP/1.1\r\n{''.join(lines)}\r\n"
        return self._pool.post(head.encode("latin-1") + body)

    def _authorization(
        self, headers: dict[str, str], now: str, body: bytes, credentials: Any
    ) -> str:
        """Return the signature of a request, version 4 (AWS Signature Version 4, POST to ``/``)."""
        names = sorted(headers)
        lines = "".join(f"{name}:{headers[name]}\n" for name in names)
        signed = ";".join(names)
        request = f"POST\n/\n\n{lines}\n{signed}\n{sha256(body).hexdigest()}"
        scope = f"{now[:8]}/{self._scope}"
        digest = sha256(request.encode("latin-1")).hexdigest()
        text = f"{_ALGORITHM}\n{now}\n{scope}\n{digest}"
        key = self._signing_key(credentials.secret_key, scope)
        signature = hmac.digest(key, text.encode(), "sha256").hex()
        return (
            f"{_ALGORITHM} Credential={credentials.access_key}/{scope}, "
            f"SignedHeaders={signed}, Signature={signature}"
        )

    def _signing_key(self, secret: str, scope: str) -> bytes:
        """Return the key of a day; the last one is remembered."""
        source, key = self._key
        if source != (secret, scope):
            key = f"AWS4{secret}".encode()
            for part in scope.split("/"):
                key = hmac.digest(key, part.encode(), "sha256")
            self._key = (secret, scope), key
        return key


class _ThreadState(threading.local):
    """What came of the first attempt of the call that this thread hands to botocore."""

    outcome: Response | Exception | None = None


def _botocores_response(url: str, response: Response) -> AWSResponse:
    headers: Any = response.headers
    return AWSResponse(url, response.status, headers, _ReadBody(response.body))


class _ReadBody:
    """The body of a response that was read, as ``AWSResponse`` reads it."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
        yield self._content


def _parsed(name: str, response: Response) -> Json | None:
    """Return the parsed response, or ``None`` if botocore has to see it."""
    if response.status != 200:
        return None
    headers = response.headers
    try:
        if "x-amz-crc32" in headers and int(headers["x-amz-crc32"]) != crc32(response.body):
            return None
        parsed = PARSERS[name](json.loads(response.body or b"{}"))
    except (ValueError, TypeError, AttributeError, KeyError):
        return None
    metadata: Json = {"HTTPStatusCode": 200, "HTTPHeaders": headers, "RetryAttempts": 0}
    if "x-amzn-requestid" in headers:
        metadata["RequestId"] = headers["x-amzn-requestid"]
    parsed["ResponseMetadata"] = metadata
    return parsed


def _base64(value: Any) -> str:
    """Return bytes as they are written in JSON."""
    if isinstance(value, bytes | bytearray):
        return b64encode(value).decode()
    raise TypeError(type(value))


_to_json = json.JSONEncoder(separators=(",", ":"), default=_base64).encode


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _host_header(url: str) -> str:
    """Return the host as it is signed: without the scheme's usual port."""
    parts = urlsplit(url)
    usual = {"http": ":80", "https": ":443"}[parts.scheme]
    return parts.netloc.rpartition("@")[2].removesuffix(usual)
