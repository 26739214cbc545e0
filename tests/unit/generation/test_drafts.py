"""Drafts have all parts rendered, and the transmission's override applied."""

from __future__ import annotations

import email
import email.policy
from email.message import EmailMessage
from typing import Any

import pytest

from chalicelib.core.addresses import Mailbox
from chalicelib.core.scope import Scope
from chalicelib.generation.drafts import Draft, drafter
from chalicelib.generation.faults import RenderFault
from chalicelib.snippets import store as snippets
from chalicelib.snippets.request import new_snippet
from tests.unit.generation.examples import INJECTED, no_tracking
from tests.unit.transmissions.examples import DEFAULTS, OPTIONS, body, make_transmission

pytestmark = pytest.mark.usefixtures("cloud")

INLINE = body()["content"]
RAW = (
    b"From: Ann <a@mail.example.test>\r\n"
    b"Subject: Hi {{n}}\r\n"
    b"X-Note: {{n}}\r\n"
    b"Content-Type: multipart/mixed; boundary=b\r\n\r\n"
    b"--b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nDear {{n}}\r\n"
    b"--b\r\nContent-Type: text/plain\r\n\r\nsecond {{n}}\r\n"
    b"--b\r\nContent-Type: text/plain\r\nContent-Disposition: attachment\r\n\r\nfile {{n}}\r\n"
    b"--b\r\nContent-Type: text/html\r\n\r\n<p>{{n}}</p>\r\n"
    b"--b--\r\n"
)
TO = {"email": "r@example.test", "substitution_data": {"n": "<Zoë>"}}


def draft(to: Any = TO, **fields: Any) -> Draft:
    return drafter(make_transmission(**fields), INJECTED).draft(to)


def built(to: Any = TO, **fields: Any) -> bytes:
    """Return the message that a draft builds without tracking."""
    return draft(to, **fields).build("0" * 24, no_tracking(make_transmission(**fields))).after()


def message(to: Any = TO, **fields: Any) -> EmailMessage:
    return email.message_from_bytes(built(to, **fields), policy=email.policy.default)


def text(to: Any = TO, **fields: Any) -> str:
    return message(to, **fields).get_content().strip()


def inline(**fields: Any) -> dict[str, Any]:
    return {"content": INLINE | fields}


def of_message(raw: bytes = RAW, *, template: bool = True, **fields: Any) -> dict[str, Any]:
    return {"content": {}, "raw": raw, "substitute": template} | fields


EMPTY = {"Cc": "{{none}}", "X-A": " {{none}} ", "Message-ID": "{{none}}", "Date": "\t{{none}}"}


