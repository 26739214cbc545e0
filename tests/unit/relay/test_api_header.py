from __future__ import annotations

import contextlib
import json
from email.message import EmailMessage
from email.mime.text import MIMEText
from email.policy import SMTP
from typing import Any

import pytest

from chalicelib.core.addresses import Mailbox
from relay.api_header import take_api_header
from relay.api_options import ApiOptions, SendOptions
from relay.errors import PermanentRefusal
from tests.unit.linear_time import assert_linear


def message(header: str, *, name: str = "X-SVC-API") -> bytes:
    return f"Subject: a\r\n{name}: {header}\r\nTo: b@c.test\r\n\r\nbody\r\n".encode()


def options_of(header_data: Any) -> ApiOptions:
    options, _ = take_api_header(message(json.dumps(header_data)))
    assert options is not None
    return options


def refusal_of(raw: bytes) -> str:
    with pytest.raises(PermanentRefusal) as excinfo:
        take_api_header(raw)
    assert (excinfo.value.reply.code, excinfo.value.reply.enhanced) == (550, "5.6.0")
    return excinfo.value.reply.text


def test_a_message_without_the_header_is_returned_as_it_is() -> None:
    plain = b"Subject: a\r\n\r\nX-SVC-API: {}\r\n"
    assert take_api_header(plain) == (None, plain)
    assert take_api_header(plain)[1] is plain


@pytest.mark.parametrize("name", ["X-SVC-API", "X-MSYS-API", "x-msys-api"])
def test_the_header_is_read_and_removed(name: str) -> None:
    options, rest = take_api_header(message('{"campaign_id": "spring"}', name=name))
    assert options == ApiOptions(campaign_id="spring")
    assert rest == b"Subject: a\r\nTo: b@c.test\r\n\r\nbody\r\n"


def test_the_header_may_be_the_only_one_or_the_last() -> None:
    assert take_api_header(b"X-SVC-API: {}\r\n\r\nbody\r\n")[1] == b"\r\nbody\r\n"
    assert take_api_header(b"A: b\r\nX-SVC-API: {}\r\n")[1] == b"A: b\r\n"


def test_only_the_messages_own_header_section_counts() -> None:
    for body in (b"\r\nX-SVC-API: {bad\r\n", b"A: b\r\n\r\nX-SVC-API: {bad\r\n\r\n"):
        assert take_api_header(body) == (None, body)


def test_another_headers_continuation_is_not_the_header() -> None:
    raw = b"A: b\r\n X-SVC-API: {bad\r\n\r\nbody\r\n"
    assert take_api_header(raw) == (None, raw)


def test_every_option_is_read() -> None:
    assert options_of(
        {
            "campaign_id": "c",
            "metadata": {"a": {"b": [1, None, True]}},
            "tags": ["x", "y"],
            "cc": ["a@b.test", {"email": "c@d.test", "name": "C"}],
            "bcc": [{"email": "e@f.test"}],
            "archive": ["g@h.test"],
            "options": {
                "open_tracking": True,
                "click_tracking": False,
                "transactional": True,
                "skip_suppression": False,
                "inline_css": True,
                "ip_pool": "pool",
                "dkim_key": "key",
                "reply_domain": "in.test",
                "unknown": 1,
            },
            "substitution_data": {"ignored": 1},
        }
    ) == ApiOptions(
        campaign_id="c",
        metadata={"a": {"b": [1, None, True]}},
        tags=("x", "y"),
        cc=(Mailbox("a@b.test"), Mailbox("c@d.test", "C")),
        bcc=(Mailbox("e@f.test"),),
        archive=(Mailbox("g@h.test"),),
        options=SendOptions(
            open_tracking=True,
            click_tracking=False,
            transactional=True,
            skip_suppression=False,
            inline_css=True,
            ip_pool="pool",
            dkim_key="key",
            reply_domain="in.test",
        ),
    )


