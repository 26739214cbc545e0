"""Messages get tracked links, pixels and unsubscribe headers."""

from __future__ import annotations

import email
import email.policy
import re
from dataclasses import replace
from email.message import EmailMessage
from typing import Any

import pytest

from chalicelib.core import ids
from chalicelib.core.reading import read_config
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.generation.tracking_decorator import TrackingDecorator
from chalicelib.sending_domains import store as domains
from chalicelib.snippets import store as snippets
from chalicelib.snippets.request import new_snippet
from chalicelib.templates.preview import preview
from chalicelib.tracking import tokens, unsubscribe
from chalicelib.tracking.links import MARK
from chalicelib.tracking.model import Link, Message
from chalicelib.tracking.rewrite import TrackingOptions
from chalicelib.transmissions.sender import check_may_send
from tests.fake_cloud import aws_requests
from tests.unit.generation.examples import INJECTED, failure, generator, make_sender, signing
from tests.unit.people import make_account
from tests.unit.sending_domains.examples import domain
from tests.unit.tracking_domains.examples import store_tracking_domain
from tests.unit.transmissions.examples import DEFAULTS, OPTIONS, body, make_transmission

TO = {"email": "Ann@example.test", "substitution_data": {"url": "https://value.example/"}}
SHOP = '<body><a href="https://shop.example/" data-svc-linkname="Shop">x</a></body>'
INLINE = body()["content"] | {"html": SHOP, "text": "See https://shop.example/t."}
URL = re.compile(r"(https?://[\w.:-]+)/(t/[a-z]+|f/[^/]+)/([\w.-]+[\w-])")
OFF = {"open_tracking": False, "click_tracking": False, "initial_open": False}
UNTRACKED = OPTIONS | OFF


@pytest.fixture(autouse=True)
def _sender(cloud: None) -> None:
    make_sender()


def parsed(data: bytes) -> EmailMessage:
    email_message = email.message_from_bytes(data, policy=email.policy.default)
    assert isinstance(email_message, EmailMessage)
    return email_message


def transmission(to: dict[str, Any] = TO, index: int = 0, **fields: Any) -> EmailMessage:
    """Return the message that a recipient gets."""
    return parsed(generator(**{"content": INLINE} | fields).generate(index, to).data)


def part(message: EmailMessage, kind: str = "html") -> str:
    message_part = message.get_body((kind,))
    assert message_part is not None
    return str(message_part.get_content())


def kinds(text: str) -> list[str]:
    """Return which URLs of ours are in a text, in order: ``t/i``, ``t/c`` and so on."""
    return [kind for _, kind, _ in URL.findall(text)]


def links(text: str) -> list[Link | None]:
    read = [tokens.read(kind, token) for _, kind, token in URL.findall(text)]
    return [link for _, link in read if link]


def targets(text: str) -> list[str]:
    return [link.target for link in links(text) if link]


class TestOptions:
    def tracked(self, own: Any = None, *, defaults: Any = None, **options: Any) -> TrackingOptions:
        tracked_transmission = make_transmission(
            options=OPTIONS | options, defaults=DEFAULTS | (defaults or {})
        )
        decorator = TrackingDecorator(tracked_transmission, 0, INJECTED, read_config)
        return decorator.tracked(TO | ({"options": own} if own is not None else {}))

    @pytest.mark.spec("2.1-t24")
    @pytest.mark.parametrize(
        ("own", "data", "expected"),
        [
            ({}, {}, TrackingOptions(True, True, True)),
            ({}, OFF, TrackingOptions(False, False, False)),
            ({"click_tracking": False}, {}, TrackingOptions(True, False, True)),
            ({"click_tracking": True}, OFF, TrackingOptions(False, True, False)),
            ({"initial_open": False}, {}, TrackingOptions(True, True, False)),
            ({"initial_open": True}, OFF, TrackingOptions(False, False, True)),
        ],
    )
    def test_a_recipients_own_options_beat_the_transmissions(
        self, own: Any, data: Any, expected: TrackingOptions
    ) -> None:
        assert self.tracked(own, **data) == expected
        assert self.tracked(None, **data) == self.tracked({}, **data)

    def test_the_initial_pixel_follows_a_recipients_own_open_tracking(self) -> None:
        assert self.tracked({"open_tracking": False}) == TrackingOptions(False, True, False)
        assert self.tracked({"open_tracking": True}, **OFF) == TrackingOptions(True, False, True)
        without = {"initial_open": False}
        assert self.tracked({"open_tracking": True}, defaults=without, **OFF).initial_opens is False
        # The transmission switches it off, and the recipient does not override that
        assert self.tracked({"open_tracking": True}, **without).initial_opens is False
        both = {"open_tracking": False, "initial_open": True}
        assert self.tracked(both) == TrackingOptions(False, True, True)

    @pytest.mark.spec("2.6-t6")
    def test_no_option_switches_on_tracking_that_the_account_forbids(self) -> None:
        everything = dict.fromkeys(OFF, True)
        assert self.tracked(everything, defaults={"tracks_clicks": False}).clicks is False
        forbidden = self.tracked(everything, defaults={"tracks_opens": False})
        assert forbidden == TrackingOptions(False, True, False)


