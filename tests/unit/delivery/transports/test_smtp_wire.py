"""Replies of unknown hosts are read strictly and within bounds."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from chalicelib.delivery.transports.smtp_wire import (
    LONGEST_LINE,
    MOST_LINES,
    ConnectionLost,
    HostReply,
    ReplyTimeout,
    SmtpWire,
)

Pair = tuple[SmtpWire, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        near = socket.create_connection(listener.getsockname())
        far, _ = listener.accept()
    with near, far:
        yield SmtpWire(near), far


def in_background(far: socket.socket, piece: bytes, pause: float, until: threading.Event) -> None:
    def pour() -> None:
        with suppress(OSError):
            while not until.wait(pause):
                far.sendall(piece)

    threading.Thread(target=pour, daemon=True).start()


@pytest.mark.parametrize(
    ("octets", "reply"),
    [
        (b"250 ok\r\n", HostReply(250, ("ok",))),
        (b"250\r\n", HostReply(250, ("",))),
        (b"250 ok\n", HostReply(250, ("ok",))),
        (
            b"550-5.1.1 no\r\n550 5.1.1 such user\r\n",
            HostReply(550, ("5.1.1 no", "5.1.1 such user")),
        ),
        (b"550-one\r\n550-\r\n550 three\r\n", HostReply(550, ("one", "", "three"))),
        (b"550 caf\xc3\xa9 \xff\r\n", HostReply(550, ("caf\u00e9 \ufffd",))),
    ],
)
def test_a_reply_is_read(pair: Pair, octets: bytes, reply: HostReply) -> None:
    wire, far = pair
    far.sendall(octets)
    assert wire.read_reply(1) == reply


def test_the_lines_of_a_reply_are_joined_by_spaces() -> None:
    assert HostReply(550, ("5.1.1 no", "such user")).text == "5.1.1 no such user"


def test_replies_that_arrive_together_are_read_one_by_one(pair: Pair) -> None:
    wire, far = pair
    far.sendall(b"250 a\r\n550-b\r\n550 c\r\n354 d\r\n")
    assert [wire.read_reply(1).code for _ in range(3)] == [250, 550, 354]


def test_a_reply_that_arrives_in_pieces_is_put_together(pair: Pair) -> None:
    wire, far = pair

    def dribble() -> None:
        for byte in b"250-a\r\n250 b\r\n":
            far.sendall(bytes([byte]))

    threading.Thread(target=dribble).start()
    assert wire.read_reply(2) == HostReply(250, ("a", "b"))


@pytest.mark.parametrize(
    "octets",
    [
        b"hello\r\n",
        b"25\r\n",
        b"\r\n",
        b"250ok\r\n",
        b"999 no\r\n",
        b"150 no\r\n",
        b"\xb2\xb2\xb2 x\r\n",
    ],
)
def test_a_line_that_is_no_reply_ends_the_connection(pair: Pair, octets: bytes) -> None:
    wire, far = pair
    far.sendall(octets)
    with pytest.raises(ConnectionLost, match="no reply"):
        wire.read_reply(1)


@pytest.mark.parametrize("rest", [b"x" * 2 * LONGEST_LINE, b"x\r\n"])
def test_too_long_a_line_is_not_used(pair: Pair, rest: bytes) -> None:
    wire, far = pair
    far.sendall(b"250 " + b"x" * LONGEST_LINE + rest)
    with pytest.raises(ConnectionLost, match="too long a line"):
        wire.read_reply(1)


def test_a_reply_without_end_is_not_read_to_its_end(pair: Pair) -> None:
    wire, far = pair
    far.sendall(b"250-more\r\n" * (MOST_LINES + 1))
    with pytest.raises(ConnectionLost, match="reply without end"):
        wire.read_reply(1)


def test_silence_is_a_timeout(pair: Pair) -> None:
    with pytest.raises(ReplyTimeout):
        pair[0].read_reply(0.05)


@pytest.mark.parametrize("piece", [b"2", b"250-more\r\n"])
def test_a_host_that_trickles_is_held_to_the_time_for_the_whole_reply(
    pair: Pair, piece: bytes
) -> None:
    wire, far = pair
    done = threading.Event()
    in_background(far, piece, 0.02, done)
    started = time.monotonic()
    with pytest.raises(ReplyTimeout):
        wire.read_reply(0.2)
    done.set()
    assert 0.15 < time.monotonic() - started < 30, "the host goes on until it is stopped"


def test_a_host_that_does_not_read_is_a_timeout(pair: Pair) -> None:
    with pytest.raises(ReplyTimeout, match="stopped reading"):
        pair[0].send(b"x" * 50_000_000, 0.2)


def hang_up(pair: Pair, last_words: bytes) -> None:
    """Close the far end with data unread, and wait until the near end cannot send any more."""
    wire, far = pair
    wire.send(b"x", 1)
    far.sendall(last_words)
    far.close()
    with suppress(ConnectionLost):
        while True:
            wire.send(b"x", 1)


@pytest.mark.parametrize(
    "reply", [HostReply(421, ("too busy",)), HostReply(550, ("5.1.1 no", "user"))]
)
def test_why_the_host_hung_up_is_heard(pair: Pair, reply: HostReply) -> None:
    lines = [f"{reply.code}-{text}\r\n" for text in reply.lines]
    lines[-1] = lines[-1].replace("-", " ", 1)
    hang_up(pair, "".join(lines).encode())
    assert pair[0].send_or_hear(b"more", 1, 1) == reply


@pytest.mark.parametrize("last_words", [b"", b"250 fine\r\n", b"what?\r\n", b"421-half\r\n"])
def test_a_host_that_hangs_up_without_a_refusal_is_lost(pair: Pair, last_words: bytes) -> None:
    hang_up(pair, last_words)
    with pytest.raises(ConnectionLost):
        pair[0].send_or_hear(b"more", 1, 1)


def test_nothing_is_heard_while_all_is_sent(pair: Pair) -> None:
    wire, far = pair
    far.sendall(b"421 too busy\r\n")
    assert wire.send_or_hear(b"more", 1, 1) is None
    assert far.recv(10) == b"more"


def test_a_closed_connection_is_lost(pair: Pair) -> None:
    wire, far = pair
    far.close()
    with pytest.raises(ConnectionLost, match="closed") as excinfo:
        wire.read_reply(1)
    assert not isinstance(excinfo.value, ReplyTimeout)


def test_a_quiet_connection_has_nothing_unread(pair: Pair) -> None:
    wire, far = pair
    assert not wire.has_unread()
    far.sendall(b"250 ok\r\n")
    assert wire.read_reply(1).code == 250
    assert not wire.has_unread()


@pytest.mark.parametrize("last_words", [b"421 idle for too long\r\n", b""])
def test_unread_data_or_a_closed_connection_is_noticed(pair: Pair, last_words: bytes) -> None:
    wire, far = pair
    far.sendall(last_words)
    if not last_words:
        far.close()
    deadline = time.monotonic() + 60
    while not wire.has_unread() and time.monotonic() < deadline:
        pass
    assert wire.has_unread()


def test_small_commands_are_not_held_back(pair: Pair) -> None:
    wire, _ = pair
    assert wire._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
