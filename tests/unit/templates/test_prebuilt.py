from __future__ import annotations

import email
import email.policy
from email.message import EmailMessage
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chalicelib.mail_format.rfc822 import MessageError
from chalicelib.template_language import TemplatePart
from chalicelib.templates.parts import renderer
from chalicelib.templates.prebuilt import PrebuiltContent

MIXED = """\
From: {{sender}} <news@example.test>
To: someone@example.test
Subject: =?utf-8?B?R3LDvMOfZQ==?= {{who}}
X-Folded: one
 {{who}} three
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="outer"

preamble {{name}}
--outer
Content-Type: multipart/alternative; boundary=inner

--inner
Content-Type: text/plain; charset=iso-8859-1; format=flowed
Content-Transfer-Encoding: quoted-printable
Content-Language: de

Gr=FC=DFe {{name}}
--inner
Content-Type: text/html; charset=UTF-8
Content-Transfer-Encoding: base64

PGI+e3tuYW1lfX08L2I+
--inner--
--outer
Content-Type: text/plain
Content-Disposition: attachment; filename=a.txt

attached {{name}}
--outer
Content-Type: text/plain

second {{name}}
--outer--
epilogue {{name}}
"""


def render(message: str, **data: Any) -> bytes:
    return PrebuiltContent(message.encode()).filled(renderer(data, {}))


