"""A transmission's override is applied to every kind of content."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core.addresses import Mailbox
from chalicelib.generation.faults import RenderFault
from tests.unit.generation.test_drafts import RAW, TO, draft, inline, message, of_message

pytestmark = pytest.mark.usefixtures("cloud")


@pytest.mark.spec("2.1-t2")
class TestOverride:
    def given(self, kind: str, **override: Any) -> dict[str, Any]:
        fields = {
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
        return fields | {"override": override}

    @pytest.mark.parametrize("kind", ["inline", "template", "message"])
    def test_from_reply_to_and_list_id_replace_the_content_s_own(self, kind: str) -> None:
        new = {"from": "o@other.test", "reply_to": "r@other.test", "list_id": "news.other"}
        email_message = message(**self.given(kind, **new))
        assert email_message.get_all("From") == ["Ann <o@other.test>"]
        assert email_message.get_all("Reply-To") == ["r@other.test"]
        assert email_message.get_all("List-Id") == ["<news.other>"]
        assert draft(**self.given(kind, **new)).sender == Mailbox("o@other.test", "Ann")

    @pytest.mark.parametrize("kind", ["inline", "template", "message"])
    def test_reply_to_may_hold_several_addresses(self, kind: str) -> None:
        email_message = message(**self.given(kind, reply_to="Zoë <z@x.test>, Bö <b@x.test>"))
        addresses = email_message["Reply-To"].addresses
        assert [each.addr_spec for each in addresses] == ["z@x.test", "b@x.test"]

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
        given_fields = self.given(kind, **{"from": sender})
        assert draft(**given_fields).sender == mailbox
        assert message(**given_fields)["From"] == f"{mailbox.name} <{mailbox.email}>"

    @pytest.mark.parametrize("template", [True, False])
    @pytest.mark.parametrize("sender", [b"", b"From: x\r\n", b"From: a@b.c, d@e.f\r\n"])
    def test_a_malformed_from_of_a_message_can_be_replaced(
        self, sender: bytes, template: bool
    ) -> None:
        raw = sender + b"Subject: s\r\n\r\nx"
        email_message = of_message(raw, template=template) | {"override": {"from": "Bo <o@o.test>"}}
        assert message(**email_message).get_all("From") == ["Bo <o@o.test>"]

    @pytest.mark.parametrize(
        ("sender", "name"),
        [
            ("{{missing}}", None),
            ("{{missing + 1}}", None),
            ("{{missing}}@example.test", None),
            ('"Shop, Inc" <{{missing}}>', "Shop, Inc"),
            ("{{n}} <{{missing}}@example.test>", "Ann"),
            ("{{missing + 1}} <a@example.test>", None),
            ({"email": "{{missing}}", "name": "{{n}}"}, "Ann"),
            ({"email": "{{missing + 1}}", "name": "{{n}}"}, "Ann"),
            ({"email": "a@example.test", "name": "{{missing + 1}}"}, None),
            ("a@example.test, b@example.test", None),
        ],
    )
    def test_a_from_that_cannot_be_rendered_is_replaced(self, sender: Any, name: str) -> None:
        override = {"override": {"from": "o@o.test"}}
        contents = [inline(**{"from": sender})]
        if isinstance(sender, str):
            contents.append(of_message(f"From: {sender}\r\nSubject: s\r\n\r\nx".encode()))
        to = TO | {"substitution_data": {"n": "Ann"}}
        for content in contents:
            mailbox = Mailbox("o@o.test", name or "")
            assert draft(to, **content, **override).sender == mailbox
            (author,) = message(to, **content, **override)["From"].addresses
            assert (author.addr_spec, author.display_name) == ("o@o.test", name or "")

    @pytest.mark.parametrize(
        ("override", "field", "value"),
        [
            ({"reply_to": "r@o.test"}, "Reply-To", "r@o.test"),
            ({"list_id": "news.o.test"}, "List-Id", "<news.o.test>"),
        ],
    )
    def test_what_is_replaced_is_not_rendered(self, override: Any, field: str, value: str) -> None:
        broken = "{{missing + 1}}"
        contents = [
            inline(reply_to=broken) if field == "Reply-To" else inline(headers={"list-id": broken}),
            of_message(f"{field}: {broken}\r\n".encode() + RAW),
        ]
        for content in contents:
            with pytest.raises(RenderFault):
                draft(**content)
            assert message(**content, override=override).get_all(field) == [value]

    @pytest.mark.parametrize("kind", ["inline", "template", "message"])
    def test_fields_without_an_override_stay(self, kind: str) -> None:
        email_message = message(**self.given(kind))
        assert email_message["Reply-To"] == "own@b.test"
        assert email_message["List-Id"] == "<own.list>"
        assert email_message["From"] == "Ann <a@mail.example.test>"

    @pytest.mark.parametrize("kind", ["inline", "template", "message"])
    def test_nothing_is_substituted_in_an_override(self, kind: str) -> None:
        email_message = message(**self.given(kind, reply_to="{{n}}@b.test"))
        assert email_message["Reply-To"] == "{{n}}@b.test"

    @pytest.mark.parametrize("kind", ["inline", "template", "message"])
    def test_a_from_that_is_no_address_is_a_fault(self, kind: str) -> None:
        with pytest.raises(RenderFault, match="invalid address"):
            draft(**self.given(kind, **{"from": "{{n}}"}))
