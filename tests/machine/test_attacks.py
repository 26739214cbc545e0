"""Attack the HTTP ports of production on one machine from another network: nothing gets through."""

from __future__ import annotations

import gzip
import re
import threading
from contextlib import ExitStack
from http.client import HTTPException

import psutil
import pytest

from tests.http_response import Response
from tests.journey.service import eventually
from tests.machine.hostile_requests import (
    AMBIGUOUS,
    FOREIGN_TARGETS,
    HOST,
    NOTHING_THERE,
    TRAVERSALS,
    request,
)
from tests.machine.machine import DOMAIN, KEY, TOKEN
from tests.machine.outside import Outside
from tests.machine.stranger import Stranger

_OTHER = "203.0.113.9"
_FORGED = {
    "X_Forwarded_For": _OTHER,
    "Forwarded": f"for={_OTHER}",
    "X_Real_IP": _OTHER,
    "X_Forwarded_Host": DOMAIN,
    "X_Forwarded_Proto": "https",
}
_MIB = 1024 * 1024

by_port = pytest.mark.parametrize("tls", [True, False], ids=["HTTPS", "HTTP"])


def check_headers(headers: dict[str, str], *, tls: bool) -> None:
    """Every answer tells browsers to be careful, and nothing of the server."""
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert ("strict-transport-security" in headers) == tls
    assert not {"set-cookie", "server", "x-powered-by", "via"} & headers.keys()


def heads_of(octets: bytes) -> list[tuple[int, dict[str, str]]]:
    """Return status and headers of each answer on a connection."""
    heads = []
    for match in re.finditer(rb"HTTP/1\.1 (\d{3}) [^\r]*\r\n(.*?)\r\n\r\n", octets, re.DOTALL):
        lines = [line.partition(":") for line in match[2].decode("latin-1").split("\r\n")]
        heads.append((int(match[1]), {name.lower(): text.strip() for name, _, text in lines}))
    return heads


def check_quiet(body: bytes) -> None:
    """No answer shows the inside of the program."""
    for word in (b"Traceback", b'File "', b"uvicorn", b"chalice", b"Index of", b"/work", b"boto"):
        assert word not in body


@by_port
@pytest.mark.parametrize("name", AMBIGUOUS)
def test_what_can_be_read_in_two_ways_is_refused(stranger: Stranger, name: str, tls: bool) -> None:
    answer = stranger.exchange(AMBIGUOUS[name], tls=tls)
    ((status, headers),) = heads_of(answer)
    assert status == 400
    check_headers(headers, tls=tls)
    check_quiet(answer)


@by_port
@pytest.mark.parametrize("name", FOREIGN_TARGETS)
def test_no_answer_leads_to_another_host(stranger: Stranger, name: str, tls: bool) -> None:
    ((status, headers),) = heads_of(stranger.exchange(FOREIGN_TARGETS[name], tls=tls))
    assert status in (308, 400, 404)
    url = f"https://{DOMAIN}:{stranger.machine.ports['HTTPS_PORT']}/"
    assert headers.get("location", url).startswith(url)
    check_headers(headers, tls=tls)


def test_a_field_after_the_body_is_no_header(stranger: Stranger) -> None:
    head = request(b"POST /api/v1/transmissions", b"Transfer-Encoding: chunked")
    octets = head + b"2\r\n{}\r\n0\r\nAuthorization: " + KEY.encode() + b"\r\n\r\n"
    ((status, _),) = heads_of(stranger.exchange(octets))
    assert status == 401


@pytest.mark.parametrize("path", [*TRAVERSALS, *NOTHING_THERE])
def test_no_file_and_no_page_of_the_inside_is_there(stranger: Stranger, path: str) -> None:
    for tls in (True, False):
        answer = stranger.exchange(request(f"GET {path}".encode()), tls=tls)
        ((status, headers),) = heads_of(answer)
        assert status in ((404,) if tls else (404, 308))
        check_headers(headers, tls=tls)
        check_quiet(answer)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 302),
        ("GET", "/health", 200),
        ("POST", "/health", 405),
        ("GET", "/metrics", 401),
        ("GET", "/console/", 200),
        ("GET", "/docs", 302),
        ("GET", "/openapi.json", 200),
        ("GET", "/none", 404),
        ("TRACE", "/api/v1/transmissions", 405),
        ("GET", "/api/v1/transmissions", 401),
        ("DELETE", "/api/v1", 405),
        ("OPTIONS", "/api/v1/transmissions", 405),
        ("GET", "/t/none", 404),
    ],
)
def test_every_answer_has_the_headers_that_keep_strangers_out(
    stranger: Stranger, method: str, path: str, status: int
) -> None:
    response = stranger.request(method, path)
    assert response.status == status
    check_headers(dict(response.headers), tls=True)
    check_quiet(response.body if "json" not in path else b"")
    check_headers(dict(stranger.request(method, path, tls=False).headers), tls=False)


