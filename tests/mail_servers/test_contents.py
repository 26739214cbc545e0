"""Each server stores what was sent, byte for byte and once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from chalicelib.delivery.outcome import Delivered, Failed
from chalicelib.delivery.transports import OutboundMessage, commit_at_once
from chalicelib.delivery.transports.smtp_opening import Credentials, SessionOptions, TlsMode
from tests.mail_servers.delivery import TIMEOUTS, mx, smarthost
from tests.mail_servers.mailbox import Mailbox, message, with_line_feeds
from tests.mail_servers.others import Server
from tests.mail_servers.postfix import Postfix
from tests.mail_servers.proxy import Proxy

_BYTES = bytes(number for number in range(1, 256) if number not in b"\r\n")
_ASCII = _BYTES[:125]
EIGHT_BIT = _BYTES + b"\r\n." + _BYTES + b"\r\n"
BODIES = {
    "empty": b"",
    "dots": b".\r\n..\r\n.dot\r\n\r\n.\r\n.",
    "no end of the last line": b"one\r\ntwo",
    "line ends of other systems": b"one\ntwo\rthree\r\n",
    "a line of 900": b"x" * 900 + b"\r\n",
    "any character of ASCII but NUL": _ASCII + b"\r\n." + _ASCII + b"\r\n",
    "several writes": b".A line that starts with a dot\r\n" * 5_000,
}
PLACES = [
    "postfix all extensions",
    "postfix bare",
    "postfix no pipelining",
    "postfix no chunking, no dsn",
    "postfix no 8bitmime",
    "exim plain",
    "exim bare",
    "opensmtpd plain",
    "haraka plain",
    "dovecot lmtp",
]


@contextmanager
def place_of(request: pytest.FixtureRequest, place: str) -> Iterator[tuple[int, Mailbox]]:
    """Start the server of a place; yield its port and its mailbox."""
    program, _, name = place.partition(" ")
    server: Postfix | Server = request.getfixturevalue(program)
    if name != "lmtp":
        yield server.ports[name], server.mailbox
        return
    with Proxy(server.ports[name], lmtp=True) as proxy:
        yield proxy.port, server.mailbox


def assert_stored(mailbox: Mailbox, original: OutboundMessage, count: int = 1) -> None:
    assert mailbox.copies(original, count) == [with_line_feeds(original.data)] * count


@pytest.mark.parametrize("place", PLACES)
def test_every_content_arrives_unchanged_over_one_connection(
    request: pytest.FixtureRequest, place: str
) -> None:
    messages = [message(body) for body in BODIES.values()]
    messages.append(message(sender=""))
    with place_of(request, place) as (port, mailbox), mx(port) as transport:
        outcomes = [transport.deliver(each, commit_at_once) for each in messages]
        assert [type(each) for each in outcomes] == [Delivered] * len(messages), outcomes
        for each in messages:
            assert_stored(mailbox, each)


WITHOUT_8BITMIME = ["postfix bare", "postfix no 8bitmime"]


@pytest.mark.parametrize("place", [each for each in PLACES if each not in WITHOUT_8BITMIME])
def test_content_beyond_ascii_arrives_unchanged(request: pytest.FixtureRequest, place: str) -> None:
    original = message(EIGHT_BIT)
    with place_of(request, place) as (port, mailbox), mx(port) as transport:
        assert isinstance(transport.deliver(original, commit_at_once), Delivered)
        assert_stored(mailbox, original)


@pytest.mark.parametrize("place", WITHOUT_8BITMIME)
def test_content_beyond_ascii_fails_where_8bitmime_is_not_offered(
    request: pytest.FixtureRequest, place: str
) -> None:
    original = message(EIGHT_BIT)
    with place_of(request, place) as (port, mailbox), mx(port) as transport:
        outcome = transport.deliver(original, commit_at_once)
        assert isinstance(outcome, Failed)
        assert (outcome.code, outcome.bounce_class) == (554, 40)
        assert mailbox.copies(original) == []


@pytest.mark.parametrize("place", ["postfix all extensions", "exim plain"])
@pytest.mark.parametrize("length", [998, 999, 5_000])
def test_long_lines_arrive_unbroken(
    request: pytest.FixtureRequest, place: str, length: int
) -> None:
    original = message(b"x" * length + b"\r\nend\r\n")
    with place_of(request, place) as (port, mailbox), mx(port) as transport:
        assert isinstance(transport.deliver(original, commit_at_once), Delivered)
        assert_stored(mailbox, original)


@pytest.mark.parametrize("place", ["postfix all extensions", "exim plain"])
def test_an_address_beyond_ascii_is_delivered_where_smtputf8_is_offered(
    request: pytest.FixtureRequest, place: str
) -> None:
    header = "Reply-To: jörg@inbox.test\r\n".encode()
    original = message(recipient="jörg@inbox.test", sender="änne@sender.test", header=header)
    with place_of(request, place) as (port, mailbox), mx(port) as transport:
        assert isinstance(transport.deliver(original, commit_at_once), Delivered)
        assert_stored(mailbox, original)


@pytest.mark.parametrize("place", ["postfix no smtputf8", "exim bare", "opensmtpd plain"])
def test_an_address_beyond_ascii_fails_where_smtputf8_is_not_offered(
    request: pytest.FixtureRequest, place: str
) -> None:
    header = "Reply-To: jörg@inbox.test\r\n".encode()
    messages = {553: message(recipient="jörg@inbox.test"), 554: message(header=header)}
    with place_of(request, place) as (port, mailbox), mx(port) as transport:
        for code, original in messages.items():
            outcome = transport.deliver(original, commit_at_once)
            assert isinstance(outcome, Failed)
            assert (outcome.code, outcome.bounce_class) == (code, 40)
            assert mailbox.copies(original) == []


def test_submission_by_dovecot_with_a_login_reaches_the_next_server(
    dovecot: Server, postfix: Postfix
) -> None:
    options = SessionOptions(
        tls=TlsMode.OFF, credentials=Credentials("ben", "secret"), timeouts=TIMEOUTS
    )
    original = message(BODIES["dots"])
    with smarthost(dovecot.ports["submission"], options) as transport:
        assert isinstance(transport.deliver(original, commit_at_once), Delivered)
    assert_stored(postfix.mailbox, original)
