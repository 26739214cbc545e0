"""Programs read, flag and delete the mail of the mailbox by IMAP."""

from __future__ import annotations

import base64
import imaplib
import re
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from infrastructure.local.mail_readers.choices import ReaderChoices
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.mailbox.trace import Trace
from infrastructure.local.passwords import Passwords
from tests.unit.infrastructure.local.mail_readers.conftest import Post, ServePost
from tests.unit.infrastructure.local.mail_readers.messages import ENCODED, MIXED, PLAIN
from tests.unit.infrastructure.local.mail_readers.test_pop3_session import (
    TRACE,
    talk,
    talk_under_tls,
)


@contextmanager
def logged_in(post: Post, name: str = "anyone", password: str = "any") -> Iterator[imaplib.IMAP4]:
    client = imaplib.IMAP4("127.0.0.1", post.imap, timeout=60)
    try:
        client.login(name, password)
        yield client
    finally:
        client.shutdown()


@contextmanager
def selected(post: Post, name: str = "anyone") -> Iterator[imaplib.IMAP4]:
    with logged_in(post, name) as client:
        assert client.select()[0] == "OK"
        yield client


def texts(client: imaplib.IMAP4, messages: str, items: str) -> list[bytes]:
    """Fetch items; return the responses, each with its literals."""
    client.response("FETCH")  # what was told before
    status, data = client.fetch(messages, items)
    assert status == "OK", data
    responses: list[bytes] = []
    for each in data:
        if isinstance(each, tuple):
            responses.append(each[0] + b"\r\n" + each[1])
        elif each == b")" or (each and not re.match(rb"\d+ \(", each)):
            responses[-1] += each
        elif each:
            responses.append(each)
    return responses


def literal(client: imaplib.IMAP4, number: int, section: str) -> bytes | None:
    """Return a section of a message, which stays unseen."""
    _, data = client.fetch(str(number), f"(BODY.PEEK[{section}])")
    return data[0][1] if isinstance(data[0], tuple) else None


def untagged(client: imaplib.IMAP4, name: str) -> list[str]:
    return [each.decode() for each in client.response(name)[1] if each]


def test_a_mailbox_is_selected(post: Post) -> None:
    post.add(PLAIN, MIXED, ENCODED)
    post.mailbox.set_unread([post.mailbox.list()[-1]["id"]], False)
    with logged_in(post) as client:
        assert client.select() == ("OK", [b"3"])
        assert untagged(client, "UIDNEXT") == ["4"]
        assert untagged(client, "UNSEEN") == ["2"]
        assert untagged(client, "PERMANENTFLAGS") == [
            "(\\Answered \\Flagged \\Deleted \\Seen \\Draft)"
        ]
        assert abs(int(untagged(client, "UIDVALIDITY")[0]) - time.time()) < 100
        assert client.is_readonly is False


def test_numbers_change_with_the_index_only(post: Post, tmp_path: Path) -> None:
    post.add(PLAIN, MIXED)
    with logged_in(post) as client:
        client.select()
        first = untagged(client, "UIDVALIDITY")
    SinkMailbox(tmp_path / "mail").close()
    with logged_in(post) as client:
        client.select()
        assert untagged(client, "UIDVALIDITY") == first
        post.mailbox.clear()
        post.add(PLAIN)
        client.noop()
        assert texts(client, "1", "(UID)") == [b"1 (UID 3)"]


def test_items_of_the_index_and_of_the_message_are_fetched(post: Post) -> None:
    (message_id,) = post.add(PLAIN)
    seconds = time.strftime("%d-%b-%Y %H:%M:%S +0000", time.gmtime(int(message_id[:10])))
    with selected(post) as client:
        (response,) = texts(client, "1", "(FLAGS UID INTERNALDATE RFC822.SIZE)")
        size = len(TRACE + PLAIN)
        expected = f'1 (FLAGS () UID 1 INTERNALDATE "{seconds}" RFC822.SIZE {size})'
        assert response.decode() == expected
        assert literal(client, 1, "") == TRACE + PLAIN
        assert texts(client, "1", "FLAGS") == [b"1 (FLAGS ())"], "PEEK leaves it unseen"
        assert texts(client, "1", "(RFC822.HEADER)")[0].endswith(b"<1@a.test>\r\n\r\n)")
        assert texts(client, "1", "BODY[TEXT]<5.3>") == [
            b"1 (BODY[TEXT]<5> {3}\r\nyou FLAGS (\\Seen))"
        ]
        assert post.mailbox.list()[0]["unread"] is False
    with logged_in(post) as client:
        client.select(readonly=True)
        (response,) = texts(client, "1", "FAST")
        assert response.decode() == (
            f'1 (FLAGS (\\Seen) INTERNALDATE "{seconds}" RFC822.SIZE {size})'
        )


