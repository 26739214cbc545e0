"""Scanners are asked by their protocols, within a time limit, and never fail a message."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from chalicelib.core.settings import settings
from chalicelib.mail_verdicts import clamd, rspamd, spamd
from chalicelib.mail_verdicts.model import Origin, SpamRule, SpamVerdict, VirusVerdict
from chalicelib.mail_verdicts.scans import Scans

ORIGIN = Origin("192.0.2.1", "mail.a.test", "a\r\nX: y@a.test")
MESSAGE = b"From: a@a.test\r\n\r\nhello\r\n"
# As SpamAssassin 4.0.1 and Rspamd 3.4 write them
REPORT = (
    b"SPAMD/1.1 0 EX_OK\r\nContent-length: 500\r\nSpam: True ; 1000.0 / 5.0\r\n\r\n"
    b"Content analysis details:   (1000.0 points, 5.0 required)\n\n"
    b" pts rule name              description\n---- ---------------------- -----\n"
    b"1000 GTUBE                  BODY: Generic Test for Unsolicited Bulk Email\n"
    b"-0.0 NO_RECEIVED            Informational: message has no Received\n"
    b"                            headers\n 0.5 TVD_SPACE_RATIO        no description\n"
)
JSON = (
    b'{"is_skipped":false,"score":7.3,"required_score":15.0,"action":"add header","symbols":'
    b'{"ONCE_RECEIVED":{"name":"ONCE_RECEIVED","score":0.1,"metric_score":0.1},"MIME_GOOD":'
    b'{"name":"MIME_GOOD","score":-0.1}},"messages":{},"message-id":"undef"}'
)

Behaviour = Callable[[socket.socket], None]


class Scanner:
    """A scanner that behaves as a test wants, for one connection."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.request = b""

    def behave(self, behaviour: Behaviour) -> None:
        def serve() -> None:
            with contextlib.suppress(OSError):
                connection, _ = self._listener.accept()
                with connection:
                    connection.settimeout(10)
                    behaviour(connection)

        threading.Thread(target=serve, daemon=True).start()

    def answer(self, reply: bytes, end: bytes) -> None:
        """Read up to ``end``, and reply."""

        def behaviour(connection: socket.socket) -> None:
            while not self.request.endswith(end):
                piece = connection.recv(65_536)
                if not piece:
                    break
                self.request += piece
            connection.sendall(reply)

        self.behave(behaviour)

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def scanner() -> Iterator[Scanner]:
    scanner = Scanner()
    yield scanner
    scanner.close()


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def use(**values: str) -> None:
        for name, value in values.items():
            monkeypatch.setenv(name, value)
        settings.cache_clear()

    return use


def test_spamd_tells_score_and_rules(scanner: Scanner) -> None:
    scanner.answer(REPORT, MESSAGE)
    verdict = spamd.check(MESSAGE, f"127.0.0.1:{scanner.port}", 10)
    assert scanner.request == b"REPORT SPAMC/1.5\r\nContent-length: 25\r\n\r\n" + MESSAGE
    rules = [("GTUBE", 1000.0), ("NO_RECEIVED", 0.0), ("TVD_SPACE_RATIO", 0.5)]
    assert verdict == SpamVerdict(True, 1000.0, 5.0, tuple(SpamRule(*rule) for rule in rules))


def test_spamd_gets_no_large_message() -> None:
    verdict = spamd.check(b"x" * (spamd.MOST_OCTETS + 1), "127.0.0.1:1", 10)
    assert verdict.error == "the message has 512001 octets, and spamd gets at most 512000"


