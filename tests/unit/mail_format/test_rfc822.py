import pytest
from hypothesis import given

from chalicelib.mail_format import rfc822
from chalicelib.mail_format.headers import encode_header
from chalicelib.mail_format.mime import build_message
from chalicelib.mail_format.rfc822 import MessageError
from tests.unit.mail_format.examples import BODY, examples

MESSAGE = b"From: a@example.test\r\nX-A: 1\r\nx-a: 2\r\n 3\r\nTo: b@example.test\r\n\r\nbody\r\n"


def amp(subtype: bytes, *beside: bytes) -> bytes:
    parts = [b"text/x-amp-html", *beside]
    return (
        b"Content-Type: multipart/%s; boundary=b\r\n\r\n" % subtype
        + b"".join(b"--b\r\nContent-Type: %s\r\n\r\nx\r\n" % part for part in parts)
        + b"--b--\r\n"
    )


def within(subtype: bytes, part: bytes) -> bytes:
    return b"Content-Type: multipart/%s; boundary=o\r\n\r\n--o\r\n%s\r\n--o--\r\n" % (subtype, part)


@pytest.mark.spec("2.2-r3")
def test_lone_line_ends_become_crlf() -> None:
    assert rfc822.normalise(b"A: b\n\rx\r\n\ny") == b"A: b\r\n\r\nx\r\n\r\ny"


def test_splitting_and_joining_gives_the_message_back() -> None:
    fields, body = rfc822.split(MESSAGE)
    assert [name for name, _ in fields] == ["from", "x-a", "x-a", "to"]
    assert body == b"body\r\n"
    assert rfc822.join(fields, body) == MESSAGE


def test_a_message_without_blank_line_is_all_header() -> None:
    assert rfc822.split(b"A: b") == ([("a", b"A: b\r\n")], b"")


def test_removing_a_header_removes_every_field_of_its_name() -> None:
    fields = rfc822.remove(rfc822.split(MESSAGE)[0], "x-a")
    assert not rfc822.has(fields, "x-a")
    assert rfc822.has(fields, "to")


def test_replacing_a_header_puts_one_where_the_first_stood() -> None:
    fields = rfc822.replace_field(rfc822.split(MESSAGE)[0], encode_header("X-A", "new"))
    assert [raw for _, raw in fields] == [
        b"From: a@example.test\r\n",
        b"X-A: new\r\n",
        b"To: b@example.test\r\n",
    ]


def test_replacing_a_header_that_is_not_there_appends_it() -> None:
    fields = rfc822.replace_field(rfc822.split(MESSAGE)[0], encode_header("X-B", "new"))
    assert fields[-1] == ("x-b", b"X-B: new\r\n")
    assert len(fields) == 5


def test_an_appended_header_goes_to_the_end() -> None:
    fields = rfc822.append(rfc822.split(MESSAGE)[0], encode_header("From", "second"))
    assert [name for name, _ in fields] == ["from", "x-a", "x-a", "to", "from"]


@pytest.mark.spec("2.2-r4")
@pytest.mark.parametrize("end", [b"\r\n.\r\n", b"\r\n.\r\nmore\r\n", b"\r\n."])
def test_the_end_of_data_sequence_is_refused(end: bytes) -> None:
    with pytest.raises(MessageError, match="end-of-data"):
        rfc822.check(b"From: a@example.test\r\n\r\nbody" + end)


@pytest.mark.parametrize(
    "line", [b"..", b"..\r\nmore", b"..hidden", b"...", b"... so it goes", b".class { }", b"a.."]
)
def test_any_line_with_leading_dots_but_that_of_one_dot_is_accepted(line: bytes) -> None:
    rfc822.check(b"From: a@example.test\r\n\r\nbody\r\n" + line + b"\r\n")


@pytest.mark.parametrize("name", [b"Date", b"Subject", b"TO", b"Message-Id", b"MIME-Version"])
def test_a_field_that_a_message_has_once_may_not_be_there_twice(name: bytes) -> None:
    once = name + b": 1\r\nX-A: 1\r\nX-A: 2\r\n"
    rfc822.check(once + b"\r\n" + name + b": 2\r\n")
    with pytest.raises(MessageError, match=f"{name.decode().lower()} may occur only once"):
        rfc822.check(once + name.swapcase() + b": 2\r\n\r\nbody\r\n")


@pytest.mark.spec("2.2-r2")
@pytest.mark.parametrize(
    "message",
    [
        amp(b"alternative", b"text/html"),
        amp(b"alternative", b"text/plain"),
        within(b"mixed", amp(b"alternative", b"text/plain", b"text/html")),
        within(b"alternative", amp(b"related", b"text/html")),
    ],
)
def test_amp_beside_text_below_an_alternative_is_accepted(message: bytes) -> None:
    assert any(part.content_type == "text/x-amp-html" for part in rfc822.check(message))


@pytest.mark.spec("2.2-r2")
@pytest.mark.parametrize(
    ("message", "why"),
    [
        (b"Content-Type: text/x-amp-html\r\n\r\nx", "descend from multipart/alternative"),
        (amp(b"mixed", b"text/html"), "descend from multipart/alternative"),
        (amp(b"alternative"), "beside a text/plain or text/html"),
        (amp(b"alternative", b"image/png"), "beside a text/plain or text/html"),
        (within(b"alternative", amp(b"mixed", b"image/png")), "beside a text/plain or text/html"),
        (
            within(b"alternative", b"\r\nplain text\r\n--o\r\n" + amp(b"mixed", b"image/png")),
            "beside a text/plain or text/html",
        ),
    ],
)
def test_amp_anywhere_else_is_refused(message: bytes, why: str) -> None:
    with pytest.raises(MessageError, match=why):
        rfc822.check(message)


@pytest.mark.spec("2.2-r5")
def test_a_message_without_mime_tree_is_refused() -> None:
    with pytest.raises(MessageError, match="no valid boundary"):
        rfc822.check(b"Content-Type: multipart/mixed\r\n\r\nx")


@examples(100)
@given(BODY, BODY)
def test_messages_that_the_service_builds_are_accepted(text: str, html: str) -> None:
    text, html = (each.replace(".", "") for each in (text, html))
    message = build_message(
        [encode_header("Subject", "x")], text=text, html=html, amp_html="a", boundary_seed="1"
    )
    assert [part.content_type for part in rfc822.check(message.data)] == [
        "multipart/alternative",
        "text/plain",
        "text/x-amp-html",
        "text/html",
    ]


def test_a_large_hostile_header_section_is_split_in_linear_time() -> None:
    fields, _ = rfc822.split(b"A: b\r\n" * 200_000 + b"\r\n")
    assert len(fields) == 200_000