def test_parts_are_fetched_by_their_numbers(post: Post) -> None:
    post.add(MIXED, PLAIN)
    with selected(post) as client:
        assert literal(client, 1, "1.1") == b"Text one"
        assert literal(client, 1, "1.2") == b"<p>Caf=C3=A9</p>"
        assert literal(client, 1, "1.2.MIME") == (
            b"Content-Type: text/html; charset=utf-8\r\n"
            b"Content-Transfer-Encoding: quoted-printable\r\n\r\n"
        )
        assert literal(client, 1, "2") == b"iVBORw0KGgo="
        assert literal(client, 1, "3.HEADER.FIELDS (SUBJECT)") == b"Subject: Inside\r\n\r\n"
        assert literal(client, 1, "3.HEADER.FIELDS.NOT (Subject Content-Type)") == (
            b"From: bob@c.test\r\n\r\n"
        )
        assert literal(client, 1, "3.1") == b"Deep text"
        assert literal(client, 1, "3.2") == b"JVBERg=="
        assert (literal(client, 1, "3.TEXT") or b"").startswith(b"--deep")
        assert literal(client, 1, "4") is None
        assert literal(client, 1, "2.HEADER") is None
        assert literal(client, 2, "1") == PLAIN.partition(b"\r\n\r\n")[2]
        assert literal(client, 2, "1.1") is None


def test_the_structure_of_a_message_is_described(post: Post) -> None:
    post.add(MIXED, PLAIN)
    with selected(post) as client:
        (response,) = texts(client, "1", "(BODYSTRUCTURE)")
        envelope = (
            '(NIL "Inside" ((NIL NIL "bob" "c.test")) ((NIL NIL "bob" "c.test"))'
            ' ((NIL NIL "bob" "c.test")) NIL NIL NIL NIL NIL)'
        )
        inside = (
            '("TEXT" "PLAIN" ("CHARSET" "us-ascii") NIL NIL "7BIT" 9 1 NIL NIL NIL NIL)'
            '("APPLICATION" "PDF" NIL NIL NIL "BASE64" 8 NIL NIL NIL NIL)'
            ' "MIXED" ("BOUNDARY" "deep") NIL NIL NIL'
        )
        assert response.decode() == (
            '1 (BODYSTRUCTURE ((("TEXT" "PLAIN" ("CHARSET" "utf-8") NIL NIL "7BIT" 8 1'
            " NIL NIL NIL NIL)"
            '("TEXT" "HTML" ("CHARSET" "utf-8") NIL NIL "QUOTED-PRINTABLE" 16 1 NIL NIL NIL NIL)'
            ' "ALTERNATIVE" ("BOUNDARY" "in") NIL NIL NIL)'
            '("IMAGE" "PNG" ("NAME" "dot.png") "<dot@a.test>" NIL "BASE64" 12 NIL'
            ' ("ATTACHMENT" ("FILENAME" "dot \\"1\\".png")) NIL NIL)'
            f'("MESSAGE" "RFC822" NIL NIL NIL "7BIT" 200 {envelope} ({inside}) 13'
            " NIL NIL NIL NIL)"
            ' "MIXED" ("BOUNDARY" "out") NIL NIL NIL))'
        )
        assert texts(client, "2", "BODY") == [
            b'2 (BODY ("TEXT" "PLAIN" ("CHARSET" "us-ascii") NIL NIL "7BIT" 26 4))'
        ]


def test_an_envelope_has_what_the_fields_say(post: Post) -> None:
    post.add(ENCODED)
    with selected(post) as client:
        author = '(("=?utf-8?q?J=C3=BCrgen?=" NIL "j" "a.test"))'
        (response,) = texts(client, "1", "ENVELOPE")
        assert response.decode() == (
            f'1 (ENVELOPE (NIL "=?utf-8?q?Gr=C3=BC=C3=9Fe?=" {author} {author} {author}'
            ' (("Kim" NIL "kim" "b.test")(NIL NIL "lee" "b.test"))'
            ' ((NIL NIL "x" "b.test")(NIL NIL "y" "b.test")) NIL NIL NIL))'
        )