def test_rspamd_tells_score_and_symbols_and_hears_of_the_client(scanner: Scanner) -> None:
    scanner.answer(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + JSON, MESSAGE)
    verdict = rspamd.check(MESSAGE, ORIGIN, f"127.0.0.1:{scanner.port}", 10)
    rules = SpamRule("ONCE_RECEIVED", 0.1), SpamRule("MIME_GOOD", -0.1)
    assert verdict == SpamVerdict(True, 7.3, 15.0, rules)
    head, _, body = scanner.request.partition(b"\r\n\r\n")
    assert head.split(b"\r\n")[0] == b"POST /checkv2 HTTP/1.0"
    assert {b"IP: 192.0.2.1", b"Helo: mail.a.test", b"From: a??X:?y@a.test"} <= set(
        head.split(b"\r\n")
    )
    assert body == MESSAGE


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        (b"stream: OK\0", VirusVerdict()),
        (b"stream: Eicar-Test FOUND\0", VirusVerdict(True, "Eicar-Test")),
        (
            b"INSTREAM size limit exceeded. ERROR\0",
            VirusVerdict(error="clamd answered 'INSTREAM size limit exceeded. ERROR'"),
        ),
    ],
)
def test_clamd_tells_what_it_found(scanner: Scanner, reply: bytes, verdict: VirusVerdict) -> None:
    scanner.answer(reply, bytes(4))
    assert clamd.check(MESSAGE, f"127.0.0.1:{scanner.port}", 10) == verdict
    assert scanner.request == b"zINSTREAM\0\0\0\0\x19" + MESSAGE + bytes(4)


def test_clamd_may_close_before_it_has_all(scanner: Scanner) -> None:
    def refuse(connection: socket.socket) -> None:
        connection.recv(1000)
        connection.sendall(b"INSTREAM size limit exceeded. ERROR\0")

    scanner.behave(refuse)
    verdict = clamd.check(b"x" * 20_000_000, f"127.0.0.1:{scanner.port}", 10)
    assert verdict.error
    assert not verdict.is_infected


@pytest.mark.parametrize(
    "reply", [b"", b"\0", b"SPAMD/1.0 76 EX_PROTOCOL\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n[1]", b"{"]
)
def test_a_reply_that_makes_no_sense_is_an_error(reply: bytes) -> None:
    assert spamd.read_reply(reply).error
    assert rspamd.read_reply(reply).error
    assert clamd.read_reply(reply).error


def test_an_rspamd_score_is_a_number() -> None:
    head = b"HTTP/1.1 200 OK\r\n\r\n"
    assert rspamd.read_reply(head + JSON.replace(b"7.3", b"NaN")).error
    limit = JSON.replace(b'"action"', b'"thresholds":{"add header":6.0},"action"')
    assert rspamd.read_reply(head + limit).threshold == 6.0
    greylist = JSON.replace(b"add header", b"greylist")
    assert not rspamd.read_reply(head + greylist).is_spam


def test_nobody_is_asked_without_a_setting(use: Callable[..., None]) -> None:
    use(SPAM_CHECK="", VIRUS_CHECK="")
    scans = Scans.start(MESSAGE, ORIGIN)
    assert (scans.spam(), scans.virus()) == (None, None)


def test_scanners_that_do_not_answer_are_errors(use: Callable[..., None]) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    use(
        SPAM_CHECK=f"rspamd://127.0.0.1:{port}",
        VIRUS_CHECK="clamd://127.0.0.1:1",
        SCAN_TIMEOUT="0.2",
    )
    started = time.monotonic()
    scans = Scans.start(MESSAGE, ORIGIN)
    spam, virus = scans.spam(), scans.virus()
    listener.close()
    assert time.monotonic() - started < 5
    assert spam
    assert virus
    assert re.search("time", spam.error)
    assert virus.error.startswith("clamd does not answer")


@pytest.mark.parametrize(
    ("name", "value"),
    [("SPAM_CHECK", "http://a.test"), ("SPAM_CHECK", "spamd://"), ("VIRUS_CHECK", "a.test:3310")],
)
def test_a_scanner_has_an_address(use: Callable[..., None], name: str, value: str) -> None:
    use(**{name: value})
    with pytest.raises(ValueError, match=f"{name}='.*' is not allowed"):
        settings()
