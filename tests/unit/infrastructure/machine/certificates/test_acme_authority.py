from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from infrastructure.machine.certificates.acme_authority import AcmeAuthority
from infrastructure.machine.certificates.authority_network import retry_after_seconds
from infrastructure.machine.certificates.order_failure import Failure, OrderFailed
from infrastructure.machine.certificates.tls_files import TlsFiles
from tests.unit.moving_clock import moving_clock

LIMIT = {"type": "urn:ietf:params:acme:error:rateLimited", "detail": "too many registrations"}


class _Answers(BaseHTTPRequestHandler):
    """Answer as an authority that has a directory and refuses all else."""

    status, headers_of_error, body = 429, {"Retry-After": "1234"}, json.dumps(LIMIT)

    def do_GET(self) -> None:
        url = f"http://127.0.0.1:{self.server.server_address[1]}"
        names = ("newNonce", "newAccount", "newOrder")
        self._answer(200, json.dumps({name: f"{url}/{name}" for name in names}))

    def do_HEAD(self) -> None:
        self._answer(200, "")

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(self.status, self.body, **self.headers_of_error)

    def _answer(self, status: int, body: str, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Replay-Nonce": "bm9uY2U", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def answers() -> type[_Answers]:
    """The authority's answers, which a test may change."""
    return type("Answers", (_Answers,), {})


@pytest.fixture
def authority(answers: type[_Answers], tmp_path: Path) -> Iterator[AcmeAuthority]:
    files = TlsFiles(tmp_path)
    files.make_folders()
    with ThreadingHTTPServer(("127.0.0.1", 0), answers) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield AcmeAuthority(f"http://127.0.0.1:{server.server_port}/", files, "", None)
        server.shutdown()


def failure_at(authority: AcmeAuthority) -> Failure:
    with pytest.raises(OrderFailed) as error:
        authority.obtain(["a.test"])
    return error.value.failure


def test_a_limit_is_told_with_the_time_to_wait(authority: AcmeAuthority) -> None:
    assert failure_at(authority) == Failure(
        "rateLimited: too many registrations", is_general=True, is_limit=True, retry_after=1234.0
    )


def test_an_answer_that_is_no_problem_document_is_told_with_its_status(
    answers: type[_Answers], authority: AcmeAuthority
) -> None:
    answers.status, answers.body = 503, "<h1>Down</h1>"
    failure = failure_at(authority)
    assert failure.text.startswith("HTTP 503 Service Unavailable from http://127.0.0.1:")
    assert failure.is_general
    assert failure.retry_after == 1234.0


def test_a_damaged_key_of_the_account_is_a_failure_of_everyone(
    authority: AcmeAuthority, tmp_path: Path
) -> None:
    failure_at(authority)
    (key,) = (tmp_path / "tls" / "acme").glob("*/account-key.pem")
    key.write_text("half a ke")
    failure = failure_at(authority)
    assert failure.is_general
    assert f"{key} is damaged" in failure.text


def test_the_time_to_wait_is_seconds_or_a_date() -> None:
    with moving_clock(1_800_000_000.0):
        assert retry_after_seconds("120") == 120.0
        assert retry_after_seconds("Fri, 15 Jan 2027 08:01:40 GMT") == 100.0
        assert retry_after_seconds("Fri, 15 Jan 2027 07:00:00 GMT") == 0.0
        assert retry_after_seconds("soon") is None
