"""Test the local gateway with fake ASGI messages, and its connections with a real server."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import socket
import ssl
import threading
import time
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.core.errors import Unauthorized
from chalicelib.core.http import (
    AUTHENTICATED,
    PUBLIC,
    App,
    Caller,
    Reply,
    Request,
    Routes,
    empty,
    ok,
    raw,
)
from chalicelib.core.scope import Scope
from infrastructure.local import certificates
from infrastructure.local.gateway import application
from infrastructure.local.gateway.application import FurtherPort, Gateway, server
from infrastructure.local.gateway.request_body import LARGE_BODY
from infrastructure.local.this_machine import LocalAccess
from tests.free_ports import free_port

LIMIT = 100_000

routes = Routes(__name__)
LARGE_REPLY = 8_000_000


@routes.get("/api/v1/mirror/{name}", grant=PUBLIC)
def mirror(request: Request, name: str) -> Reply:
    return ok(
        {
            "name": name,
            "path": request.path,
            "query": dict(request.query),
            "headers": dict(request.headers),
            "source_ip": request.source_ip,
        }
    )


@routes.post("/api/v1/length", grant=PUBLIC)
def length(request: Request) -> Reply:
    return ok(len(request.raw_body))


@routes.post("/api/v1/echo", grant=PUBLIC)
def echo(request: Request) -> Reply:
    return raw(request.raw_body, "application/octet-stream")


@routes.get("/api/v1/large", grant=PUBLIC)
def large(request: Request) -> Reply:
    return raw(bytes(LARGE_REPLY), "application/octet-stream")


@routes.post("/api/v1/parse", grant=PUBLIC)
def parse(request: Request) -> Reply:
    return ok(request.json())


@routes.delete("/api/v1/nothing", grant=PUBLIC)
def nothing(request: Request) -> Reply:
    return empty(204)


@routes.get("/api/v1/cookies", grant=PUBLIC)
def set_cookies(request: Request) -> Reply:
    return Reply(200, {"results": request.cookie("a")}, cookies=("a=1; HttpOnly", "b=2"))


RELEASED = threading.Event()


@routes.post("/api/v1/waiting", grant=PUBLIC, waits=True)
def wait(request: Request) -> Reply:
    assert RELEASED.wait(60)
    return ok({})


class Turns:
    """How many large bodies are in work, and the most that were so at once."""

    def __init__(self) -> None:
        self.running = self.most = 0
        self.small_is_done = threading.Event()


TURNS = Turns()


@routes.post("/api/v1/turn", grant=AUTHENTICATED)
def take_turn(request: Request) -> Reply:
    if len(request.raw_body) <= LARGE_BODY:
        TURNS.small_is_done.set()
        return ok({})
    TURNS.running += 1
    TURNS.most = max(TURNS.most, TURNS.running)
    assert TURNS.small_is_done.wait(60)
    time.sleep(0.02)
    TURNS.running -= 1
    return ok({})


@routes.put("/api/v1/locked", grant="templates/modify")
def locked(request: Request) -> Reply:
    return ok({})


def _authenticate(request: Request, *, subaccount_header: bool) -> Caller:
    if request.headers.get("authorization") == "right":
        return Caller(Scope(1, None), "key", frozenset())
    raise Unauthorized


async def local_endpoint(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 299, "headers": []})
    await send({"type": "http.response.body", "body": scope["raw_path"]})


def _gateway(limit: int = LIMIT, **environ: str) -> Gateway:
    app = App("test", authenticate=_authenticate)
    app.register_blueprint(routes)
    return Gateway(
        app,
        max_body_bytes=limit,
        extra={"/local": local_endpoint},
        access=LocalAccess.read(environ),
        threads=16,
    )


GATEWAY = _gateway()
IN_CONTAINER = _gateway(LOCAL_PEERS="any", LOCAL_NAMES="postfinch, host.docker.internal")


def ask(
    method: str,
    raw_path: bytes,
    *,
    query: bytes = b"",
    headers: list[tuple[bytes, bytes]] | None = None,
    chunks: tuple[bytes, ...] = (b"",),
    peer: str = "192.0.2.8",
    gateway: Gateway = GATEWAY,
) -> tuple[int, dict[bytes, bytes], bytes]:
    """Call the gateway with one request; return status, headers and body."""
    responses: list[Any] = []
    messages = [
        {"type": "http.request", "body": chunk, "more_body": number < len(chunks)}
        for number, chunk in enumerate(chunks, 1)
    ]

    async def receive() -> Any:
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        responses.append(message)

    scope = {
        "type": "http",
        "method": method,
        "raw_path": raw_path,
        "query_string": query,
        "headers": headers or [],
        "client": (peer, 1234),
    }
    asyncio.run(gateway(scope, receive, send))
    start, body = responses
    repeated = [value for name, value in start["headers"] if name == b"set-cookie"]
    lines = dict(start["headers"])
    assert len(lines) == len(start["headers"]) - max(len(repeated) - 1, 0)
    if repeated:
        lines[b"set-cookie"] = b"\n".join(repeated)
    return start["status"], lines, body["body"]


def results(reply: tuple[int, dict[bytes, bytes], bytes]) -> Any:
    assert reply[0] == 200
    return json.loads(reply[2])["results"]


@pytest.mark.parametrize(
    ("path", "name"), [(b"a%2Fb", "a/b"), (b"a+b%40x", "a+b@x"), (b"a%252Fb", "a%2Fb")]
)
def test_the_path_is_decoded_once(path: bytes, name: str) -> None:
    result = results(ask("GET", b"/api/v1/mirror/" + path))
    assert (result["name"], result["path"]) == (name, f"/api/v1/mirror/{path.decode()}")


@pytest.mark.spec("1-r1")
def test_a_trailing_slash_is_ignored() -> None:
    assert results(ask("GET", b"/api/v1/mirror/x/"))["name"] == "x"


def test_the_query_is_decoded_once() -> None:
    result = results(ask("GET", b"/api/v1/mirror/x", query=b"a=2+3&b=%2525&c=&d&e=%ff"))
    assert result["query"] == {"a": "2 3", "b": "%25", "c": "", "d": "", "e": "\ufffd"}


def test_every_value_of_a_repeated_parameter_is_passed_on() -> None:
    status, _, body = ask("GET", b"/api/v1/mirror/x", query=b"a=1&a=2")
    assert status == 400
    assert "the query has 2" in json.loads(body)["errors"][0]["description"]


def test_the_source_address_is_the_peer_whatever_headers_say() -> None:
    forged = [(b"x-forwarded-for", b"203.0.113.1"), (b"forwarded", b"for=203.0.113.1")]
    assert results(ask("GET", b"/api/v1/mirror/x", headers=forged))["source_ip"] == "192.0.2.8"


def test_every_line_of_a_repeated_header_is_passed_on() -> None:
    result = results(ask("GET", b"/api/v1/mirror/x", headers=[(b"x-a", b"1"), (b"x-a", b"\xe9")]))
    assert result["headers"] == {"x-a": "1, é"}


def test_every_cookie_is_set_in_a_line_of_its_own_and_read_from_any_line() -> None:
    headers = [(b"cookie", b"c=3"), (b"cookie", b"a=4")]
    answer = ask("GET", b"/api/v1/cookies", headers=headers)
    assert results(answer) == "4"
    assert answer[1][b"set-cookie"] == b"a=1; HttpOnly\nb=2"


@pytest.mark.parametrize("content", [b"", b"text \xc3\xa9", b"\x00\xff\xfe", bytes(range(256))])
def test_a_body_of_any_bytes_is_received_and_returned_unchanged(content: bytes) -> None:
    status, headers, body = ask("POST", b"/api/v1/echo", chunks=(content,))
    assert (status, body) == (200, content)
    assert headers[b"content-type"] == b"application/octet-stream"


def test_the_chunks_of_a_body_are_joined() -> None:
    assert ask("POST", b"/api/v1/echo", chunks=(b"ab", b"", b"cd", b""))[2] == b"abcd"


@pytest.mark.spec("7-t7")
@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", b"/api/v1/length", 413),
        ("POST", b"/nowhere", 404),
        ("POST", b"/api/v1/nothing", 405),
        ("PUT", b"/api/v1/locked", 401),
    ],
)
def test_a_body_over_the_limit_is_refused_after_routing_and_authentication(
    method: str, path: bytes, status: int
) -> None:
    reply = ask(method, path, chunks=(b"x" * LIMIT, b"x"))
    assert reply[0] == status
    assert "errors" in json.loads(reply[2])


def test_a_body_over_the_limit_is_not_kept_in_memory() -> None:
    async def receive() -> Any:
        nonlocal remaining
        remaining -= 1
        return {"type": "http.request", "body": bytes(1_000_000), "more_body": remaining > 0}

    async def send(message: Any) -> None:
        responses.append(message)

    remaining = 100
    responses: list[Any] = []
    scope = {
        "type": "http",
        "method": "POST",
        "raw_path": b"/api/v1/length",
        "query_string": b"",
        "headers": [],
        "client": None,
    }
    tracemalloc.start()
    asyncio.run(GATEWAY(scope, receive, send))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (responses[0]["status"], remaining) == (413, 0)
    assert peak < 5_000_000


@pytest.mark.parametrize(
    ("path", "status"),
    [(b"/api/v1/turn", 401), (b"/api/v1/length", 413), (b"/nothing", 404)],
)
def test_a_large_body_of_a_stranger_is_not_kept_in_memory(path: bytes, status: int) -> None:
    """It is read to its end, and its request is answered as if it had none."""
    chunks = (bytes(LARGE_BODY),) * 40
    tracemalloc.start()
    answer = ask("POST", path, chunks=chunks, gateway=_gateway(limit=100 * LARGE_BODY))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert answer[0] == status
    assert peak < 3_000_000


def test_octets_of_a_reply_are_not_copied() -> None:
    """In the form of API Gateway, which is base64 as text, they would be there twice more."""
    tracemalloc.start()
    status, _, content = ask("GET", b"/api/v1/large")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (status, len(content)) == (200, LARGE_REPLY)
    assert peak < 1.5 * LARGE_REPLY


def test_a_body_of_exactly_the_limit_is_accepted() -> None:
    assert results(ask("POST", b"/api/v1/length", chunks=(b"x" * (LIMIT - 1), b"x"))) == LIMIT


def test_a_too_large_body_announced_by_expect_is_refused_without_reading_it() -> None:
    headers = [(b"expect", b"100-continue"), (b"content-length", str(LIMIT + 1).encode())]
    status, response_headers, _ = ask("POST", b"/api/v1/length", headers=headers, chunks=())
    assert (status, response_headers[b"connection"]) == (413, b"close")


def test_the_response_to_head_has_no_body_but_its_length() -> None:
    _, headers, body = ask("HEAD", b"/api/v1/mirror/x")
    assert body == b""
    assert int(headers[b"content-length"]) > 2


def test_a_204_response_has_no_content_length() -> None:
    status, headers, body = ask("DELETE", b"/api/v1/nothing")
    assert (status, body) == (204, b"")
    assert b"content-length" not in headers


@pytest.mark.spec("7-t4")
def test_an_unknown_path_gets_a_json_error() -> None:
    status, headers, body = ask("GET", b"/no/such/path/at/any/depth")
    assert (status, headers[b"content-type"]) == (404, b"application/json")
    assert json.loads(body) == {"errors": [{"message": "Resource could not be found"}]}


def ask_local(
    path: bytes,
    *more: tuple[bytes, bytes],
    host: bytes = b"localhost:8080",
    peer: str = "127.0.0.1",
    gateway: Gateway = GATEWAY,
) -> tuple[int, dict[bytes, bytes], bytes]:
    headers = [(b"host", host), *more]
    return ask("GET", path, headers=headers, peer=peer, gateway=gateway)


@pytest.mark.parametrize("path", [b"/local", b"/local/", b"/local/mailbox/1"])
def test_paths_under_the_local_prefix_go_to_the_local_endpoints(path: bytes) -> None:
    assert ask_local(path)[::2] == (299, path)


@pytest.mark.parametrize("peer", ["127.0.0.1", "::1"])
@pytest.mark.parametrize("host", [b"127.0.0.1:8080", b"[::1]:8080", b"LOCALHOST", b"a.localhost:1"])
def test_local_endpoints_serve_this_machine_under_its_names(host: bytes, peer: str) -> None:
    assert ask_local(b"/local/mailbox", host=host, peer=peer)[0] == 299


@pytest.mark.parametrize(
    "host",
    [b"evil.example", b"evil.example:8080", b"localhost.evil.example", b"10.0.0.8:8080", b""],
)
def test_local_endpoints_refuse_other_host_names_as_of_dns_rebinding(host: bytes) -> None:
    status, headers, body = ask_local(b"/local/mailbox", host=host)
    assert status == 403
    assert "this machine only" in json.loads(body)["errors"][0]["message"]
    assert not any(name.startswith(b"access-control-") for name in headers)


def test_local_endpoints_refuse_another_machine() -> None:
    assert ask_local(b"/local/mailbox", peer="192.0.2.8")[0] == 403


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ((b"origin", b"http://localhost:8080"), 299),
        ((b"origin", b"http://localhost:3000"), 403),
        ((b"origin", b"https://evil.example"), 403),
        ((b"origin", b"null"), 403),
        ((b"sec-fetch-site", b"same-origin"), 299),
        ((b"sec-fetch-site", b"none"), 299),
        ((b"sec-fetch-site", b"same-site"), 403),
        ((b"sec-fetch-site", b"cross-site"), 403),
    ],
)
def test_local_endpoints_serve_web_pages_of_their_own_origin_only(
    header: tuple[bytes, bytes], status: int
) -> None:
    assert ask_local(b"/local/dns", header)[0] == status


@pytest.mark.parametrize("host", [b"postfinch:8080", b"10.0.0.8", b"[fd00::8]:1", b"localhost:9"])
def test_in_a_container_other_machines_may_use_the_names_of_the_setting(host: bytes) -> None:
    peer = "172.17.0.1"
    assert ask_local(b"/local/x", host=host, peer=peer, gateway=IN_CONTAINER)[0] == 299
    own_page = (b"origin", b"http://" + host)
    assert ask_local(b"/local/x", own_page, host=host, peer=peer, gateway=IN_CONTAINER)[0] == 299


@pytest.mark.parametrize(
    "header",
    [
        (b"origin", b"http://evil.example"),
        (b"origin", b"http://postfinch:3000"),
        (b"origin", b"null"),
        (b"sec-fetch-site", b"same-site"),
        (b"sec-fetch-site", b"cross-site"),
    ],
)
def test_in_a_container_pages_of_other_sites_are_refused(header: tuple[bytes, bytes]) -> None:
    for host in (b"postfinch:8080", b"localhost:8080"):
        reply = ask_local(b"/local/x", header, host=host, gateway=IN_CONTAINER)
        assert reply[0] == 403


@pytest.mark.parametrize(
    "host",
    [b"evil.example", b"postfinch.evil.example", b"x.postfinch", b"10.0.0.8.evil", b"", b":80"],
)
def test_in_a_container_other_names_are_refused_with_a_hint(host: bytes) -> None:
    status, _, body = ask_local(b"/local/x", host=host, gateway=IN_CONTAINER)
    assert status == 403
    assert "LOCAL_NAMES" in json.loads(body)["errors"][0]["message"]


def test_the_local_prefix_matches_whole_segments_only() -> None:
    assert ask("GET", b"/localized")[0] == 404


def test_a_client_that_leaves_while_sending_ends_the_request_quietly() -> None:
    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        raise AssertionError(message)

    scope = {"type": "http", "method": "POST", "raw_path": b"/api/v1/length", "headers": []}
    asyncio.run(GATEWAY(scope, receive, send))


def test_lifespan_events_are_acknowledged() -> None:
    messages = ["lifespan.startup", "lifespan.shutdown"]
    responses: list[str] = []

    async def receive() -> Any:
        return {"type": messages.pop(0)}

    async def send(message: Any) -> None:
        responses.append(message["type"])

    asyncio.run(_gateway()({"type": "lifespan"}, receive, send))
    assert responses == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


@settings(max_examples=100)
@given(
    path=st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=20),
    query=st.binary(max_size=20),
    header=st.binary(max_size=10),
    body=st.binary(max_size=30) | st.text('[]{}":,\\u0d8e-.19 tn', max_size=30).map(str.encode),
)
def test_no_request_bytes_cause_a_server_error(
    path: str, query: bytes, header: bytes, body: bytes
) -> None:
    json_type = [(b"content-type", b"application/json"), (b"x-any", header)]
    for method, prefix in [("POST", b"/api/v1/parse"), ("GET", b"/api/v1/mirror/"), ("PUT", b"")]:
        raw_path = prefix if method == "POST" else prefix + b"/" + path.encode()
        if raw_path.startswith(b"/local"):
            continue
        status, _, content = ask(method, raw_path, query=query, headers=json_type, chunks=(body,))
        assert status in (200, 400, 401, 404, 405, 422)
        assert json.loads(content).keys() <= {"results", "errors"}


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with _running() as ports:
        yield ports[0]


@contextlib.contextmanager
def _running(*further: FurtherPort) -> Iterator[list[int]]:
    """A server, and the numbers of its ports."""
    running = server(_gateway(), host="127.0.0.1", port=0, further=further)
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 10
    required = 1 + sum(not each.optional for each in further)
    while not running.started or len(running.servers) < required:
        assert time.monotonic() < deadline, "the server did not start"
        thread.join(0.01)
    yield [each.sockets[0].getsockname()[1] for each in running.servers]
    running.should_exit = True
    thread.join(10)
    assert not thread.is_alive()


def _post(connection: http.client.HTTPConnection, body: Any, **options: Any) -> tuple[int, Any]:
    connection.request("POST", "/api/v1/length", body=body, **options)
    response = connection.getresponse()
    return response.status, json.loads(response.read())


def test_a_connection_survives_large_bodies_chunks_and_errors(port: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.connect()
    first = connection.sock
    assert _post(connection, b"x" * LIMIT) == (200, {"results": LIMIT})
    assert _post(connection, b"x" * (20 * LIMIT))[0] == 413
    assert _post(connection, iter([b"ab", b"c"]), encode_chunked=True) == (200, {"results": 3})
    chunks = iter([b"x" * LIMIT] * 20)
    assert _post(connection, chunks, encode_chunked=True)[0] == 413
    assert _post(connection, b"x") == (200, {"results": 1})
    assert connection.sock is first
    connection.close()


def test_a_further_port_serves_the_same_and_an_optional_one_may_be_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as occupant:
        optional = FurtherPort("127.0.0.1", occupant.getsockname()[1], optional=True)
        with _running(optional, FurtherPort("127.0.0.1", 0)) as ports:
            assert len(ports) == 2
            for port in ports:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
                assert _post(connection, b"x") == (200, {"results": 1})
                connection.close()


def test_pipelined_requests_are_answered_in_order(port: int) -> None:
    with contextlib.closing(socket.create_connection(("127.0.0.1", port), 10)) as client:
        for name in ("one", "two", "three"):
            client.sendall(f"GET /api/v1/mirror/{name} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        received = b""
        while received.count(b'{"results"') < 3 or not received.endswith(b"}}"):
            received += client.recv(65536)
    places = [received.index(f'"name":"{name}"'.encode()) for name in ("one", "two", "three")]
    assert places == sorted(places)


def test_a_forwarded_header_does_not_change_the_address_on_a_real_connection(port: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request("GET", "/api/v1/mirror/x", headers={"X-Forwarded-For": "203.0.113.1"})
    assert json.loads(connection.getresponse().read())["results"]["source_ip"] == "127.0.0.1"
    connection.close()


def test_no_connection_gets_the_response_of_another(port: int) -> None:
    def client(number: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        for turn in range(20):
            connection.request("GET", f"/api/v1/mirror/{number}-{turn}")
            name = json.loads(connection.getresponse().read())["results"]["name"]
            assert name == f"{number}-{turn}"
        connection.close()

    with ThreadPoolExecutor(16) as pool:
        for _ in pool.map(client, range(16)):
            pass


OFFER = (
    b"POST /api/v1/echo HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\n"
    b"Content-Length: %d\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABk\r\nUpgrade: h2c\r\n\r\n%b"
)


def _offer(body: bytes) -> bytes:
    return OFFER % (len(body), body)


@settings(max_examples=30)
@given(st.data())
def test_an_offer_of_another_protocol_is_ignored_and_the_body_read(
    port: int, data: st.DataObject
) -> None:
    """However the requests of a connection are divided among packets."""
    requests = _offer(b"Ann") + _offer(b"") + _offer(b"Upgrade: h2c\r\n\r\n" * 9)
    requests += b"POST /api/v1/echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nend"
    cuts = sorted(data.draw(st.sets(st.integers(1, len(requests) - 1), max_size=4)))
    with contextlib.closing(socket.create_connection(("127.0.0.1", port), 10)) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for start, end in pairwise([0, *cuts, len(requests)]):
            client.sendall(requests[start:end])
        received = b""
        while not received.endswith(b"\r\n\r\nend"):
            packet = client.recv(10_000)
            assert packet, received
            received += packet
    assert received.count(b"HTTP/1.1 200 OK\r\n") == 4
    assert b"\r\n\r\nAnnHTTP/1.1" in received
    assert b"\r\n\r\n" + b"Upgrade: h2c\r\n\r\n" * 9 in received


def _responses(port: int, lines: bytes, version: bytes = b"1.1") -> bytes:
    """Return all that comes back for one request with these header lines, until it is closed."""
    head = b"GET /api/v1/mirror/x HTTP/" + version + b"\r\nConnection: close\r\n"
    with contextlib.closing(socket.create_connection(("127.0.0.1", port), 10)) as client:
        client.sendall(head + lines + b"\r\n")
        return b"".join(iter(lambda: client.recv(10_000), b""))


def _status(response: bytes) -> bytes:
    return response.split()[1]


@pytest.mark.parametrize(
    "lines",
    [
        b"",
        b"Host: a.test\r\nHost: a.test\r\n",
        b"Host: a.test\r\nHost: b.test\r\n",
        b"Host: a.test, b.test\r\n",
        b"Host: a.test/x@b.test\r\n",
        b"Host: \xc3\xa9.test\r\n",
        b"Host: a.test:80:90\r\n",
        b"Host: a.test\r\nX-A\r\n",
        b"Host: a.test\r\nX-A : 1\r\n",
        b"Host: a.test\r\nContent-Length: 1\r\nContent-Length: 1\r\n",
        b"Host: a.test\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
        b"Host: a.test\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n",
        b"Host: a.test\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    ],
)
def test_a_request_that_is_no_valid_http_gets_400_in_the_form_of_other_errors(
    port: int, lines: bytes
) -> None:
    response = _responses(port, lines)
    assert _status(response) == b"400"
    head, _, body = response.partition(b"\r\n\r\n")
    assert b"Content-Type: application/json" in head
    assert [*json.loads(body)] == ["errors"]


@pytest.mark.parametrize("host", [b"", b"a_b-c.test", b"192.0.2.1:8080", b"[::1]", b"[::1]:80"])
def test_host_may_be_any_host_name_or_address_with_a_port(port: int, host: bytes) -> None:
    assert _status(_responses(port, b"Host: " + host + b"\r\n")) == b"200"


def test_a_request_of_http_1_0_needs_no_host_but_may_not_have_two(port: int) -> None:
    assert _status(_responses(port, b"", b"1.0")) == b"200"
    assert _status(_responses(port, b"Host: a\r\nHost: a\r\n", b"1.0")) == b"400"


def test_an_offer_of_another_protocol_needs_a_host_as_well(port: int) -> None:
    without_host = b"Connection: Upgrade\r\nUpgrade: h2c\r\n"
    assert _status(_responses(port, without_host)) == b"400"


def test_blanks_around_a_header_value_do_not_reach_any_endpoint(port: int) -> None:
    response = _responses(port, b"Host:\t a.test \t\r\nX-A:  1 \t \r\n")
    headers = json.loads(response.partition(b"\r\n\r\n")[2])["results"]["headers"]
    assert (headers["host"], headers["x-a"]) == ("a.test", "1")


def test_the_tunnel_of_a_proxy_is_refused(port: int) -> None:
    with contextlib.closing(socket.create_connection(("127.0.0.1", port), 10)) as client:
        client.sendall(b"CONNECT localhost:80 HTTP/1.1\r\nHost: h\r\nUpgrade: h2c\r\n\r\n")
        assert client.recv(1000).startswith(b"HTTP/1.1 4")


def test_an_idle_client_under_tls_does_not_delay_a_stop(tmp_path: Path) -> None:
    trust = ssl.create_default_context(cafile=certificates.provide(tmp_path).authority)
    port = free_port()
    with _running(FurtherPort("127.0.0.1", port, certificates.server_context(tmp_path))):
        client = _connected(port, trust)
        client.request("GET", "/api/v1/mirror/x")
        client.getresponse().read()
        began = time.monotonic()
    # The server waits ten seconds for connections that do not close
    assert time.monotonic() - began < 8
    client.close()


def test_a_client_that_begins_no_tls_is_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(application, "HANDSHAKE_SECONDS", 0.5)
    trust = ssl.create_default_context(cafile=certificates.provide(tmp_path).authority)
    port = free_port()
    with _running(FurtherPort("127.0.0.1", port, certificates.server_context(tmp_path))):
        _connected(port, trust).close()
        with socket.create_connection(("127.0.0.1", port), 30) as client:
            assert client.recv(1) == b""


def _connected(port: int, trust: ssl.SSLContext) -> http.client.HTTPSConnection:
    """Connect to a further port, which a server listens on some time after it started."""
    deadline = time.monotonic() + 60
    while True:
        client = http.client.HTTPSConnection("localhost", port, timeout=60, context=trust)
        try:
            client.connect()
        except ConnectionRefusedError:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        else:
            return client


async def _one_of_many(
    method: str, path: bytes, key: bytes = b"", body: bytes = b"", gateway: Gateway = GATEWAY
) -> int:
    """Make a request among others of the same event loop."""
    messages: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        messages.append(message)

    headers = [(b"authorization", key)]
    scope = {"type": "http", "method": method, "raw_path": path, "query_string": b""}
    await gateway(scope | {"headers": headers, "client": None}, receive, send)
    return int(messages[0]["status"])


def test_large_bodies_take_turns_and_hold_up_no_small_one() -> None:
    gateway = _gateway(limit=2 * LARGE_BODY)

    async def requests() -> list[int]:
        bodies = [bytes(LARGE_BODY + 1)] * 4 + [bytes(LARGE_BODY)]
        return await asyncio.gather(
            *(
                _one_of_many("POST", b"/api/v1/turn", b"right", body=body, gateway=gateway)
                for body in bodies
            )
        )

    assert asyncio.run(requests()) == [200] * 5
    assert TURNS.most == 1


def test_requests_that_wait_for_others_hold_up_no_other_request() -> None:
    """The others are answered while the waiting ones are more than there are threads."""

    async def requests() -> list[int]:
        tasks = [
            asyncio.create_task(_one_of_many("POST", b"/api/v1/waiting/", b"%d" % (number % 4)))
            for number in range(64)
        ]
        assert await _one_of_many("GET", b"/api/v1/mirror/x", b"0") == 200
        assert not any(task.done() for task in tasks)
        RELEASED.set()
        return await asyncio.gather(*tasks)

    try:
        assert asyncio.run(requests()) == [200] * 64
    finally:
        RELEASED.set()


@pytest.mark.parametrize("begin", [b"GET /", b"GET / HTTP/1.1\r\nHost: a.test\r\nX-A: "])
def test_a_request_whose_headers_do_not_end_is_refused(port: int, begin: bytes) -> None:
    with contextlib.closing(socket.create_connection(("127.0.0.1", port), 60)) as client:
        answer = b""
        with contextlib.suppress(ConnectionError):  # it may be closed before all is sent
            client.sendall(begin)
            for _ in range(40):
                client.sendall(b"a" * 100_000)
            answer = client.recv(10_000)
    assert answer == b"" or _status(answer) == b"400"


def test_a_client_that_leaves_before_its_answer_ends_the_request_quietly() -> None:
    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        raise RuntimeError("unable to perform operation on <TCPTransport>; the handler is closed")

    async def fail(message: Any) -> None:
        raise RuntimeError("another fault")

    scope = {"type": "http", "method": "GET", "raw_path": b"/localized", "headers": []}
    scope |= {"query_string": b"", "client": ("127.0.0.1", 1), "scheme": "http"}
    asyncio.run(GATEWAY(scope, receive, send))
    with pytest.raises(RuntimeError, match="another fault"):
        asyncio.run(GATEWAY(scope, receive, fail))
