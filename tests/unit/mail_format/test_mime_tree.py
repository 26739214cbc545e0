"""Where the standard library reads a tree without defects, ours is the same."""

import re
from email import message_from_bytes
from email.policy import default

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.mail_format.header_section import MessageError
from chalicelib.mail_format.mime_tree import MAX_DEPTH, MAX_PARTS, parse_tree
from tests.unit.linear_time import assert_linear
from tests.unit.mail_format.examples import examples

LEAF = st.builds(
    lambda head, body: head + b"\r\n" + body,
    st.sampled_from(
        [b"", b"Content-Type: text/html\r\n", b"Content-Type: TEXT/Plain;\r\n charset=utf-8\r\n"]
    ),
    st.lists(st.sampled_from([b"word", b"\r\n", b"--", b"--b", b"\r\n--", b" "])).map(b"".join),
)


def multipart(parts: list[bytes], boundary: bytes, subtype: bytes = b"mixed") -> bytes:
    head = b'Content-Type: multipart/%s; boundary="%s"\r\n\r\n' % (subtype, boundary)
    return (
        head
        + b"".join(b"--%s\r\n%s\r\n" % (boundary, each) for each in parts)
        + (b"--%s--" % boundary)
    )


def tree(depth: int) -> st.SearchStrategy[bytes]:
    if not depth:
        return LEAF
    return LEAF | st.builds(
        multipart,
        st.lists(tree(depth - 1), min_size=1, max_size=3),
        st.just(b"=_%d" % depth),
        st.sampled_from([b"mixed", b"alternative", b"related"]),
    )


def nested(depth: int) -> bytes:
    return b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (n, n)
        for n in range(depth)
    ) + b"\r\n".join([b"\r\nx", *(b"--b%d--" % n for n in reversed(range(depth)))])


@pytest.mark.spec("2.2-r5")
@examples(300)
@given(tree(3))
def test_the_tree_is_the_one_the_standard_library_reads(message: bytes) -> None:
    ours = parse_tree(message)
    theirs = list(message_from_bytes(message, policy=default).walk())
    assert [part.content_type for part in ours] == [part.get_content_type() for part in theirs]
    assert all(part.start <= part.body_start <= part.end for part in ours)
    bodies = [message[part.body_start : part.end] for part in ours]
    for body, part in zip(bodies, theirs, strict=True):
        if not part.is_multipart():
            assert body == part.get_payload(decode=True)


def test_a_part_has_its_span_and_its_headers() -> None:
    leaf = (
        b'Content-Type: text/HTML; charset="utf\\-8"; x=y\r\n'
        b"Content-Transfer-Encoding: Quoted-Printable\r\n"
        b"Content-Disposition: ATTACHMENT; filename=x\r\n\r\nbody"
    )
    root, part = parse_tree(b"Subject: x\r\n" + multipart([leaf], b"b"))
    assert (root.parent, root.depth, part.parent, part.depth) == (None, 0, 0, 1)
    assert part.content_type == "text/html"
    assert part.parameters == {"charset": "utf-8", "x": "y"}
    assert (part.encoding, part.disposition) == ("quoted-printable", "attachment")


def test_children_follow_their_parent_in_document_order() -> None:
    inner = multipart([b"\r\n1", b"\r\n2"], b"inner", b"alternative")
    message = multipart([inner, b"\r\n3"], b"outer")
    parts = parse_tree(message)
    assert [part.parent for part in parts] == [None, 0, 1, 1, 0]
    assert [message[part.body_start : part.end] for part in parts[2:]] == [b"1", b"2", b"3"]


def test_a_boundary_that_starts_another_is_not_mistaken_for_it() -> None:
    message = multipart([multipart([b"\r\nx"], b"ab"), b"\r\ny"], b"a")
    assert len(parse_tree(message)) == 4


def test_a_part_without_any_content_is_empty() -> None:
    _, part = parse_tree(b"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n--b--")
    assert part.start == part.body_start == part.end