def test_a_malformed_message_is_one_text(post: Post) -> None:
    post.add(b"Content-Type: multipart/mixed; boundary=x\r\nno field\r\nSubject: A\r\n\r\nText")
    with selected(post) as client:
        assert b'BODY ("TEXT" "PLAIN"' in texts(client, "1", "BODY")[0]
        assert literal(client, 1, "1") == b"Text"


def test_flags_are_changed_and_seen_is_that_of_the_mailbox(post: Post) -> None:
    post.add(PLAIN, MIXED, ENCODED)
    with selected(post) as client, selected(post) as other:
        assert client.store("1:2", "+FLAGS", "(\\Seen \\Flagged $Junk)")[1] == [
            b"1 (FLAGS (\\Flagged \\Seen))",
            b"2 (FLAGS (\\Flagged \\Seen))",
        ]
        assert [each["unread"] for each in post.mailbox.list()] == [True, False, False]
        assert client.uid("STORE", "2", "-FLAGS.SILENT", "\\Seen")[1] == [None]
        assert client.store("3", "FLAGS", "(\\Answered)")[1] == [b"3 (FLAGS (\\Answered))"]
        other.noop()
        assert texts(other, "1:*", "FLAGS") == [
            b"1 (FLAGS (\\Flagged \\Seen))",
            b"2 (FLAGS (\\Flagged))",
            b"3 (FLAGS (\\Answered))",
        ]


def test_a_mailbox_for_reading_only_stays_as_it_is(post: Post) -> None:
    post.add(PLAIN)
    with logged_in(post) as client:
        client.select(readonly=True)
        client.fetch("1", "(RFC822)")
        assert post.mailbox.list()[0]["unread"] is True
        assert client.store("1", "+FLAGS", "\\Seen")[0] == "NO"
        assert client.expunge()[0] == "NO"


def test_flagged_messages_are_deleted(post: Post) -> None:
    message_ids = post.add(PLAIN, MIXED, ENCODED, PLAIN)
    with selected(post) as client, selected(post) as other:
        client.store("2,4", "+FLAGS.SILENT", "\\Deleted")
        assert client.uid("EXPUNGE", "1:2")[0] == "OK"
        assert untagged(client, "EXPUNGE") == ["2"]
        client.expunge()
        other.noop()
        assert untagged(other, "EXPUNGE") == ["2", "3"]
        assert texts(other, "1:*", "UID") == [b"1 (UID 1)", b"2 (UID 3)"]
        client.store("1", "+FLAGS.SILENT", "\\Deleted")
        client.close()
    assert [each["id"] for each in post.mailbox.list()] == [message_ids[2]]


def test_news_are_told_after_a_command(post: Post) -> None:
    first, _ = post.add(PLAIN, MIXED)
    with selected(post) as client:
        untagged(client, "EXISTS")
        post.add(ENCODED)
        post.mailbox.set_unread([first], False)
        client.noop()
        assert untagged(client, "EXISTS") == ["3"]
        assert untagged(client, "FETCH") == ["1 (UID 1 FLAGS (\\Seen))"]
        post.mailbox.delete(first)
        client.noop()
        assert untagged(client, "EXPUNGE") == ["1"]
        assert texts(client, "1:*", "UID") == [b"1 (UID 2)", b"2 (UID 3)"]


def test_positions_stay_while_messages_are_fetched(post: Post) -> None:
    first, _ = post.add(PLAIN, MIXED)
    with selected(post) as client:
        post.mailbox.delete(first)
        assert client.fetch("1:2", "(RFC822.SIZE)")[0] == "NO"
        assert texts(client, "2", "UID") == [b"2 (UID 2)"]
        client.noop()
        assert texts(client, "1", "UID") == [b"1 (UID 2)"]


def test_an_idle_client_is_told_at_once(post: Post) -> None:
    with socket.create_connection(("127.0.0.1", post.imap), timeout=60) as client:
        lines = client.makefile("rb")
        client.sendall(b"a LOGIN x y\r\nb SELECT inbox\r\nc IDLE\r\n")
        while not lines.readline().startswith(b"+ idling"):
            pass
        began = time.monotonic()
        post.add(PLAIN)
        assert lines.readline() == b"* 1 EXISTS\r\n"
        assert time.monotonic() - began < 30
        client.sendall(b"DONE\r\nd LOGOUT\r\n")
        rest = lines.read()
        assert b"c OK" in rest
        assert b"* BYE" in rest
        lines.close()