def test_an_absent_option_is_not_set() -> None:
    assert options_of({}) == ApiOptions()
    assert options_of({}).options.open_tracking is None


def test_folded_lines_are_joined_with_one_space() -> None:
    options, rest = take_api_header(message('{"campaign_id":\r\n\t "a\r\n \t b",\r\n "tags":[]}'))
    assert options == ApiOptions(campaign_id="a b")
    assert rest == b"Subject: a\r\nTo: b@c.test\r\n\r\nbody\r\n"


def test_text_outside_ascii_may_be_escaped_encoded_or_utf8() -> None:
    encoded = '{"campaign_id": "=?utf-8?B?w7w=?="}'
    for header in ('{"campaign_id": "\\u00fc"}', encoded, '{"campaign_id": "\u00fc"}'):
        options, _ = take_api_header(message(header))
        assert options == ApiOptions(campaign_id="\u00fc")


@pytest.mark.parametrize("escape", [True, False])
def test_a_header_written_by_the_standard_library_is_read(escape: bool) -> None:
    header_data = {
        "campaign_id": "gr\u00fc\u00dfe",
        "metadata": {"long": "word " * 40, "longer": "x" * 300, "url": "https://a.test/?b=c&d=_"},
        "tags": [f"tag-{number}" for number in range(60)],
    }
    header = json.dumps(header_data, ensure_ascii=escape)
    modern = EmailMessage(policy=SMTP)
    modern["Subject"], modern["X-SVC-API"] = "a", header
    modern.set_content("body")
    old = MIMEText("body")
    old["Subject"], old["X-SVC-API"] = "a", header
    for raw in (modern.as_bytes(), old.as_bytes(policy=old.policy.clone(linesep="\r\n"))):
        options, rest = take_api_header(raw)
        assert options is not None
        assert options.campaign_id == header_data["campaign_id"]
        assert options.metadata == header_data["metadata"]
        assert list(options.tags) == header_data["tags"]
        assert b"SVC" not in rest


@pytest.mark.parametrize(
    ("header_data", "reason"),
    [
        ({"campaign_id": 1}, "campaign_id must be a string"),
        ({"campaign_id": "x" * 65}, "campaign_id is over 64 bytes"),
        ({"campaign_id": "\u00fc" * 33}, "campaign_id is over 64 bytes"),
        ({"campaign_id": "a\r\nX: y"}, "campaign_id must not have CR, LF or NUL"),
        ({"metadata": []}, "metadata must be an object"),
        ({"tags": "x"}, "tags must be an array"),
        ({"tags": [1]}, "each of tags must be a string"),
        ({"cc": "a@b.test"}, "cc must be an array"),
        ({"bcc": [1]}, "each of bcc must be a string or an object"),
        ({"bcc": [{"name": "x"}]}, "each of bcc must have an email"),
        ({"archive": [{"email": 1}]}, "email in archive must be a string"),
        ({"cc": [{"email": "a@b.test", "name": 1}]}, "name in cc must be a string"),
        ({"cc": [{"email": "a@b.test", "name": "x\ny"}]}, "name in cc must not have CR, LF or NUL"),
        ({"cc": ["a@b.test\r\nX: y"]}, "each of cc must not have CR, LF or NUL"),
        ({"cc": ["nobody"]}, "cc has an address that is not valid"),
        ({"bcc": ["a@[192.0.2.1]"]}, "bcc has an address that is not valid"),
        ({"options": []}, "options must be an object"),
        ({"options": {"open_tracking": 1}}, "options.open_tracking must be a boolean"),
        ({"options": {"click_tracking": "true"}}, "options.click_tracking must be a boolean"),
        ({"options": {"skip_suppression": 0}}, "options.skip_suppression must be a boolean"),
        ({"options": {"inline_css": []}}, "options.inline_css must be a boolean"),
        ({"options": {"ip_pool": 1}}, "options.ip_pool must be a string"),
        ({"options": {"dkim_key": {}}}, "options.dkim_key must be a string"),
        ({"options": {"reply_domain": 1}}, "options.reply_domain must be a string"),
        ([], "must be a JSON object"),
        ("text", "must be a JSON object"),
    ],
)
def test_a_wrong_field_is_refused_by_name(header_data: Any, reason: str) -> None:
    assert refusal_of(message(json.dumps(header_data))) == f"API header: {reason}"