def test_a_message_inside_a_message_is_not_entered() -> None:
    inner = b"Content-Type: message/rfc822\r\n\r\n" + multipart([b"\r\nx"], b"inner")
    assert [part.content_type for part in parse_tree(multipart([inner], b"b"))] == [
        "multipart/mixed",
        "message/rfc822",
    ]


def test_the_parts_of_a_digest_are_messages() -> None:
    assert parse_tree(multipart([b"\r\nSubject: x"], b"b", b"digest"))[1].content_type == (
        "message/rfc822"
    )


@pytest.mark.spec("2.2-r5")
@pytest.mark.parametrize(
    ("message", "why"),
    [
        (b"Content-Type: multipart/mixed\r\n\r\n--b--", "no valid boundary"),
        (b'Content-Type: multipart/mixed; boundary=""\r\n\r\n----', "no valid boundary"),
        (b"Content-Type: multipart/mixed; boundary=%s\r\n\r\n" % (b"x" * 71), "no valid boundary"),
        (b"Content-Type: multipart/mixed; boundary=b\r\n\r\ntext", "opening delimiter"),
        (b"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b--\r\n", "opening delimiter"),
        (b"Content-Type: multipart/mixed; boundary=b\r\n", "opening delimiter"),
        (b"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nx", "closing delimiter"),
        (
            b"Content-Transfer-Encoding: base64\r\n" + multipart([b"\r\nx"], b"b"),
            "cannot be encoded as base64",
        ),
        (b"Content-Type: a/b\r\ncontent-type: a/c\r\n\r\n", "more than one content-type"),
        (multipart([b"no header\r\n\r\nx"], b"b"), "malformed header line"),
        (multipart([multipart([b"\r\nx"], b"b")], b"b"), "delimiter"),
        (b"just some text", "malformed header line"),
    ],
)
def test_an_ambiguous_structure_is_refused(message: bytes, why: str) -> None:
    with pytest.raises(MessageError, match=re.escape(why)):
        parse_tree(message)


def test_nesting_is_limited() -> None:
    assert len(parse_tree(nested(MAX_DEPTH))) == MAX_DEPTH + 1
    for depth in (MAX_DEPTH + 1, 10_000):
        with pytest.raises(MessageError, match="nested more than"):
            parse_tree(nested(depth))


def test_the_number_of_parts_is_limited() -> None:
    assert len(parse_tree(multipart([b"\r\nx"] * (MAX_PARTS - 1), b"b"))) == MAX_PARTS
    for count in (MAX_PARTS, 200_000):
        with pytest.raises(MessageError, match="more than 1000 parts"):
            parse_tree(multipart([b"\r\nx"] * count, b"b"))


@pytest.mark.parametrize(
    "head",
    [
        b"A: " + b"x" * 100_000,
        b"A: b\r\n" * 20_000,
        b"A: b" + b"\r\n x" * 30_000,
        b"Content-Type: a/b" + b';a="' * 25_000,
        b"Content-Type: a/b" + b';a="\\' * 20_000,
        b"Content-Type: a/b" + b"; " * 50_000,
        b"Content-Type: " + b" " * 100_000,
        b"Content-Type: a/b;" + b" \t" * 50_000 + b"=",
    ],
)
def test_hostile_headers_take_linear_time(head: bytes) -> None:
    assert_linear(lambda head: parse_tree(head + b"\r\n\r\nx"), head)


@pytest.mark.parametrize(
    "body", [b"\r\n--b" * 400_000, b"\r\n--b " + b" " * 2_000_000 + b"x", b"\r\n--" * 500_000]
)
def test_hostile_bodies_take_linear_time(body: bytes) -> None:
    def parse(body: bytes) -> None:
        with pytest.raises(MessageError):
            parse_tree(b"Content-Type: multipart/mixed; boundary=b\r\n\r\n" + body)

    assert_linear(parse, body)