def test_every_inbox_is_a_mailbox_below_inboxes(post: Post) -> None:
    for inbox in ("shop", "Büro & Co", "a/b%c"):
        post.mailbox.store(Trace("me@a.test", ("you@b.test",), inbox=inbox), PLAIN)
    post.add(MIXED)
    names = ['"Inboxes/B&APw-ro &- Co"', '"Inboxes/a%2Fb%25c"', '"Inboxes/shop"']
    with logged_in(post) as client:
        _, lines = client.list()
        assert [line.decode() for line in lines if isinstance(line, bytes)] == [
            '(\\HasNoChildren) "/" "INBOX"',
            '(\\Noselect \\HasChildren) "/" "Inboxes"',
            *(f'(\\HasNoChildren) "/" {name}' for name in names),
        ]
        assert client.list('""', "%")[1] == [
            b'(\\HasNoChildren) "/" "INBOX"',
            b'(\\Noselect \\HasChildren) "/" "Inboxes"',
        ]
        assert client.lsub('"Inboxes/"', "*o*")[1] == [
            b'(\\HasNoChildren) "/" "Inboxes/B&APw-ro &- Co"',
            b'(\\HasNoChildren) "/" "Inboxes/shop"',
        ]
        assert client.list('""', '""')[1] == [b'(\\Noselect) "/" ""']
        for name in names:
            assert client.select(name) == ("OK", [b"1"])
        assert client.status("Inboxes/shop", "(MESSAGES UNSEEN RECENT UIDNEXT)")[1] == [
            b'"Inboxes/shop" (MESSAGES 1 UNSEEN 1 RECENT 0 UIDNEXT 5)'
        ]
        for name in ("Inboxes", "Inboxes/none", "Trash"):
            assert client.select(name)[0] == "NO"
        assert client.namespace()[1] == [b'(("" "/")) NIL NIL']


def test_a_login_of_an_inbox_reads_only_that(post: Post) -> None:
    post.mailbox.store(Trace("me@a.test", ("you@b.test",), inbox="shop"), PLAIN)
    post.add(MIXED)
    with selected(post, "shop") as client:
        assert client.list()[1] == [b'(\\HasNoChildren) "/" "INBOX"']
        assert literal(client, 1, "HEADER.FIELDS (SUBJECT)") == b"Subject: Hello\r\n\r\n"
        assert client.search(None, "ALL")[1] == [b"1"]
        assert client.search(None, "SUBJECT", "Parts")[1] == [b""]
        post.add(ENCODED)
        post.mailbox.store(Trace("me@a.test", ("you@b.test",), inbox="shop"), PLAIN)
        client.noop()
        assert client.search(None, "ALL")[1] == [b"1 2"]


def test_mailboxes_are_not_changed(post: Post) -> None:
    post.add(PLAIN)
    with selected(post) as client:
        assert client.create("Trash")[0] == "NO"
        assert client.rename("INBOX", "Other")[0] == "NO"
        assert client.copy("1", "Trash")[0] == "NO"
        assert client.append("INBOX", None, None, PLAIN)[0] == "NO"  # type: ignore[arg-type]
        assert client.noop()[0] == "OK"
        assert client.subscribe("INBOX")[0] == "OK"
        assert client.check()[0] == "OK"
        assert client.unselect()[0] == "OK"
        with pytest.raises(imaplib.IMAP4.error):
            client.store("1", "+FLAGS", "\\Seen")


def test_an_upload_that_nobody_asked_for_is_dropped(post: Post) -> None:
    answer = talk(
        post.imap,
        b"a LOGIN {1+}\r\nx {1+}\r\ny\r\nb APPEND {5+}\r\nINBOX (\\Seen) {300000+}\r\n"
        + b"c NOOP\r\n" * 37_500
        + b"\r\nd NOOP\r\n",
    )
    assert b"\r\nb NO [CANNOT]" in answer
    assert answer.endswith(b"\r\nd OK NOOP completed\r\n")
    assert b"\r\nc " not in answer


def test_passwords_of_the_file_are_needed(serve_post: ServePost) -> None:
    post = serve_post(ReaderChoices(Passwords({"ann": "secret word"})))
    with pytest.raises(imaplib.IMAP4.error, match="AUTHENTICATIONFAILED"), logged_in(post, "ann"):
        pass
    with logged_in(post, "ann", "secret word") as client:
        assert client.select() == ("OK", [b"0"])