class TestInline:
    def test_every_part_is_rendered_for_the_recipient(self) -> None:
        fields = inline(
            subject="{{n}}", text="{{n}}", html="<p>{{n}}</p>", headers={"X-A": "{{n}}"}
        )
        email_message = message(**fields)
        assert (email_message["Subject"], email_message["X-A"]) == ("<Zoë>", "<Zoë>")
        assert [part.get_content().strip() for part in email_message.iter_parts()] == [
            "<Zoë>",
            "<p>&lt;Zoë&gt;</p>",
        ]
        assert draft(**fields).subject == "<Zoë>"

    @pytest.mark.parametrize("value", ["{{none}}", " {{none}}\t", "{{none}}, {{none}}", ","])
    def test_a_header_that_becomes_empty_is_left_out(self, value: str) -> None:
        fields = inline(reply_to=value, headers={"CC": value, "X-A": "{{none}}", "X-B": "1"})
        email_message = message(**fields)
        names = [name.lower() for name in email_message]
        assert {"cc", "x-a", "reply-to"}.isdisjoint(names)
        assert email_message["X-B"] == "1"

    def test_date_and_message_id_that_become_empty_are_those_of_the_service(self) -> None:
        email_message = message(**inline(headers=EMPTY))
        assert email_message["Message-ID"].endswith("@mail.example.test>")
        assert email_message["Date"].datetime.timestamp() == INJECTED // 1000
        assert [*email_message.get_all("Cc", []), *email_message.get_all("X-A", [])] == []

    def test_an_empty_member_of_an_address_list_is_no_part_of_the_header(self) -> None:
        data = built(**inline(headers={"Cc": "{{none}}, c@x.test , {{none}}"}))
        assert b"\r\nCc: c@x.test\r\n" in data

    def test_a_subject_may_become_empty(self) -> None:
        assert message(**inline(subject="{{none}}")).get_all("Subject") == [""]

    def test_bodies_stay_as_they_are_without_substitutions(self) -> None:
        options = OPTIONS | {"perform_substitutions": False}
        email_message = message(**inline(subject="{{n}}", text="{{n}} {{if"), options=options)
        assert email_message["Subject"] == "<Zoë>"
        assert email_message.get_content().strip() == "{{n}} {{if"

    @pytest.mark.spec("2.1-t16")
    @pytest.mark.parametrize("expected", [True, False])
    def test_styles_are_inlined_on_demand_in_the_html_alone(self, expected: bool) -> None:
        sheet = "<html><head><style>p{color:{{c}}}</style></head><body><p>x</p></body></html>"
        fields = inline(html=sheet, amp_html=sheet, text="t")
        options = OPTIONS | {"inline_css": expected}
        to = TO | {"substitution_data": {"c": "red"}}
        _, amp, html = (
            part.get_content()
            for part in message(to, **fields, options=options).walk()
            if part.get_content_maintype() == "text"
        )
        assert ('<p style="color:' in html.replace(": ", ":")) is expected
        assert "<p>x</p>" in amp

    def test_styles_are_not_looked_for_where_there_is_no_html(self) -> None:
        options = OPTIONS | {"inline_css": True}
        assert message(options=options).get_content_type() == "text/plain"

    @pytest.mark.spec("2.2-t8")
    @pytest.mark.spec("2.2-t9")
    def test_files_are_part_of_the_message(self) -> None:
        file = {"name": "a.txt", "type": "text/plain", "data": "aGk="}
        email_message = message(**inline(html="<p>x</p>", attachments=[file], inline_images=[file]))
        assert [part.get_filename() for part in email_message.walk() if part.get_filename()] == [
            "a.txt",
            "a.txt",
        ]

    def test_snippets_are_those_of_the_sender(self) -> None:
        for part, words in ((0, "primary"), (7, "own")):
            snippet = {"id": f"s{part}", "content": {"text": words}}
            assert snippets.create(new_snippet(Scope(1, part), snippet))
        assert text(**inline(text="{{render_snippet('s0')}}")) == "primary"
        with pytest.raises(RenderFault):
            draft(**inline(text="{{render_snippet('s7')}}"))
        of_sub = inline(text="{{render_snippet('s7')}}")
        assert text(subaccount_id=7, **of_sub) == "own"

    def test_a_shared_template_may_call_snippets_that_are_not_shared(self) -> None:
        footer = {"id": "footer", "content": {"text": "from the primary account"}}
        assert snippets.create(new_snippet(Scope(1, 0), footer))
        fields = inline(text="{{render_snippet('footer')}}", subject="{{render_snippet('footer')}}")
        assert text(subaccount_id=7, shares_template=True, **fields) == "from the primary account"
        with pytest.raises(RenderFault, match="snippet 'footer' does not exist"):
            draft(subaccount_id=7, **fields)

    def test_all_parts_of_a_message_share_five_calls_of_snippets(self) -> None:
        assert snippets.create(new_snippet(Scope(1, 0), {"id": "s", "content": {"text": "x"}}))
        call = "{{render_snippet('s')}}"
        assert text(**inline(text=call * 4, subject=call)) == "xxxx"
        with pytest.raises(RenderFault, match="at most 5 times in a template"):
            draft(**inline(text=call * 3, html=call * 3))

    def test_a_snippet_without_text_leaves_nothing_in_a_text_part(self) -> None:
        assert snippets.create(new_snippet(Scope(1, 0), {"id": "s", "content": {"html": "x"}}))
        call = "[{{render_snippet('s')}}]"
        parts = message(**inline(text=call, html=call)).iter_parts()
        assert [part.get_content().strip() for part in parts] == ["[]", "[x]"]

    @pytest.mark.spec("2.1-t25")
    def test_content_can_use_the_return_path(self) -> None:
        fields = inline(text="{{return_path}}") | {"return_path": "all@b.test"}
        assert text(**fields) == "all@b.test"
        to = TO | {"return_path": "one@b.test"}
        assert text(to, **fields) == "all@b.test"
        enterprise = {"defaults": DEFAULTS | {"enterprise": True}}
        assert text(to, **fields, **enterprise) == "one@b.test"


