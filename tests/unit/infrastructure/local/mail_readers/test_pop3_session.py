"""Programs read and delete the mail of the mailbox by POP3."""

from __future__ import annotations

import base64
import poplib
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infrastructure.local.mail_readers.choices import ReaderChoices
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.mailbox.trace import Trace
from infrastructure.local.passwords import Passwords
from tests.unit.infrastructure.local.mail_readers.conftest import Post, ServePost
from tests.unit.infrastructure.local.mail_readers.messages import ENCODED, MIXED, PLAIN

TRACE = b"Return-Path: <me@a.test>\r\nDelivered-To: you@b.test\r\n"


@contextmanager
def logged_in(post: Post, name: str = "anyone", password: str = "any") -> Iterator[poplib.POP3]:
    client = poplib.POP3("127.0.0.1", post.pop3, timeout=60)
    try:
        client.user(name)
        client.pass_(password)
        yield client
    finally:
        client.close()


def received(client: poplib.POP3, number: int) -> bytes:
    _, lines, _ = client.retr(number)
    return b"".join(line + b"\r\n" for line in lines)


def test_a_message_is_read_as_it_came_under_its_envelope(post: Post) -> None:
    post.add(PLAIN, MIXED)
    with logged_in(post) as client:
        assert client.stat() == (2, len(PLAIN) + len(MIXED) + 2 * len(TRACE))
        assert received(client, 1) == TRACE + PLAIN
        assert received(client, 2) == TRACE + MIXED


def test_sizes_are_those_of_the_octets_that_are_sent(post: Post) -> None:
    recipients = ("a@b.test", "b@b.test")
    trace = Trace("me@a.test", recipients, inbox="shop", login="shop", tags=("red",))
    post.mailbox.store(trace, ENCODED)
    post.mailbox.store(Trace("", ("x@b.test",)), b"X-Postfinch-Trace: {}\r\n\r\n")
    post.mailbox.set_tags(post.mailbox.list()[0]["id"], ["green", "blue"])
    with logged_in(post) as client:
        _, lines, _ = client.list()
        sizes = [len(received(client, number)) for number in (1, 2)]
        assert lines == [b"%d %d" % (number, size) for number, size in enumerate(sizes, 1)]