def test_no_key_is_taken_in_the_clear(stranger: Stranger) -> None:
    path = "/api/v1/transmissions"
    assert stranger.request("POST", path, {}, tls=False, Authorization=KEY).status == 403
    assert stranger.request("GET", path, tls=False, Authorization=KEY).status == 308


def test_health_tells_nothing_secret_and_metrics_want_the_token(stranger: Stranger) -> None:
    health = stranger.request("GET", "/health").json
    assert health == {"status": "ok", "parts": {"storage": "ok", "smtp": "ok"}}
    for wrong in ("", "Bearer", "Bearer ", TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN}\xe9"):
        assert stranger.request("GET", "/metrics", Authorization=wrong).status == 401
    token = f"Bearer {TOKEN}"
    assert stranger.request("GET", "/metrics", Authorization=token).status == 200


@pytest.mark.parametrize(
    "key",
    [
        "",
        KEY.upper(),
        KEY.replace("-", "\N{HYPHEN}"),
        f"{KEY}\N{NO-BREAK SPACE}",
        f"Bearer {KEY}",
        f"{KEY}\N{ZERO WIDTH SPACE}",
        KEY.replace("m", "%6d"),
        "\N{FULLWIDTH LATIN SMALL LETTER M}" + KEY[1:],
        f"{KEY},{KEY}",
        "x" * 10_000,
    ],
)
def test_what_resembles_a_key_is_none(stranger: Stranger, key: str) -> None:
    octets = key.encode().decode("latin-1")
    assert stranger.request("GET", "/api/v1/sending-domains", Authorization=octets).status == 401


def test_a_key_for_another_address_is_refused_whatever_headers_say(stranger: Stranger) -> None:
    for address, status in ((_OTHER, 403), (stranger.address, 200)):
        body = {"label": "bound", "grants": ["sending_domains/manage"], "valid_ips": [address]}
        key = stranger.machine.results("POST", "/api-keys", body)["key"]
        path = "/api/v1/sending-domains"
        assert stranger.request("GET", path, Authorization=key).status == status
        assert stranger.request("GET", path, Authorization=key, **_FORGED).status == status


def _link(stranger: Stranger, place: Outside) -> str:
    """Send a message and return the path of its link."""
    content = {
        "from": "hello@acme.example",
        "subject": "Hello",
        "html": '<p><a href="https://shop.example/">Shop</a></p>',
    }
    recipients = [{"address": "reader@reader.example"}]
    body = {"recipients": recipients, "content": content}
    stranger.machine.results("POST", "/transmissions", body)
    (message,) = eventually(lambda: place.messages("reader@reader.example"))
    html = message.get_payload(decode=True).decode()
    url = re.search(rf'href="https://{DOMAIN}:\d+(/[^"]+)"', html)
    assert url, html
    return url[1]


def test_a_link_works_at_its_own_host_and_reports_the_real_address(
    stranger: Stranger, place: Outside
) -> None:
    path = _link(stranger, place)
    for tls in (True, False):
        foreign = stranger.request("GET", path, tls=tls, Host="other.example", **_FORGED)
        assert foreign.status == 404
    response = stranger.request("GET", path, **_FORGED)
    assert (response.status, response.headers["location"]) == (302, "https://shop.example/")
    check_headers(dict(response.headers), tls=True)
    query = "/events/message?recipients=reader@reader.example&events=click&to=2100-01-01T00:00:00Z"
    (click,) = eventually(lambda: stranger.machine.results("GET", query))
    assert click["ip_address"] == stranger.address