class TestMessages:
    @pytest.mark.spec("2.2-r1")
    def test_header_and_the_first_text_and_html_parts_are_templates(self) -> None:
        email_message = message(**of_message())
        assert (email_message["Subject"], email_message["X-Note"]) == ("Hi <Zoë>", "<Zoë>")
        parts = [part.get_content().strip() for part in email_message.iter_parts()]
        assert parts == ["Dear <Zoë>", "second {{n}}", "file {{n}}", "<p>&lt;Zoë&gt;</p>"]
        assert draft(**of_message()).sender == Mailbox("a@mail.example.test", "Ann")
        assert draft(**of_message()).subject == "Hi <Zoë>"

    def test_a_message_that_is_no_template_is_not_rendered(self) -> None:
        email_message = built(**of_message(template=False))
        head, _, rest = RAW.partition(b"\r\n\r\n")
        assert email_message.startswith(head)
        assert email_message.endswith(b"\r\n\r\n" + rest)

    @pytest.mark.spec("2.2-r3")
    def test_lone_line_ends_become_crlf(self) -> None:
        for end in (b"\n", b"\r"):
            email_message = of_message(RAW.replace(b"\r\n", end))
            assert built(**email_message) == built(**of_message())

    def test_a_pre_built_message_gets_no_to_header(self) -> None:
        assert message(TO | {"header_to": "p@x.test"}, **of_message())["To"] is None

    @pytest.mark.parametrize("template", [True, False])
    def test_nobody_sees_the_hidden_recipients_of_a_message(self, template: bool) -> None:
        raw = b"Return-Path: <r@x.test>\r\nbcc: Secret <s@x.test>\r\n" + RAW
        assert built(**of_message(raw, template=template)) == built(**of_message(template=template))

    def test_a_signed_text_stays_byte_for_byte_without_substitutions(self) -> None:
        signed = "Dear {{n}} \x91https://x.test/\x92".encode()
        raw = (
            b"From: a@mail.example.test\r\n"
            b"Content-Type: multipart/signed; boundary=b\r\n\r\n"
            b"--b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n" + signed + b"\r\n"
            b"--b\r\nContent-Type: application/pgp-signature\r\n\r\nx\r\n--b--\r\n"
        )
        options = OPTIONS | {"perform_substitutions": False}
        assert signed in built(**of_message(raw), options=options)

    def test_a_field_of_a_template_that_becomes_empty_is_left_out(self) -> None:
        lines = "".join(f"{name}: {value}\r\n" for name, value in EMPTY.items())
        email_message = message(**of_message(lines.encode() + b"X-B:\r\n" + RAW))
        assert email_message["Message-ID"].endswith("@mail.example.test>")
        assert email_message["Date"].datetime.timestamp() == INJECTED // 1000
        assert (email_message["Cc"], email_message["X-A"]) == (None, None)
        assert email_message["X-B"] == ""

    def test_the_subject_of_a_template_may_become_empty(self) -> None:
        raw = b"From: a@mail.example.test\r\nSubject: {{none}}\r\n\r\nx"
        assert message(**of_message(raw)).get_all("Subject") == [""]

    def test_a_message_over_smtp_keeps_its_empty_fields(self) -> None:
        raw = b"Cc: \r\n" + RAW
        assert message(**of_message(raw, template=False))["Cc"] is not None

    def test_a_malformed_message_is_a_fault(self) -> None:
        with pytest.raises(ValueError, match="header"):
            draft(**of_message(b"no header\r\n\r\nx"))
