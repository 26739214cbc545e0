"""Drafts: everything substituted, and the transmission's override in force."""

from __future__ import annotations

import email
import email.policy
from email.message import EmailMessage
from typing import Any

import pytest

from chalicelib.core.addresses import Mailbox
from chalicelib.core.scope import Scope
from chalicelib.generation.drafts import Draft, drafter
from chalicelib.generation.render import RenderFault
from chalicelib.snippets import store as snippets
from chalicelib.snippets.model import new_snippet
from tests.unit.generation.examples import INJECTED
from tests.unit.transmissions.examples import OPTIONS, body, transmission

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
    return drafter(transmission(**fields), INJECTED).draft(to)


def message(to: Any = TO, **fields: Any) -> EmailMessage:
    built = draft(to, **fields).build("0" * 24)
    return email.message_from_bytes(built, policy=email.policy.default)


def text(to: Any = TO, **fields: Any) -> str:
    return message(to, **fields).get_content().strip()


def inline(**fields: Any) -> dict[str, Any]:
    return {"content": INLINE | fields}


def of_message(raw: bytes = RAW, *, template: bool = True, **fields: Any) -> dict[str, Any]:
    return {"content": {}, "raw": raw, "substitute": template} | fields


class TestInline:
    def test_every_part_is_rendered_for_the_recipient(self) -> None:
        given = inline(subject="{{n}}", text="{{n}}", html="<p>{{n}}</p>", headers={"X-A": "{{n}}"})
        found = message(**given)
        assert (found["Subject"], found["X-A"]) == ("<Zoë>", "<Zoë>")
        assert [part.get_content().strip() for part in found.iter_parts()] == [
            "<Zoë>",
            "<p>&lt;Zoë&gt;</p>",
        ]
        assert draft(**given).subject == "<Zoë>"

    def test_bodies_stay_as_they_are_without_substitutions(self) -> None:
        options = OPTIONS | {"perform_substitutions": False}
        found = message(**inline(subject="{{n}}", text="{{n}} {{if"), options=options)
        assert found["Subject"] == "<Zoë>"
        assert found.get_content().strip() == "{{n}} {{if"

    @pytest.mark.spec("2.1-t16")
    @pytest.mark.parametrize("wanted", [True, False])
    def test_styles_are_inlined_on_demand_in_the_html_alone(self, wanted: bool) -> None:
        sheet = "<html><head><style>p{color:{{c}}}</style></head><body><p>x</p></body></html>"
        given = inline(html=sheet, amp_html=sheet, text="t")
        options = OPTIONS | {"inline_css": wanted}
        to = TO | {"substitution_data": {"c": "red"}}
        _, amp, html = (
            part.get_content()
            for part in message(to, **given, options=options).walk()
            if part.get_content_maintype() == "text"
        )
        assert ('<p style="color:' in html.replace(": ", ":")) is wanted
        assert "<p>x</p>" in amp

    def test_styles_are_not_looked_for_where_there_is_no_html(self) -> None:
        options = OPTIONS | {"inline_css": True}
        assert message(options=options).get_content_type() == "text/plain"

    @pytest.mark.spec("2.2-t8")
    @pytest.mark.spec("2.2-t9")
    def test_files_go_with_it(self) -> None:
        file = {"name": "a.txt", "type": "text/plain", "data": "aGk="}
        found = message(**inline(html="<p>x</p>", attachments=[file], inline_images=[file]))
        assert [part.get_filename() for part in found.walk() if part.get_filename()] == [
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

    @pytest.mark.spec("2.1-t25")
    def test_the_return_path_is_known_to_the_content(self) -> None:
        given = inline(text="{{return_path}}") | {"return_path": "all@b.test"}
        assert text(**given) == "all@b.test"
        assert text(TO | {"return_path": "one@b.test"}, **given) == "one@b.test"


class TestMessages:
    @pytest.mark.spec("2.2-r1")
    def test_header_and_the_first_text_and_html_parts_are_templates(self) -> None:
        found = message(**of_message())
        assert (found["Subject"], found["X-Note"]) == ("Hi <Zoë>", "<Zoë>")
        parts = [part.get_content().strip() for part in found.iter_parts()]
        assert parts == ["Dear <Zoë>", "second {{n}}", "file {{n}}", "<p>&lt;Zoë&gt;</p>"]
        assert draft(**of_message()).sender == Mailbox("a@mail.example.test", "Ann")
        assert draft(**of_message()).subject == "Hi <Zoë>"

    def test_one_that_is_no_template_goes_out_as_it_is(self) -> None:
        built = draft(**of_message(template=False)).build("0" * 24)
        head, _, rest = RAW.partition(b"\r\n\r\n")
        assert built.startswith(head)
        assert built.endswith(b"\r\n\r\n" + rest)

    @pytest.mark.spec("2.2-r3")
    def test_lone_line_ends_become_crlf(self) -> None:
        for end in (b"\n", b"\r"):
            given = of_message(RAW.replace(b"\r\n", end))
            assert draft(**given).build("0" * 24) == draft(**of_message()).build("0" * 24)

    def test_the_to_header_is_not_made_for_it(self) -> None:
        assert message(TO | {"header_to": "p@x.test"}, **of_message())["To"] is None

    def test_a_message_that_is_none_is_told(self) -> None:
        with pytest.raises(ValueError, match="header"):
            draft(**of_message(b"no header\r\n\r\nx"))


@pytest.mark.spec("2.1-t2")
class TestOverride:
    def given(self, kind: str, **override: Any) -> dict[str, Any]:
        named = {
            "inline": inline(
                **{"from": {"email": "a@mail.example.test", "name": "Ann"}},
                reply_to="own@b.test",
                headers={"list-id": "<own.list>", "X-A": "1"},
            ),
            "template": of_message(b"Reply-To: own@b.test\r\nList-ID: <own.list>\r\n" + RAW),
            "message": of_message(
                b"Reply-To: own@b.test\r\nList-ID: <own.list>\r\n" + RAW, template=False
            ),
        }[kind]
        return named | {"override": override}

    @pytest.mark.parametrize("kind", ["inline", "template", "message"])
    def test_from_reply_to_and_list_id_replace_the_content_s_own(self, kind: str) -> None:
        new = {"from": "o@other.test", "reply_to": "r@other.test", "list_id": "news.other"}
        found = message(**self.given(kind, **new))
        assert found.get_all("From") == ["Ann <o@other.test>"]
        assert found.get_all("Reply-To") == ["r@other.test"]
        assert found.get_all("List-Id") == ["<news.other>"]
        assert draft(**self.given(kind, **new)).sender == Mailbox("o@other.test", "Ann")

    @pytest.mark.parametrize("kind", ["inline", "template", "message"])
    @pytest.mark.parametrize(
        ("sender", "mailbox"),
        [
            ("o@o.test", Mailbox("o@o.test", "Ann")),
            ("Bo <o@o.test>", Mailbox("o@o.test", "Bo")),
            ({"email": "o@o.test"}, Mailbox("o@o.test", "Ann")),
            ({"email": "o@o.test", "name": "Bö"}, Mailbox("o@o.test", "Bö")),
            ({"email": "Al <o@o.test>", "name": ""}, Mailbox("o@o.test", "Al")),
        ],
    )
    def test_the_name_of_the_from_is_kept_unless_one_is_given(
        self, kind: str, sender: Any, mailbox: Mailbox
    ) -> None:
        given = self.given(kind, **{"from": sender})
        assert draft(**given).sender == mailbox
        assert message(**given)["From"] == f"{mailbox.name} <{mailbox.email}>"

    @pytest.mark.parametrize("template", [True, False])
    @pytest.mark.parametrize("sender", [b"", b"From: x\r\n", b"From: a@b.c, d@e.f\r\n"])
    def test_the_from_of_a_message_need_not_be_one_to_be_replaced(
        self, sender: bytes, template: bool
    ) -> None:
        raw = sender + b"Subject: s\r\n\r\nx"
        given = of_message(raw, template=template) | {"override": {"from": "Bo <o@o.test>"}}
        assert message(**given).get_all("From") == ["Bo <o@o.test>"]

    @pytest.mark.parametrize("kind", ["inline", "template", "message"])
    def test_what_is_not_overridden_stays(self, kind: str) -> None:
        found = message(**self.given(kind))
        assert found["Reply-To"] == "own@b.test"
        assert found["List-Id"] == "<own.list>"
        assert found["From"] == "Ann <a@mail.example.test>"

    @pytest.mark.parametrize("kind", ["inline", "template", "message"])
    def test_nothing_is_substituted_in_it(self, kind: str) -> None:
        found = message(**self.given(kind, reply_to="{{n}}@b.test"))
        assert found["Reply-To"] == "{{n}}@b.test"

    @pytest.mark.parametrize("kind", ["inline", "template", "message"])
    def test_a_from_that_is_no_address_is_a_fault(self, kind: str) -> None:
        with pytest.raises(RenderFault, match="invalid address"):
            draft(**self.given(kind, **{"from": "{{n}}"}))