class TestInline:
    @pytest.mark.spec("2.1-t11")
    @pytest.mark.spec("2.1-t12")
    @pytest.mark.spec("2.1-t13")
    def test_links_and_pixels_come_by_the_options_in_force(self) -> None:
        message = transmission()
        assert kinds(part(message)) == ["t/i", "t/c", "t/o"]
        assert kinds(part(message, "plain")) == ["t/c"]
        assert "data-svc" not in part(message)
        assert links(part(message)) == [Link("https://shop.example/", "Shop")]
        for option, remaining in (
            ("open_tracking", ["t/i", "t/c"]),
            ("click_tracking", ["t/i", "t/o"]),
            ("initial_open", ["t/c", "t/o"]),
        ):
            assert kinds(part(transmission(options=OPTIONS | {option: False}))) == remaining
        assert part(transmission(options=UNTRACKED)).strip() == SHOP.replace(
            ' data-svc-linkname="Shop"', ""
        )

    def test_amp_has_links_and_pixels_of_its_own(self) -> None:
        message = transmission(content=INLINE | {"amp_html": f"<html ⚡4email>{SHOP}</html>"})
        amp = next(p for p in message.walk() if p.get_content_type() == "text/x-amp-html")
        assert kinds(amp.get_content()) == ["t/ai", "t/c", "t/ao"]
        assert links(amp.get_content()) == [Link("https://shop.example/", "Shop", amp=True)]

    def test_a_token_names_the_message_and_its_unit(self) -> None:
        chunk_generator = generator(
            content=INLINE, account_id=1, subaccount_id=None, first_index=100
        )
        html = part(parsed(chunk_generator.generate(107, TO).data))
        about = {tokens.read(kind, token)[0] for _, kind, token in URL.findall(html)}
        last_day = tokens.last_day(INJECTED)
        message_id = ids.message_id(make_transmission().id, 107)
        assert about == {Message(1, None, message_id, 100, "Ann@example.test", last_day)}

    def test_links_whose_protocol_is_a_value_are_not_tracked(self) -> None:
        content = INLINE | {
            "html": '<a href="{{url}}">a</a><a href="https://{{address.name}}.example/">b</a>',
            "text": "{{url}} https://own.example/",
        }
        message = transmission(TO | {"name": "ann"}, content=content)
        assert targets(part(message)) == ["https://ann.example/"]
        assert targets(part(message, "plain")) == ["https://own.example/"]
        assert part(message, "plain").startswith("https://value.example/")

    def test_links_of_snippets_and_dynamic_content_are_tracked(self) -> None:
        content = {"html": SHOP, "text": "https://snippet.example/"}
        assert snippets.create(new_snippet(Scope(1, 0), {"id": "s", "content": content}))
        data = {
            "dynamic_html": {"offer": '<a href="https://dynamic.example/">x</a>'},
            "dynamic_plain": {"offer": "https://dynamic.example/"},
        }
        message = transmission(
            substitution_data=data,
            content=INLINE
            | {
                "subject": "{{render_snippet('s')}}",
                "headers": {"X-Offer": "{{render_dynamic_content(dynamic_plain.offer)}}"},
                "html": "{{render_snippet('s')}}{{render_dynamic_content(dynamic_html.offer)}}",
                "text": "{{render_snippet('s')}} {{render_dynamic_content(dynamic_plain.offer)}}",
            },
        )
        assert targets(part(message)) == ["https://shop.example/", "https://dynamic.example/"]
        assert targets(part(message, "plain")) == [
            "https://snippet.example/",
            "https://dynamic.example/",
        ]
        assert message["Subject"] == "https://snippet.example/"
        assert message["X-Offer"] == "https://dynamic.example/"

    def test_no_mark_is_left_in_a_message(self) -> None:
        content = INLINE | {
            "subject": "http://a {{url}}",
            "html": '<img src="http://b"><!-- http://c --><a href="http://d" x="http://e">',
            "amp_html": "<p>http://f",
        }
        for options in (OPTIONS, UNTRACKED, OPTIONS | {"inline_css": True}):
            message_bytes = generator(content=content, options=options).generate(0, TO).data
            assert MARK.encode() not in message_bytes
            assert b"=C2=91" not in message_bytes

    def test_a_preview_of_the_same_content_shows_no_marks(self) -> None:
        content = INLINE | {"html": f"{SHOP}{{{{email}}}}", "text": "http://a.example/{{email}}"}
        transmission(content=content)
        source = snippets.source(1, None)
        view = preview(content, {"email": "a@b.test"}, source)
        assert view["html"] == f"{SHOP}a@b.test"
        assert view["text"] == "http://a.example/a%40b.test"

    def test_bodies_that_are_not_rendered_are_tracked_all_the_same(self) -> None:
        options = OPTIONS | {"perform_substitutions": False}
        message = transmission(options=options, content=INLINE | {"html": f"{{{{if {SHOP}"})
        assert kinds(part(message)) == ["t/i", "t/c", "t/o"]
        assert part(message).startswith("{{if ")

    def test_links_stay_links_when_styles_are_inlined(self) -> None:
        options = OPTIONS | {"inline_css": True}
        html = f"<html><head><style>a{{color:red}}</style></head>{SHOP}</html>"
        message = transmission(options=options, content=INLINE | {"html": html})
        assert kinds(part(message)) == ["t/i", "t/c", "t/o"]
        assert links(part(message)) == [Link("https://shop.example/", "Shop")]


