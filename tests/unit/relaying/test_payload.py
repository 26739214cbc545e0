"""The payload of a relay webhook, judged by a JSON schema and by Python's email package."""

from __future__ import annotations

import base64
import email
import email.policy
import json
from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.core.json_types import Json
from chalicelib.core.spool import Spool
from chalicelib.received_mail import parsing
from chalicelib.received_mail.model import ReceivedMessage
from chalicelib.relaying import payload
from chalicelib.relaying.json_writer import JsonWriter, is_utf8
from tests.unit.received_mail.examples import mail, octets_of, received

TEXT: Json = {"type": "string"}
TEXT_OR_NULL: Json = {"type": ["string", "null"]}


def closed(**properties: Any) -> Json:
    """Return the schema of an object that has these fields and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


ATTACHMENT = closed(
    name=TEXT,
    type=TEXT,
    size={"type": "integer"},
    content_id=TEXT,
    url={"type": "string", "pattern": "^https?://"},
    data=TEXT,
)
ATTACHMENT["required"].remove("data")
MESSAGE = closed(
    content=closed(
        html=TEXT_OR_NULL,
        text=TEXT_OR_NULL,
        subject=TEXT,
        to={"type": "array", "items": TEXT},
        cc={"type": "array", "items": TEXT},
        headers={
            "type": "array",
            "items": {"type": "object", "minProperties": 1, "maxProperties": 1},
        },
        email_rfc822=TEXT,
        email_rfc822_is_base64={"type": "boolean"},
    ),
    friendly_from=TEXT,
    msg_from=TEXT,
    rcpt_to=TEXT,
    webhook_id=TEXT,
    customer_id=TEXT,
    protocol={"const": "smtp"},
    relay_id=TEXT,
    reply_text=TEXT,
    in_reply_to={"type": ["object", "null"]},
    tag=TEXT,
    verdicts={"type": "object"},
    attachments={"type": "array", "items": ATTACHMENT},
)


def body_of(raw: bytes, **fields: Any) -> tuple[bytes, ReceivedMessage]:
    message = received(1, raw, **{"webhook_id": "1", "action": "webhook"} | fields)
    with payload.build(message, parsing.read(raw), raw) as body:
        return b"".join(body.pieces()), message


def built(raw: bytes, **fields: Any) -> Json:
    """Return the message in a payload, which fits the schema."""
    (element,) = json.loads(body_of(raw, **fields)[0])
    message = element["svc"]["relay_message"]
    jsonschema.validate(message, MESSAGE)
    return message


def raw_of(message: Json) -> bytes:
    content = message["content"]
    text = content["email_rfc822"]
    return base64.b64decode(text) if content["email_rfc822_is_base64"] else text.encode()


def test_a_payload_has_what_the_email_package_reads_in_the_message() -> None:
    source = mail("Hello\n", Subject="Grüße", Cc="Cy <cy@inbox.test>")
    source.add_alternative("<p>Hello</p>", subtype="html")
    raw = octets_of(source)
    message = built(raw, tag="7", mail_from="bounce@inbox.test")
    judge = email.message_from_bytes(raw, policy=email.policy.default)
    content = message["content"]
    assert content["subject"] == judge["Subject"] == "Grüße"
    assert (content["to"], content["cc"]) == (["bob@tickets.test"], ["cy@inbox.test"])
    html, plain = judge.get_body(("html",)), judge.get_body(("plain",))
    assert html is not None
    assert plain is not None
    assert content["html"].strip() == html.get_content().strip()
    assert content["text"].strip() == plain.get_content().strip()
    assert [next(iter(each.items())) for each in content["headers"]] == list(judge.items())
    assert raw_of(message) == raw
    assert message["friendly_from"] == "ann@inbox.test"
    assert (message["msg_from"], message["tag"]) == ("bounce@inbox.test", "7")
    assert (message["webhook_id"], message["customer_id"]) == ("1", "1")


def test_repeated_header_fields_are_all_there_in_their_order() -> None:
    raw = b"X-A: 1\r\nReceived: by a\r\nX-A: 2\r\nReceived: by b\r\n\r\nHi"
    headers = built(raw)["content"]["headers"]
    assert headers == [{"X-A": "1"}, {"Received": "by a"}, {"X-A": "2"}, {"Received": "by b"}]


def test_a_message_without_text_has_null_in_its_place() -> None:
    raw = b"Content-Type: application/pdf\r\n\r\n%PDF"
    content = built(raw)["content"]
    assert (content["html"], content["text"]) == (None, None)


@pytest.mark.parametrize(
    ("octets", "is_base64"),
    [
        (b"plain", False),
        ('ø€😀\u2028\x00\x1f"\\'.encode(), False),
        (b"\xff", True),
        (b"caf\xe9", True),
        (b"\xed\xa0\x80", True),  # half of a surrogate pair
        (b"\xc0\xaf", True),  # a longer form than needed
        (b"\xe2\x82", True),  # a character that the end cuts
    ],
)
def test_the_raw_message_is_base64_as_soon_as_one_sequence_is_not_utf8(
    octets: bytes, is_base64: bool
) -> None:
    raw = b"Subject: x\r\n\r\n" + octets
    message = built(raw)
    assert message["content"]["email_rfc822_is_base64"] is is_base64
    assert raw_of(message) == raw


@pytest.mark.parametrize("end", [b"", b"\xff"])
def test_characters_and_groups_of_three_octets_join_across_pieces(
    monkeypatch: pytest.MonkeyPatch, end: bytes
) -> None:
    raw = b"Subject: x\r\n\r\n" + 'ab€😀"\n'.encode() * 50 + end
    for piece in range(1, 9):
        monkeypatch.setattr("chalicelib.core.spool.PIECE", piece)
        assert raw_of(built(raw)) == raw


@given(st.binary(max_size=300))
def test_any_octets_come_back(octets: bytes) -> None:
    raw = b"Subject: x\r\n\r\n" + octets
    assert raw_of(built(raw)) == raw


def test_a_small_attachment_comes_as_data_and_every_one_has_a_url(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = mail()
    source.add_attachment(b"\x00\x01" * 100, maintype="image", subtype="png", filename="a.png")
    source.add_attachment(b"\x00\x01" * 9000, maintype="image", subtype="png", filename="b.png")
    small, large = built(octets_of(source))["attachments"]
    assert (small["name"], small["type"], small["size"]) == ("a.png", "image/png", 200)
    assert base64.b64decode(small["data"]) == b"\x00\x01" * 100
    assert (large["size"], "data" in large) == (18_000, False)
    assert small["url"] != large["url"]


def test_the_same_message_makes_the_same_bytes() -> None:
    source = mail()
    source.add_attachment(b"1", maintype="image", subtype="png", filename="a.png")
    raw = octets_of(source)
    message = received(1, raw, webhook_id="1")
    bodies = set()
    for _ in range(2):
        with payload.build(message, parsing.read(raw), raw) as body:
            bodies.add(b"".join(body.pieces()))
    assert len(bodies) == 1


def test_the_wrapper_has_the_spelling_of_the_vendor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chalicelib.relaying.payload.names", lambda: _Vendor)
    body, _ = body_of(b"Subject: x\r\n\r\nHi")
    assert list(json.loads(body)[0]) == ["msys"]


class _Vendor:
    wrapper = "msys"


def test_a_message_of_strangers_with_half_a_surrogate_pair_is_json() -> None:
    raw = b"Subject: =?utf-7?q?+2AA-?=\r\n\r\nHi"
    parsed = replace(parsing.read(raw), subject="\ud800")
    with payload.build(received(1, raw), parsed, raw) as body:
        assert json.loads(b"".join(body.pieces()))[0]["svc"]["relay_message"]


@given(st.lists(st.binary(max_size=10)))
def test_base64_in_pieces_is_base64_of_the_whole(pieces: list[bytes]) -> None:
    with Spool() as spool:
        JsonWriter(spool).base64(pieces)
        assert base64.b64decode(json.loads(spool.octets()[:])) == b"".join(pieces)


@given(st.binary(max_size=20))
def test_utf8_is_what_python_decodes(octets: bytes) -> None:
    try:
        octets.decode()
        expected = True
    except UnicodeDecodeError:
        expected = False
    assert is_utf8(octets) is expected