def read(raw: bytes) -> EmailMessage:
    message = email.message_from_bytes(raw, policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    return message


def test_a_message_without_tags_stays_as_it_is_but_for_its_line_ends() -> None:
    raw = "Subject:  Plain\nContent-Type: text/plain\n\nHello\rthere\r\nfriend\n"
    assert render(raw) == b"Subject:  Plain\r\nContent-Type: text/plain\r\n\r\n" + (
        b"Hello\r\nthere\r\nfriend\r\n"
    )


def test_top_level_headers_are_filled_in_and_folded_ones_unfolded() -> None:
    message = read(render(MIXED, sender="Ann", who="Bo"))
    assert message["From"] == "Ann <news@example.test>"
    assert message["Subject"] == "Grüße Bo"
    assert message["X-Folded"] == "one Bo three"


def test_a_value_outside_ascii_leaves_a_header_as_encoded_words() -> None:
    raw = render(MIXED, sender="Zoë", who="Jürgen")
    assert raw.isascii()
    assert read(raw)["From"] == "Zoë <news@example.test>"
    assert read(raw)["X-Folded"] == "one Jürgen three"


@pytest.mark.parametrize(
    ("field", "data", "value"),
    [
        ("Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe_=7B=7Bn=7D=7D?=", "Bo", "Grüße Bo"),
        ("Subject: =?utf-8?q?Gr=C3=BC?=\n =?utf-8?q?=C3=9Fe_=7B=7Bn=7D=7D?=", "Bo", "Grüße Bo"),
        ("From: =?utf-8?q?=7B=7Bn=7D=7D=2C_=C3=9C?= <a@b.test>", "Bo", '"Bo, Ü" <a@b.test>'),
        ("From: {{n}} <a@b.test>", "Zoë", "Zoë <a@b.test>"),
        ('From: "{{n}}" <a@b.test>', "Doe, Jane", '"Doe, Jane" <a@b.test>'),
        ("To: {{n}}@b.test, C <c@d.test>", "a", "a@b.test, C <c@d.test>"),
        ("Subject: Hello\n\tdear {{n}}", "Bo", "Hello dear Bo"),
        ("Subject: =?klingon?q?nuq?= {{n}}", "Bo", "=?klingon?q?nuq?= Bo"),
        ("Subject: =?punycode?q?nuq-?= {{n}}", "Bo", "=?punycode?q?nuq-?= Bo"),
        ("Subject: =?utf-8?B?a?= {{n}}", "Bo", "=?utf-8?B?a?= Bo"),
    ],
)
def test_tags_are_found_beside_and_inside_encoded_words(field: str, data: str, value: str) -> None:
    message = read(render(f"{field}\n\nx", n=data))
    (name,) = message.keys()
    assert str(message[name]) == value


def test_encoded_words_without_a_tag_stay_as_they_are() -> None:
    raw = "Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?= there\nX-A: {{n}}\n\nx"
    assert render(raw, n=1).startswith(b"Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?= there\r\nX-A: 1\r\n")


def test_only_the_first_text_and_html_that_are_no_attachments_are_filled_in() -> None:
    message = read(render(MIXED, name="Bo"))
    alternative, attached, second = message.iter_parts()
    text, html = alternative.iter_parts()
    assert text.get_content() == "Grüße Bo"
    assert html.get_content() == "<b>Bo</b>"
    assert attached.get_content().strip() == "attached {{name}}"
    assert second.get_content().strip() == "second {{name}}"
    assert "preamble {{name}}" in str(message.preamble)
    assert "epilogue {{name}}" in str(message.epilogue)


def test_an_attachment_is_passed_over_even_when_it_comes_first() -> None:
    raw = (
        "Content-Type: multipart/mixed; boundary=b\n\n"
        "--b\nContent-Disposition: Attachment; filename=a.txt\n\n{{v}}\n--b\n\n{{v}}\n--b--\n"
    )
    first, second = read(render(raw, v="x")).iter_parts()
    assert first.get_content().strip() == "{{v}}"
    assert second.get_content().strip() == "x"


def test_a_part_that_was_filled_in_is_utf_8_and_keeps_its_other_fields() -> None:
    text = read(render(MIXED, name="Łukasz 🚀")).get_body(("plain",))
    assert text is not None
    assert text.get_content() == "Grüße Łukasz 🚀"
    assert text.get_content_charset() == "utf-8"
    assert text["Content-Type"].params["format"] == "flowed"
    assert text["Content-Language"] == "de"


def test_values_are_escaped_in_html_only() -> None:
    raw = (
        "Content-Type: multipart/alternative; boundary=b\n\n--b\n\n{{v}}\n"
        "--b\nContent-Type: text/html\n\n{{v}}\n--b--\n"
    )
    text, html = read(render(raw, v="<i>")).iter_parts()
    assert text.get_content().strip() == "<i>"
    assert html.get_content().strip() == "&lt;i&gt;"


@pytest.mark.spec("2.2-r6")
def test_a_message_without_content_headers_gets_none() -> None:
    raw = "Subject: s\n\nHello {{name}}\n"
    assert render(raw, name="Jörg") == "Subject: s\r\n\r\nHello Jörg\r\n".encode()
    long_lines = render(raw, name=("x" * 96 + " é ") * 90)
    assert long_lines.startswith(b"Subject: s\r\n\r\nHello xxx")
    assert max(map(len, long_lines.split(b"\r\n"))) <= 998
    assert long_lines.decode().split() == raw.split()[:2] + ["Hello"] + ["x" * 96, "é"] * 90
    with pytest.raises(MessageError, match="a Content-Type is missing"):
        render(raw, name="x" * 999)


@pytest.mark.parametrize(
    "header", ["Content-Type: text/plain\n", "Content-Type: text/plain; charset=us-ascii\n"]
)
def test_a_described_message_gets_more_content_headers_only_when_it_needs_them(header: str) -> None:
    raw = f"Subject: s\n{header}\nHello {{{{name}}}}\n"
    assert (
        render(raw, name="Bo") == f"Subject: s\n{header}\nHello Bo\n".replace("\n", "\r\n").encode()
    )
    message = read(render(raw, name="Jörg"))
    assert message.get_content() == "Hello Jörg\r\n"
    assert message["MIME-Version"] == "1.0"
    assert message.get_content_charset() == "utf-8"


def test_headers_that_say_how_to_read_the_message_are_not_filled_in() -> None:
    raw = 'Content-Type: text/plain; name="{{name}}"\n\nx\n'
    assert render(raw, name="Bo").startswith(b'Content-Type: text/plain; name="{{name}}"\r\n')


@pytest.mark.parametrize("boundary", ["inner", "outer"])
def test_a_value_cannot_end_its_part_or_begin_another(boundary: str) -> None:
    attack = f"x\r\n--{boundary}\r\nContent-Type: text/html\r\n\r\nforged\r\n--{boundary}--\r\n"
    message = read(render(MIXED, name=attack))
    alternative, _, second = message.iter_parts()
    text, html = alternative.iter_parts()
    assert "forged" in text.get_content()
    assert [part.get_content_type() for part in (text, html)] == ["text/plain", "text/html"]
    assert second.get_content().strip() == "second {{name}}"


def test_a_value_cannot_add_a_header() -> None:
    with pytest.raises(ValueError, match="must be one line"):
        render("Subject: Hi {{name}}\n\nx", name="a\r\nBcc: all@example.test")


def test_a_value_of_nested_comments_is_text() -> None:
    raw = render("To: {{{n}}} <a@b.test>\n\nx", n="(" * 900)
    assert raw == b"To: " + b"(" * 900 + b"\r\n <a@b.test>\r\n\r\nx"


def test_parts_are_filled_in_the_order_of_the_message() -> None:
    seen: list[str] = []

    def fill(source: str, part: TemplatePart) -> str:
        seen.append(part.label)
        return source

    PrebuiltContent(MIXED.encode()).filled(fill)
    assert seen == ["Header:From", "Header:Subject", "Header:X-Folded", "text", "html"]


def test_text_that_is_no_message_is_refused() -> None:
    with pytest.raises(MessageError):
        PrebuiltContent(b"nonsense")


@settings(max_examples=60)
@example("", "\r--b")
@given(st.text(st.characters(exclude_categories=["Cs", "Cc"])), st.text("ab-\n\r=.🚀ü {}"))
def test_any_value_reaches_the_reader_unchanged(name: str, body: str) -> None:
    raw = (
        "Subject: [{{{name}}}]\nContent-Type: multipart/mixed; boundary=b\n\n"
        "--b\n\n[{{{body}}}]\n--b\nContent-Type: text/html\n\nend\n--b--\n"
    )
    message = read(render(raw, name=name, body=body))
    text, html = message.iter_parts()
    expected = body.replace("\r\n", "\n").replace("\r", "\n")
    assert text.get_content().replace("\r\n", "\n").rstrip("\n") == f"[{expected}]"
    assert html.get_content().strip() == "end"


@pytest.mark.parametrize(
    "kind", ["multipart/signed; protocol=x/y; boundary=b", "multipart/mixed; boundary=b"]
)
def test_a_signed_part_is_no_template(kind: str) -> None:
    text = "{{n}} {{if}} https://a.test"
    if "mixed" in kind:
        text = f"-----BEGIN PGP SIGNED MESSAGE-----\n\n{text}"
    raw = f"Subject: {{{{n}}}}\nContent-Type: {kind}\n\n--b\n\n{text}\n--b\n\nx\n--b--\n"
    expected = raw.replace("Subject: {{n}}", "Subject: N").replace("\n", "\r\n")
    assert render(raw, n="N") == expected.encode()
    sources: list[str] = []
    PrebuiltContent(raw.encode()).filled(lambda source, _: sources.append(source) or source)
    assert sources == ["{{n}}"]


def test_a_header_is_filled_in_before_it_is_encoded() -> None:
    raw = 'From: Zoë {{n or "x"}} <a@b.test>\nSubject: Grüße {{ n or "ü" }}\nX-A: ü\n\nx\n'
    message = render(raw, n="Bö")
    assert message.isascii()
    assert read(message)["From"].addresses[0].addr_spec == "a@b.test"
    assert read(message)["Subject"] == "Grüße Bö"
    assert read(message)["X-A"] == "ü"


class TestAsGiven:
    """A message that came finished is no template, and is sent as it is."""

    def test_the_readable_texts_of_a_finished_message_are_found(self) -> None:
        content = PrebuiltContent(MIXED.replace("\n", "\r\n").encode(), as_given=True)
        assert [(text.kind.label, text.is_sealed) for text in content.texts] == [
            ("text", False),
            ("html", False),
        ]

    @pytest.mark.parametrize(
        "message",
        [
            b"Content-Type: multipart/mixed; boundary=b\r\n\r\nno delimiter\r\n",
            b"Content-Type: text/html; charset=nonsense\r\n\r\n<p>\r\n",
            b"From: a@b.test\r\n\r\n..dots\r\n",
        ],
    )
    def test_unreadable_parts_of_a_finished_message_are_not_changed(self, message: bytes) -> None:
        content = PrebuiltContent(message, as_given=True)
        assert content.assembled(content.fields, []) == message
        assert [text.source for text in content.texts] in ([], ["..dots\r\n"])

    def test_the_header_section_of_a_finished_message_must_be_well_formed(self) -> None:
        with pytest.raises(MessageError):
            PrebuiltContent(b"no header\r\n\r\nx", as_given=True)