class TestTrackingDomain:
    def base(self, **fields: Any) -> str:
        (base, _, _), *_ = URL.findall(part(transmission(**fields)))
        return str(base)

    @pytest.mark.spec("2.1-t10")
    @pytest.mark.spec("2.5-t2")
    def test_links_go_through_the_domain_that_counts(self) -> None:
        assert self.base() == settings().public_url
        store_tracking_domain("account.test", default=True)
        assert self.base() == "http://account.test"
        store_tracking_domain("linked.test", secure=True)
        linked = domain("linked-to.test", dkim=signing("linked-to.test"))
        assert domains.create(replace(linked, tracking_domain="linked.test"))
        content = INLINE | {"from": "a@linked-to.test"}
        assert self.base(content=content) == "https://linked.test"
        store_tracking_domain("named.test")
        assert self.base(content=content, tracking_domain="named.test") == "http://named.test"

    @pytest.mark.spec("4.1-r9")
    def test_a_tracking_domain_out_of_service_refuses_the_message(self) -> None:
        store_tracking_domain("blocked.test", compliance_status="blocked")
        event = failure(generator(content=INLINE, tracking_domain="blocked.test"), TO)
        assert event["type"] == "generation_rejection"

    def test_the_domain_is_looked_up_once_a_chunk_and_only_when_something_is_tracked(self) -> None:
        store_tracking_domain("account.test", default=True)
        check_may_send(1, None)  # each chunk reads it ahead
        counts = []
        generator(content=INLINE, options=OPTIONS).generate(0, TO)  # the sending domain is cached
        for options in (UNTRACKED, OPTIONS):
            chunk_generator = generator(content=INLINE, options=options)
            with aws_requests() as requests:
                for index in range(3):
                    chunk_generator.generate(index, TO)
            counts.append(len(requests))
        assert counts[1] - counts[0] == 2