@by_port
def test_a_head_that_is_too_large_ends_the_connection(stranger: Stranger, tls: bool) -> None:
    line = b"GET /health HTTP/1.1\r\n" + HOST
    many = line + b"".join(b"X-%d: y\r\n" % number for number in range(100_000)) + b"\r\n"
    long = line + b"X: " + b"y" * _MIB + b"\r\n\r\n"
    for octets in (many, long, b"GET /" + b"x" * _MIB):
        statuses = [status for status, _ in heads_of(stranger.exchange(octets, tls=tls))]
        assert statuses in ([], [400])
    assert stranger.request("GET", "/health", tls=tls).status == 200


@pytest.mark.parametrize(
    "framing", [b"1;" + b"x" * 32 * _MIB, b"0\r\nX: " + b"x" * 32 * _MIB], ids=["chunk", "trailer"]
)
def test_framing_without_a_body_ends_the_connection(stranger: Stranger, framing: bytes) -> None:
    head = request(b"POST /api/v1/transmissions", b"Transfer-Encoding: chunked")
    with pytest.raises(ConnectionError), stranger.connect("HTTP_PORT") as connection:
        connection.sendall(head + framing)


def _edge(stranger: Stranger) -> psutil.Process:
    (process,) = stranger.machine.running("edge")
    return process


def _memory(stranger: Stranger) -> int:
    return int(_edge(stranger).memory_info().rss)


def _upload(stranger: Stranger, size: int) -> Response:
    return stranger.request("POST", "/api/v1/transmissions", b"[" * size)


def test_bodies_of_strangers_are_not_kept(stranger: Stranger) -> None:
    before = _memory(stranger)
    statuses: list[int] = []
    upload = lambda: statuses.append(_upload(stranger, 40 * _MIB).status)  # noqa: E731
    threads = [threading.Thread(target=upload) for _ in range(6)]
    for thread in threads:
        thread.start()
    peak = before
    while any(thread.is_alive() for thread in threads):
        peak = max(peak, _memory(stranger))
    assert statuses == [401] * 6
    assert peak - before < 64 * _MIB


def test_answers_that_nobody_reads_are_not_kept(stranger: Stranger) -> None:
    """Each of 200 clients asks twenty times for 300 KB."""
    before = _memory(stranger)
    octets = b"GET /openapi.json HTTP/1.1\r\n" + HOST + b"\r\n"
    with ExitStack() as stack:
        for _ in range(200):
            connection = stack.enter_context(stranger.secure())
            connection.sendall(octets * 20)
        assert stranger.request("GET", "/health").status == 200
        assert eventually(lambda: _memory(stranger) - before < 128 * _MIB)


def test_one_address_has_so_many_connections_and_others_still_have_theirs(
    stranger: Stranger,
) -> None:
    def count() -> int:
        number = 0
        for connection in connections:
            try:
                connection.sendall(b"GET /health HTTP/1.1\r\n" + HOST + b"\r\n")
                number += connection.recv(64).startswith(b"HTTP/1.1 200")
            except ConnectionError:
                pass
        return number

    with ExitStack() as stack:
        connections = [stack.enter_context(stranger.connect("HTTP_PORT")) for _ in range(300)]
        assert 200 < count() <= 256
        assert stranger.machine.request("GET", "/health").status == 200
    eventually(lambda: _is_served(stranger))


def _is_served(stranger: Stranger) -> bool:
    try:
        return stranger.request("GET", "/health", tls=False).status == 200
    except (ConnectionError, HTTPException):
        return False


def test_compressed_and_nested_bombs_are_refused(stranger: Stranger) -> None:
    before = _memory(stranger)
    path = "/api/v1/transmissions"
    bomb = gzip.compress(b"[" * 100 * _MIB)
    for encoding in ("gzip", "deflate", "br"):
        response = stranger.request(
            "POST", path, bomb, Authorization=KEY, Content_Encoding=encoding
        )
        assert response.status == 415
    for body in (b"[" * 200_000, b'{"a":' * 200_000, b"1" * 200_000):
        assert stranger.request("POST", path, body, Authorization=KEY).status == 422
    assert _memory(stranger) - before < 64 * _MIB


def test_a_second_request_is_not_read_from_a_closed_connection(stranger: Stranger) -> None:
    octets = request(b"GET /health") + request(b"GET /api/v1")
    assert [status for status, _ in heads_of(stranger.exchange(octets))] == [200]


def test_the_attacks_leave_no_error_and_no_key_in_the_log(stranger: Stranger) -> None:
    lines = stranger.machine.lines()
    assert [line for line in lines if line["level"] in ("ERROR", "CRITICAL")] == []
    assert KEY not in stranger.machine.output.read_text()