@given(st.binary(max_size=60).map(lambda each: each.replace(b"\r", b"").replace(b"\n", b"\r\n.")))
@settings(
    max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
def test_lines_that_begin_with_a_dot_arrive(post: Post, text: bytes) -> None:
    message = b"Subject: Dots\r\n\r\n" + text + b"\r\n"
    post.mailbox.clear()
    post.add(message)
    with logged_in(post) as client:
        assert received(client, 1) == TRACE + message


def test_a_message_without_a_last_line_end_gets_one(post: Post) -> None:
    post.add(b"Subject: Cut\r\n\r\nno end")
    with logged_in(post) as client:
        assert received(client, 1) == TRACE + b"Subject: Cut\r\n\r\nno end\r\n"


def test_top_gives_the_header_section_and_some_lines(post: Post) -> None:
    post.add(PLAIN)
    head = PLAIN.partition(b"\r\n\r\n")[0]
    with logged_in(post) as client:
        _, lines, _ = client.top(1, 2)
        assert b"\r\n".join(lines) == TRACE + head + b"\r\n\r\nDear you,\r\n."
        assert client.top(1, 0)[1][-1] == b""
        assert b"\r\n".join(client.top(1, 99)[1]) + b"\r\n" == TRACE + PLAIN


def test_ids_are_those_of_the_mailbox(post: Post) -> None:
    message_ids = post.add(PLAIN, MIXED)
    with logged_in(post) as client:
        _, lines, _ = client.uidl()
        assert [line.decode() for line in lines] == [
            f"{n} {i}" for n, i in enumerate(message_ids, 1)
        ]
        assert client.uidl(2).decode() == f"+OK 2 {message_ids[1]}"


def test_messages_are_deleted_at_quit(post: Post) -> None:
    _, second, third = post.add(PLAIN, MIXED, ENCODED)
    with logged_in(post) as client:
        client.dele(1)
        client.dele(2)
        client.rset()
        client.dele(1)
        assert client.stat()[0] == 2
        assert [line.split()[0] for line in client.list()[1]] == [b"2", b"3"]
        assert [line.split()[0] for line in client.uidl()[1]] == [b"2", b"3"]
        with pytest.raises(poplib.error_proto):
            client.retr(1)
        assert len(post.mailbox.list()) == 3
        client.quit()
    assert [each["id"] for each in post.mailbox.list()] == [third, second]


def test_nothing_is_deleted_without_quit(post: Post) -> None:
    post.add(PLAIN)
    with logged_in(post) as client:
        client.dele(1)
    with logged_in(post) as client:
        assert client.stat()[0] == 1


def test_reading_leaves_a_message_unread(post: Post) -> None:
    post.add(PLAIN)
    with logged_in(post) as client:
        client.retr(1)
        client.quit()
    assert [each["unread"] for each in post.mailbox.list()] == [True]


def test_a_message_that_another_program_deletes_is_an_error_of_its_own(post: Post) -> None:
    message_id, _ = post.add(PLAIN, MIXED)
    with logged_in(post) as client:
        post.mailbox.delete(message_id)
        with pytest.raises(poplib.error_proto, match="deleted meanwhile"):
            client.retr(1)
        assert received(client, 2) == TRACE + MIXED


@pytest.mark.parametrize(
    "command", ["RETR 0", "RETR 3", "RETR x", "DELE", "TOP 1", "TOP 1 x", "LIST 9"]
)
def test_a_wrong_number_is_refused(post: Post, command: str) -> None:
    post.add(PLAIN, MIXED)
    with logged_in(post) as client, pytest.raises(poplib.error_proto, match="-ERR"):
        client._shortcmd(command)  # type: ignore[attr-defined]


def test_passwords_of_the_file_are_needed(serve_post: ServePost) -> None:
    post = serve_post(ReaderChoices(Passwords({"ann": "secret word"})))
    for name, password in (("ann", "wrong"), ("bob", "secret word")):
        with pytest.raises(poplib.error_proto, match="AUTH"), logged_in(post, name, password):
            pass
    with logged_in(post, "ann", "secret word") as client:
        assert client.stat() == (0, 0)


def test_a_connection_has_five_tries(serve_post: ServePost) -> None:
    post = serve_post(ReaderChoices(Passwords({"ann": "secret"})))
    client = poplib.POP3("127.0.0.1", post.pop3, timeout=60)
    for _ in range(5):
        client.user("ann")
        with pytest.raises(poplib.error_proto, match="AUTH"):
            client.pass_("wrong")
    with pytest.raises((poplib.error_proto, OSError)):
        client.user("ann")
    client.close()


def test_a_login_of_an_inbox_reads_only_that(post: Post) -> None:
    post.mailbox.store(Trace("me@a.test", ("you@b.test",), inbox="shop"), PLAIN)
    post.add(MIXED)
    with logged_in(post, "shop") as client:
        assert received(client, 1) == TRACE + PLAIN
        assert client.stat()[0] == 1
    with logged_in(post, "anyone") as client:
        assert client.stat()[0] == 2


def test_with_inboxes_by_login_an_empty_one_is_empty(serve_post: ServePost) -> None:
    post = serve_post(ReaderChoices(has_own_inboxes=True))
    post.mailbox.store(Trace("me@a.test", ("you@b.test",), inbox="shop"), PLAIN)
    counts = []
    for name in ("shop", "other", "all"):
        with logged_in(post, name) as client:
            counts.append(client.stat()[0])
    assert counts == [1, 0, 1]


def test_a_client_may_go_on_under_tls(post: Post) -> None:
    post.add(PLAIN)
    client = poplib.POP3("localhost", post.pop3, timeout=60)
    assert "STLS" in client.capa()
    client.stls(ssl.create_default_context(cafile=post.authority))
    assert "STLS" not in client.capa()
    client.user("ann")
    client.pass_("secret")
    assert received(client, 1) == TRACE + PLAIN
    client.close()


def talk(port: int, *blocks: bytes) -> bytes:
    """Send blocks, each when there is an answer to the one before; return all answers."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        answers = client.recv(65536)
        for block in blocks:
            client.sendall(block)
            answers += client.recv(65536)
        client.shutdown(socket.SHUT_WR)
        while octets := client.recv(65536):
            answers += octets
    return answers


@pytest.mark.parametrize(
    "blocks",
    [
        [b"AUTH PLAIN " + base64.b64encode(b"\0ann\0secret") + b"\r\n"],
        [b"AUTH PLAIN\r\n", base64.b64encode(b"x\0ann\0secret") + b"\r\n"],
        [
            b"auth login\r\n",
            base64.b64encode(b"ann") + b"\r\n",
            base64.b64encode(b"secret") + b"\r\n",
        ],
    ],
)
def test_a_client_may_use_sasl(post: Post, blocks: list[bytes]) -> None:
    post.add(PLAIN)
    assert b"+OK 1 messages\r\n" in talk(post.pop3, *blocks)


def test_commands_may_come_at_once(post: Post) -> None:
    post.add(PLAIN)
    answer = talk(post.pop3, b"USER a\r\nPASS b\r\nSTAT\r\nNOOP\r\nQUIT\r\n")
    assert answer.count(b"+OK") == 6
    assert answer.endswith(b"goodbye\r\n")


def talk_under_tls(post: Post, port: int, clear: bytes, secret: bytes) -> bytes:
    """Send octets in the clear, the first line of which begins TLS; return the answer under TLS."""
    context = ssl.create_default_context(cafile=post.authority)
    with socket.create_connection(("localhost", port), timeout=60) as client:
        client.recv(65536)
        client.sendall(clear)
        assert b"begin TLS" in client.recv(65536)
        with context.wrap_socket(client, server_hostname="localhost") as secure:
            secure.sendall(secret)
            return secure.recv(65536)


def test_what_comes_in_the_clear_after_stls_is_dropped(post: Post) -> None:
    answer = talk_under_tls(post, post.pop3, b"STLS\r\nUSER a\r\n", b"PASS b\r\n")
    assert answer == b"-ERR say USER first\r\n"


@pytest.mark.parametrize("path", [b"/", b"/" + b"a" * 9_000, b"/" + b"a" * 200_000])
def test_a_web_page_cannot_speak_pop3(post: Post, path: bytes) -> None:
    post.add(PLAIN)
    request = b"POST %b HTTP/1.1\r\nHost: localhost\r\n\r\n" % path
    request += b"USER a\r\nPASS b\r\nDELE 1\r\nQUIT\r\n"
    # A connection that is closed before all is read may be reset
    with suppress(ConnectionResetError):
        assert talk(post.pop3, request).count(b"\r\n") == 1
    assert len(post.mailbox.list()) == 1


def test_a_line_without_end_is_skipped(post: Post) -> None:
    answer = talk(post.pop3, b"x" * 300_000 + b"\r\nUSER a\r\n")
    assert answer.endswith(b"-ERR line too long\r\n+OK\r\n")


def test_a_command_needs_a_login(post: Post) -> None:
    assert b"-ERR log in first" in talk(post.pop3, b"STAT\r\n")
    assert b"-ERR unknown command" in talk(post.pop3, b"XTND\r\n")


def test_sizes_are_the_same_after_the_index_is_made_anew(post: Post, tmp_path: Path) -> None:
    trace = Trace("me@a.test", ("a@b.test", "b@b.test"), inbox="shop", tags=("red",))
    message_id = post.mailbox.store(trace, PLAIN)
    row = post.mailbox.index.row(message_id)
    post.mailbox.close()
    (tmp_path / "mail" / "index.sqlite3").unlink()
    rebuilt = SinkMailbox(tmp_path / "mail")
    assert rebuilt.index.row(message_id) == row
    assert row is not None
    assert row.shown_size == len(Trace("me@a.test", ("a@b.test",)).before(b"") + PLAIN)
    rebuilt.close()