def test_null_counts_as_absent() -> None:
    names = ("campaign_id", "metadata", "tags", "cc", "bcc", "archive", "options")
    option_names = ("open_tracking", "transactional", "inline_css", "ip_pool", "dkim_key")
    for header_data in (dict.fromkeys(names), {"options": dict.fromkeys(option_names)}):
        options, _ = take_api_header(message(json.dumps(header_data)))
        assert options == ApiOptions()


@pytest.mark.spec("1-r6")
@pytest.mark.parametrize("number", [2**31, -(2**31) - 1, 1e300])
def test_a_number_beyond_32_bits_is_refused(number: float) -> None:
    refusal = refusal_of(message(json.dumps({"metadata": {"n": number}})))
    assert refusal.endswith("is outside the range of a signed 32-bit integer")
    assert options_of({"metadata": {"n": 2**31 - 1}}).metadata == {"n": 2**31 - 1}


def test_a_campaign_id_of_64_bytes_is_accepted() -> None:
    assert options_of({"campaign_id": "x" * 64}).campaign_id == "x" * 64


def test_a_thousand_copies_in_all_are_accepted_and_one_more_is_not() -> None:
    copies = {
        "cc": ["a@b.test"] * 400,
        "bcc": ["a@b.test"] * 400,
        "archive": ["a@b.test"] * 200,
    }
    assert len(options_of(copies).bcc) == 400
    copies["archive"].append("a@b.test")
    assert "more than 1000 addresses" in refusal_of(message(json.dumps(copies)))


@pytest.mark.parametrize(
    "header",
    [
        "",
        "{",
        "{'a': 1}",
        '{"metadata": NaN}',
        '{"metadata": {"a": 1e999}}',
        '{"campaign_id": "\\ud800"}',
        '{"metadata": ' + "[" * 100_000,
        '{"metadata": {"a": ' + "9" * 10_000 + "}}",
        '{"campaign_id": "=?utf-8?q?=FF?="}',
    ],
)
def test_invalid_json_is_a_parse_error(header: str) -> None:
    assert refusal_of(message(header)).startswith("API header: JSON parse error: ")


def test_octets_that_are_not_utf8_are_a_parse_error() -> None:
    assert "JSON parse error" in refusal_of(b'X-SVC-API: {"campaign_id": "\xff"}\r\n\r\n')


def test_a_very_large_header_is_refused_unread() -> None:
    assert refusal_of(message("[" + " " * 600_000 + "]")) == "API header: over 524288 bytes"


@pytest.mark.parametrize("second", ["X-SVC-API", "X-MSYS-API"])
def test_a_second_header_is_refused(second: str) -> None:
    raw = f"X-SVC-API: {{}}\r\n{second}: {{}}\r\n\r\n".encode()
    assert refusal_of(raw) == "API header: given more than once"


@pytest.mark.parametrize(
    "raw",
    [
        b"A: b\r\n" * 1_000_000 + b"\r\n",
        b"X-SVC-API:" + b"\r\n " * 1_000_000 + b"\r\n\r\n",
        b"X-SVC-API: " + b"=?u?q?" * 500_000 + b"\r\n\r\n",
        b"x-svc-api" * 500_000,
        b"X-SVC-API: {}\r\n\r\n" + b"x" * 20_000_000,
    ],
)
def test_large_and_hostile_messages_take_linear_time(raw: bytes) -> None:
    def take(raw: bytes) -> None:
        with contextlib.suppress(PermanentRefusal):
            take_api_header(raw)

    assert_linear(take, raw)