def test_a_client_may_use_sasl(post: Post) -> None:
    client = imaplib.IMAP4("127.0.0.1", post.imap, timeout=60)
    client.authenticate("PLAIN", lambda _: b"\0ann\0secret")
    assert client.select()[0] == "OK"
    client.shutdown()
    name, password = (base64.b64encode(each) for each in (b"ann", b"secret"))
    answer = talk(post.imap, b"a AUTHENTICATE login\r\n", name + b"\r\n", password + b"\r\n")
    assert b"a OK" in answer
    plain = base64.b64encode(b"\0ann\0secret")
    assert b"a OK" in talk(post.imap, b"a AUTHENTICATE PLAIN " + plain + b"\r\n")


def test_a_client_may_go_on_under_tls(post: Post) -> None:
    post.add(PLAIN)
    client = imaplib.IMAP4("localhost", post.imap, timeout=60)
    client.starttls(ssl.create_default_context(cafile=post.authority))
    assert "STARTTLS" not in client.capabilities
    client.login("ann", "secret")
    client.select()
    assert literal(client, 1, "") == TRACE + PLAIN
    client.shutdown()


def test_what_comes_in_the_clear_after_starttls_is_dropped(post: Post) -> None:
    clear = b"a STARTTLS\r\nb LOGIN x y\r\n"
    answer = talk_under_tls(post, post.imap, clear, b"c NOOP\r\n")
    assert answer == b"c OK NOOP completed\r\n"


def test_a_web_page_cannot_speak_imap(post: Post) -> None:
    request = b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\na LOGIN x y\r\n"
    assert talk(post.imap, request).count(b"\r\n") == 1


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        (b"a FETCH 1 FLAGS", b"a BAD log in first"),
        (b"b LOGIN x", b"b BAD"),
        (b"c LOGIN {99999999}", b"* BAD the literal is too long"),
        (b"nonsense", b"* BAD a command has a tag and a name"),
        (b"d XYZZY", b"d BAD"),
    ],
)
def test_what_cannot_be_read_is_refused(post: Post, command: bytes, answer: bytes) -> None:
    assert answer in talk(post.imap, command + b"\r\n")


@pytest.mark.parametrize(
    "command",
    [
        *("FETCH 1 (BODY[MIME])", "FETCH 1 (BODY[HEADER.FIELDS])", "FETCH 1 NONSENSE"),
        *("FETCH 0 FLAGS", "FETCH 2 FLAGS", "FETCH 1:x FLAGS", "FETCH 1", "STORE 1 FLAGS"),
        *("SEARCH", "SEARCH NONSENSE", "SEARCH ON 31-Feb-2026", "SEARCH (ALL", 'SEARCH BODY "x'),
    ],
)
def test_a_malformed_command_is_bad(post: Post, command: str) -> None:
    post.add(PLAIN)
    answer = talk(post.imap, f"a LOGIN x y\r\nb SELECT INBOX\r\nc {command}\r\n".encode())
    assert b"\r\nc BAD " in answer


def test_a_client_that_makes_errors_only_is_cut_off(post: Post) -> None:
    answer = talk(post.imap, b"a NONSENSE\r\n" * 100)
    assert answer.count(b"a BAD") == 20
    assert answer.endswith(b"* BYE too many errors\r\n")


def test_peers_of_other_networks_are_refused(
    serve_post: ServePost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("infrastructure.local.mail_readers.connection.Connection.peer", "192.0.2.1")
    post = serve_post()
    with socket.create_connection(("127.0.0.1", post.imap), timeout=60) as client:
        assert client.recv(100) == b""


def test_a_set_of_messages_that_names_them_often_has_each_once(post: Post) -> None:
    post.add(PLAIN, MIXED, ENCODED)
    with logged_in(post) as client:
        client.select(readonly=True)
        often = ",".join(["1:*", "2:3", "3", "*:2"] * 500)
        assert [each.split()[0] for each in texts(client, often, "(UID)")] == [b"1", b"2", b"3"]
        assert client.search(None, often, "NOT", "UID", "2,2,2")[1] == [b"1 3"]


def test_a_search_has_a_limit_of_texts(post: Post) -> None:
    post.add(PLAIN)
    with selected(post) as client:
        assert client.search(None, *["NOT SUBJECT nowhere"] * 50)[1] == [b"1"]
        with pytest.raises(imaplib.IMAP4.error, match="too many texts"):
            client.search(None, *["NOT SUBJECT nowhere"] * 51)