class TestUnsubscribing:
    def test_mail_has_the_headers_from_which_clients_make_a_button(self) -> None:
        message = transmission(index=7)
        url, mailbox = message["List-Unsubscribe"].strip("<>").split(">, <")
        base, _, token = url.rpartition("/t/u/")
        assert base == settings().public_url
        about, _ = tokens.read("t/u", token)
        assert about.message_id == ids.message_id(make_transmission().id, 7)
        address = re.fullmatch(r"mailto:([^@]+)@([^?]+)\?subject=unsubscribe", mailbox)
        assert address
        assert unsubscribe.message_of(address[1]) == about.message_id
        assert address[2] == settings().system_domain
        assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"

    def test_both_headers_are_signed_and_no_others_can_be_added(self) -> None:
        (signed,) = re.findall(r"[; ]h=([^;]*);", transmission()["DKIM-Signature"])
        names = signed.lower().replace(" ", "").split(":")
        assert names.count("list-unsubscribe") == names.count("list-unsubscribe-post") == 2

    def test_the_unsubscribe_headers_replace_the_senders_own(self) -> None:
        own = {"LIST-Unsubscribe": "<https://own.example/>", "list-unsubscribe-post": "x"}
        message = transmission(content=INLINE | {"headers": own | {"X-Own": "1"}})
        assert len(message.get_all("List-Unsubscribe")) == 1
        assert "own.example" not in message["List-Unsubscribe"]
        assert message.get_all("List-Unsubscribe-Post") == ["List-Unsubscribe=One-Click"]
        assert message["X-Own"] == "1"

    @pytest.mark.spec("2.1-t14")
    def test_transactional_mail_has_no_unsubscribe_headers_unless_the_account_wants_them(
        self,
    ) -> None:
        options = OPTIONS | {"transactional": True}
        assert transmission(options=options)["List-Unsubscribe"] is None
        own = INLINE | {"headers": {"List-Unsubscribe": "<https://own.example/>"}}
        assert (
            transmission(options=options, content=own)["List-Unsubscribe"]
            == "<https://own.example/>"
        )
        expected = DEFAULTS | {"transactional_unsub": True}
        assert transmission(options=options, defaults=expected)["List-Unsubscribe-Post"]

    def test_unsubscribe_mail_goes_to_the_service_with_any_return_path(self) -> None:
        domains.create(domain("bounce.test"))
        header = transmission(return_path="x@bounce.test")["List-Unsubscribe"]
        assert "@bounce.test?" in header
        enterprise = {"return_path": "x@any.test", "defaults": DEFAULTS | {"enterprise": True}}
        make_account(2, service_level="enterprise")
        domains.create(domain("two.test", account=2, dkim=signing("two.test")))
        message = transmission(account_id=2, content=INLINE | {"from": "a@two.test"}, **enterprise)
        assert f"@{settings().system_domain}?" in message["List-Unsubscribe"]

    def test_an_archive_copy_has_the_links_of_another_recipient_and_unsubscribes_itself(
        self,
    ) -> None:
        view = {"index": 0, "email": "first@example.test"}
        chunk_generator = generator(content=INLINE, first_index=100)
        copy = {"email": "archive@example.test", "rcpt_type": "archive", "tracked_as": view}
        message = parsed(chunk_generator.generate(150, copy).data)
        about = {tokens.read(k, t)[0] for _, k, t in URL.findall(part(message))}
        first = ids.message_id(make_transmission().id, 0)
        assert {(m.message_id, m.recipient, m.first_index) for m in about} == {
            (first, "first@example.test", 0)
        }
        own, _ = tokens.read("t/u", message["List-Unsubscribe"].split(">")[0].rpartition("/")[2])
        assert own.recipient == "archive@example.test"
