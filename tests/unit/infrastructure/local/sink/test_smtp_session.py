"""Test the SMTP session of the sink byte by byte."""

import asyncio
import itertools
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.sink import smtp_session
from infrastructure.local.sink.server import Sink, SinkOptions
from infrastructure.local.sink.smtp_session import CHUNK, SmtpSession
from tests.unit.infrastructure.local.running import RunningSink, running_sink
from tests.unit.linear_time import assert_linear

MAX_SIZE = 2 * CHUNK
ENVELOPE = b"MAIL FROM:<a@a.test>\r\nRCPT TO:<b@b.test>\r\n"


class Client:
    """A client that sends exactly the bytes of the test."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=120)
        self.input: BinaryIO = self.socket.makefile("rb")
        assert self.reply().startswith("220 ")

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def reply(self) -> str:
        """Return the next reply with its lines joined, or "" at the end of the connection."""
        lines = [self.input.readline().decode()]
        while lines[-1][3:4] == "-":
            lines.append(self.input.readline().decode())
        return "".join(lines)

    def codes(self, data: bytes, count: int) -> list[str]:
        self.send(data)
        return [self.reply()[:3] for _ in range(count)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSink]:
    options = SinkOptions(max_size=MAX_SIZE)
    with running_sink(tmp_path_factory.mktemp("sink"), options) as sink:
        yield sink


@pytest.fixture
def client(server: RunningSink) -> Iterator[Client]:
    server.mailbox.clear()
    client = Client(server.port)
    assert client.codes(b"EHLO client.test\r\n", 1) == ["250"]
    yield client
    client.socket.close()


def stored_message(server: RunningSink) -> bytes:
    (entry,) = server.mailbox.list()
    message = server.mailbox.read(entry["id"])
    assert message is not None
    return message.split(b"\r\n", 2)[2]


def test_the_extensions_are_advertised(client: Client) -> None:
    client.send(b"EHLO client.test\r\n")
    assert [line[4:] for line in client.reply().splitlines()[1:]] == [
        "PIPELINING",
        f"SIZE {MAX_SIZE}",
        "8BITMIME",
        "SMTPUTF8",
        "ENHANCEDSTATUSCODES",
    ]


def test_the_message_can_be_found_once_it_is_accepted(client: Client, server: RunningSink) -> None:
    codes = client.codes(b"%sDATA\r\nSubject: x\r\n\r\nbody\r\n.\r\n" % ENVELOPE, 4)
    assert codes == ["250", "250", "354", "250"]
    assert stored_message(server) == b"Subject: x\r\n\r\nbody\r\n"


def test_pipelined_transactions_are_answered_in_order(client: Client, server: RunningSink) -> None:
    transaction = ENVELOPE + b"DATA\r\nhi\r\n.\r\n"
    refusals = b"MAIL FROM:<>\r\nRCPT TO:<bounce-hard@b.test>\r\nDATA\r\n"
    codes = client.codes(transaction + refusals + b"RSET\r\n" + transaction + b"QUIT\r\n", 13)
    accepted = ["250", "250", "354", "250"]
    assert codes == [*accepted, "250", "550", "554", "250", *accepted, "221"]
    assert client.reply() == ""
    assert len(server.mailbox.list()) == 2


def test_a_message_is_stored_for_each_recipient(client: Client, server: RunningSink) -> None:
    client.codes(ENVELOPE + b"RCPT TO:<c@b.test>\r\nDATA\r\nhi\r\n.\r\n", 5)
    assert {entry["to"] for entry in server.mailbox.list()} == {"b@b.test", "c@b.test"}


@pytest.mark.parametrize(
    ("octets", "message"),
    [
        (b".\r\n", b""),
        (b"\r\n.\r\n", b"\r\n"),
        (b"..\r\n.\r\n", b".\r\n"),
        (b".a\r\n..b\r\n...\r\nc.\r\n.\r\n", b"a\r\n.b\r\n..\r\nc.\r\n"),
        (b"..\r\n..\r\n..\r\n.\r\n", b".\r\n.\r\n.\r\n"),
    ],
)
def test_dots_are_undot_stuff(
    client: Client, server: RunningSink, octets: bytes, message: bytes
) -> None:
    assert client.codes(ENVELOPE + b"DATA\r\n" + octets, 4)[-1] == "250"
    assert stored_message(server) == message
    assert client.codes(b"NOOP\r\n", 1) == ["250"]


def dot_stuff(message: bytes) -> bytes:
    return b"".join(
        b"." * line.startswith(b".") + line + b"\r\n" for line in message.split(b"\r\n")[:-1]
    )


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(
        st.sampled_from([b"", b".", b"..", b"a", b"a.", b".a", b"\x00\xff"]), max_size=8
    ),
    cuts=st.lists(st.integers(0, 40), max_size=4),
)
def test_any_message_arrives_unchanged_however_it_is_split(
    client: Client, server: RunningSink, lines: list[bytes], cuts: list[int]
) -> None:
    server.mailbox.clear()
    message = b"".join(line + b"\r\n" for line in lines)
    assert client.codes(ENVELOPE + b"DATA\r\n", 3) == ["250", "250", "354"]
    client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    data = dot_stuff(message) + b".\r\n"
    edges = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    for start, end in itertools.pairwise(edges):
        client.send(data[start:end])
    assert client.reply().startswith("250 ")
    assert stored_message(server) == message


@pytest.mark.parametrize(
    "content", [b"a\nb\r\n", b"a\rb\r\n", b"a\n.\nMAIL FROM:<x@x.test>\r\n", b"a\r\n.\n", b"\r\r\n"]
)
def test_only_crlf_ends_a_line_or_the_message(
    client: Client, server: RunningSink, content: bytes
) -> None:
    client.send(ENVELOPE + b"DATA\r\n" + content + b"\r\n.\r\n")
    assert [client.reply()[:9] for _ in range(4)][-1] == "550 5.5.2"
    assert client.codes(b"NOOP\r\n", 1) == ["250"]
    assert server.mailbox.list() == []


def test_a_message_of_the_maximum_size_is_accepted_and_a_larger_one_refused(
    client: Client, server: RunningSink
) -> None:
    largest = (b"x" * 998 + b"\r\n") * (MAX_SIZE // 1000)
    largest += b"y" * (MAX_SIZE - len(largest) - 2) + b"\r\n"
    assert client.codes(ENVELOPE + b"DATA\r\n" + largest + b".\r\n", 4)[-1] == "250"
    assert stored_message(server) == largest
    for too_big in (
        b"z" + largest,
        b"z" * (3 * MAX_SIZE) + b"\r\n",
        b"z.\r\n" * (MAX_SIZE // 4 + 1),
    ):
        assert client.codes(ENVELOPE + b"DATA\r\n" + too_big + b".\r\n", 4)[-1] == "552"
    assert client.codes(ENVELOPE + b"DATA\r\n.\r\n", 4)[-1] == "250"
    assert len(server.mailbox.list()) == 2


class Wire:
    """A writer that stores the replies of a session that has all its input at the start."""

    def __init__(self) -> None:
        self.writes: list[list[bytes]] = []

    @property
    def codes(self) -> list[bytes]:
        return [code for codes in self.writes for code in codes]

    def write(self, replies: bytes) -> None:
        self.writes.append([reply[:3] for reply in replies.splitlines()])

    async def drain(self) -> None:
        pass

    def close(self) -> None:
        pass


async def whole_session(data: bytes, tmp_path: Path) -> Wire:
    reader, wire = asyncio.StreamReader(limit=CHUNK), Wire()
    reader.feed_data(data)
    reader.feed_eof()
    sink = Sink(SinkMailbox(tmp_path))
    session = SmtpSession(
        reader,
        wire,  # type: ignore[arg-type]
        sink,
        max_size=100,
        idle_seconds=1,
    )
    await session.run()
    return wire


def test_a_dot_at_a_chunk_boundary_does_not_end_a_too_large_message(tmp_path: Path) -> None:
    content = b"x" * (CHUNK + 1) + b".\r\nRSET\r\n.\r\n"
    data = b"HELO c.test\r\n" + ENVELOPE + b"DATA\r\n" + content + b"QUIT\r\n"
    wire = asyncio.run(whole_session(data, tmp_path))
    assert wire.codes == [b"220", b"250", b"250", b"250", b"354", b"552", b"221"]


def test_commands_that_come_together_are_answered_in_one_write(tmp_path: Path) -> None:
    data = b"HELO c.test\r\n" + ENVELOPE + b"DATA\r\nHello\r\n.\r\n"
    wire = asyncio.run(whole_session(data, tmp_path))
    assert wire.writes == [[b"220"], [b"250", b"250", b"250", b"354", b"250"]]


def test_a_message_declared_too_big_is_refused_at_once(client: Client) -> None:
    assert client.codes(b"MAIL FROM:<a@a.test> SIZE=%d\r\n" % (MAX_SIZE + 1), 1) == ["552"]
    assert client.codes(b"MAIL FROM:<a@a.test> SIZE=%d\r\n" % MAX_SIZE, 1) == ["250"]


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (b"MAIL FROM:<> BODY=8BITMIME SMTPUTF8 SIZE=10", "250"),
        (b"mail from: <a@a.test>", "250"),
        (b'MAIL FROM:<"a b"@a.test>', "250"),
        ("MAIL FROM:<é@a.test> SMTPUTF8".encode(), "250"),
        (b"MAIL FROM:a@a.test", "501"),
        (b"MAIL FROM:<a@a.test", "501"),
        (b"MAIL FROM:<a@a.test> SIZE=x", "501"),
        (b"MAIL FROM:<a@a.test> AUTH=<>", "555"),
        (b"MAIL", "501"),
        (b"MAIL FROM:<\xff@a.test>", "500"),
        (b"MAIL FROM:<a@a.test>\nRCPT TO:<b@b.test>", "500"),
        (b"RCPT TO:<b@b.test>", "503"),
        (b"DATA", "503"),
        (b"HELO client.test", "250"),
        (b"NOOP", "250"),
        (b"VRFY bob", "252"),
        (b"FROB", "500"),
        (b"", "500"),
        (b"NOOP " + b"x" * 5000, "500"),
    ],
)
def test_commands_are_answered(client: Client, command: bytes, code: str) -> None:
    assert client.codes(command + b"\r\n", 1) == [code]
    assert client.codes(b"NOOP\r\n", 1) == ["250"]


@pytest.mark.parametrize("recipient", [b"<>", b"<bob>", b"bob@b.test", b"<b@b.test"])
def test_a_recipient_that_is_no_address_is_refused(client: Client, recipient: bytes) -> None:
    assert client.codes(b"MAIL FROM:<>\r\nRCPT TO:%s\r\n" % recipient, 2) == ["250", "501"]


def test_mail_needs_a_greeting_and_no_other_transaction(server: RunningSink) -> None:
    client = Client(server.port)
    assert client.codes(b"MAIL FROM:<>\r\nEHLO c.test\r\n", 2) == ["503", "250"]
    assert client.codes(b"MAIL FROM:<>\r\nMAIL FROM:<>\r\n", 2) == ["250", "503"]
    assert client.codes(b"EHLO c.test\r\nRCPT TO:<b@b.test>\r\n", 2) == ["250", "503"]
    client.socket.close()


def test_the_number_of_recipients_is_limited(client: Client) -> None:
    codes = client.codes(b"MAIL FROM:<>\r\n" + b"RCPT TO:<b@b.test>\r\n" * 1001, 1002)
    assert codes[-2:] == ["250", "452"]


def test_a_line_without_end_closes_the_connection(client: Client) -> None:
    client.send(b"x" * (CHUNK + 10))
    assert client.reply().startswith("500 5.5.2")


@pytest.mark.parametrize("path", [b"/", b"/" + b"x" * 9000])
def test_an_http_request_ends_the_connection_before_its_body_is_read(
    server: RunningSink, path: bytes
) -> None:
    server.mailbox.clear()
    client = Client(server.port)
    page = b"EHLO page.test\r\n" + ENVELOPE + b"DATA\r\nhello\r\n.\r\n"
    client.send(b"POST %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path + page)
    assert client.reply().startswith("421 4.7.0 This is an SMTP server")
    assert client.reply() == ""
    client.socket.close()
    assert server.mailbox.list() == []


def test_a_client_that_disconnects_during_data_stores_nothing(
    client: Client, server: RunningSink
) -> None:
    assert client.codes(ENVELOPE + b"DATA\r\nhalf a mess", 3)[-1] == "354"
    client.socket.close()
    other = Client(server.port)
    assert other.codes(b"EHLO c.test\r\nQUIT\r\n", 2) == ["250", "221"]
    assert server.mailbox.list() == []


def test_an_idle_client_gets_421_and_is_disconnected(tmp_path: Path) -> None:
    with running_sink(tmp_path, SinkOptions(idle_seconds=0.05)) as sink:
        client = Client(sink.port)
        assert client.reply().startswith("421 4.4.2")
        assert client.reply() == ""
        client.socket.close()


@pytest.mark.parametrize(
    "argument",
    [
        'TO:<"' + '\\"' * 60_000,
        "TO:<" + '""' * 60_000,
        "TO:" + " " * 120_000,
        "TO:<a>" + " a" * 60_000 + "  ",
        "TO:<a>" + " " * 120_000 + "\0",
    ],
)
def test_hostile_paths_take_linear_time(argument: str) -> None:
    assert_linear(lambda argument: smtp_session._path_after("TO:", argument), argument)
