"""Pre-built messages are tracked, whether the sender or an SMTP client built them."""

from __future__ import annotations

import base64
import email
import email.policy
from email.message import EmailMessage
from typing import Any

import pytest

from chalicelib.transmissions.copies import ARCHIVE, BCC
from tests.unit.generation.examples import generator, make_sender
from tests.unit.generation.test_tracking_decorator import OFF, TO, kinds, links, part, targets
from tests.unit.transmissions.examples import DEFAULTS, OPTIONS

HTML = (
    '<html><body><p>{{address.name}}</p><a href="https://shop.example/{{n}}" '
    'data-svc-linkname="Shop">x</a> <a href="{{url}}">y</a></body></html>'
)
TEXT = 'https://shop.example/ https://quiet.example/[[data-msys-clicktrack="0"]]'
BINARY = base64.b64encode(bytes(range(256))).decode()
QUIET = OPTIONS | OFF | {"transactional": True}


@pytest.fixture(autouse=True)
def _sender(cloud: None) -> None:
    make_sender()


def built(html: str = HTML, text: str = TEXT, cte: str = "quoted-printable") -> bytes:
    """Return a message with a text, html, AMP and an attachment, with CRLF line ends."""
    message = EmailMessage(policy=email.policy.SMTP)
    message["From"], message["Subject"] = "a@mail.example.test", "Hi"
    message["List-Unsubscribe"] = "<https://own.example/>"
    message.set_content(text, cte=cte)
    message.add_alternative(html, subtype="x-amp-html", cte=cte)
    message.add_alternative(html, subtype="html", cte=cte)
    message.add_attachment("<a href='https://attached.example/'>", subtype="html", filename="a")
    return message.as_bytes()


def of_rest(raw: bytes, to: Any = TO, **fields: Any) -> bytes:
    """Return the message of a transmission with ``email_rfc822``."""
    return generator(content={}, raw=raw, substitute=True, **fields).generate(0, to).data


def over_smtp(raw: bytes, to: Any = TO, **fields: Any) -> bytes:
    """Return the message that came over SMTP, as it leaves."""
    return generator(content={}, raw=raw, **fields).generate(0, to).data


def parsed(data: bytes) -> EmailMessage:
    email_message = email.message_from_bytes(data, policy=email.policy.default)
    assert isinstance(email_message, EmailMessage)
    return email_message


def amp(message: EmailMessage) -> str:
    (result,) = [p for p in message.walk() if p.get_content_type() == "text/x-amp-html"]
    return str(result.get_content())


class TestTemplates:
    @pytest.mark.parametrize("cte", ["quoted-printable", "base64", "8bit"])
    def test_each_text_is_filled_in_and_tracked_in_one_go(self, cte: str) -> None:
        to = TO | {"name": "Zoë", "substitution_data": {"n": 7, "url": "https://value.example/"}}
        message = parsed(of_rest(built(cte=cte), to))
        assert kinds(part(message)) == ["t/i", "t/c", "t/o"]
        assert targets(part(message)) == ["https://shop.example/7"]
        assert "<p>Zoë</p>" in part(message)
        assert "data-svc" not in part(message)
        assert kinds(amp(message)) == ["t/ai", "t/c", "t/ao"]
        assert targets(part(message, "plain")) == ["https://shop.example/"]
        assert part(message, "plain").strip().endswith(" https://quiet.example/")
        (attached,) = message.iter_attachments()
        assert "https://attached.example/" in attached.get_content()

    def test_a_text_without_a_tag_is_tracked_as_well(self) -> None:
        raw = built(html='<a href="https://plain.example/">x</a>', text="no link")
        message = parsed(of_rest(raw))
        assert targets(part(message)) == ["https://plain.example/"]

    def test_the_texts_are_verbatim_without_substitutions(self) -> None:
        options = OPTIONS | {"perform_substitutions": False}
        raw = b"X-Note: {{email}}\r\n" + built()
        message = parsed(of_rest(raw, options=options))
        assert message["X-Note"] == "Ann@example.test"
        assert "<p>{{address.name}}</p>" in part(message)
        assert len(links(part(message))) == 1

    def test_the_unsubscribe_headers_are_the_services(self) -> None:
        message = parsed(of_rest(built()))
        assert "own.example" not in message["List-Unsubscribe"]
        assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
        own = parsed(of_rest(built(), options=OPTIONS | {"transactional": True}))
        assert own["List-Unsubscribe"] == "<https://own.example/>"

    def test_styles_are_inlined_on_demand(self) -> None:
        html = "<html><head><style>p{color:red}</style></head><body><p>x</p></body></html>"
        message = parsed(of_rest(built(html), options=OPTIONS | {"inline_css": True}))
        assert '<p style="color:' in part(message).replace(": ", ":")
        assert "<p>x</p>" in amp(message)

    @pytest.mark.parametrize(
        ("raw", "pixel", "is_amp"),
        [
            (built(), True, True),
            (b"From: a@mail.example.test\r\nContent-Type: text/html\r\n\r\n<p>", True, False),
            (b"From: a@mail.example.test\r\n\r\nHello", False, False),
        ],
    )
    def test_events_say_what_the_message_holds(self, raw: bytes, pixel: bool, is_amp: bool) -> None:
        chunk_generator = generator(content={}, raw=raw, substitute=True)
        event = chunk_generator.event | chunk_generator.generate(0, TO).event
        assert (event["initial_pixel"], event["amp_enabled"]) == (pixel, is_amp)
        assert event["open_tracking"] is event["click_tracking"] is True


NESTED = "https://a.example/login?next=https://a.example/account"
LINKS = f"**{NESTED}**, ({NESTED}&x={{{{n}}}}) see {NESTED}."


@pytest.mark.parametrize(
    "content",
    [
        {"text": LINKS},
        {"text": "{{each list}}{{loop_var}}{{end}}" + LINKS},
        {"text": "{{render_dynamic_content(dynamic_plain.links)}}"},
        {"text": "{{if n}}**" + LINKS[2:] + "{{end}}"},
    ],
)
def test_a_url_within_a_url_is_one_link_however_the_text_comes(content: Any) -> None:
    to = TO | {"substitution_data": {"n": 7, "list": []}}
    data = {"dynamic_plain": {"links": LINKS}}
    inline = {"from": "a@mail.example.test", "subject": "Hi", **content}
    text = built(text=content["text"])
    finished = built(text=LINKS.replace("{{n}}", "7"))
    for message in (
        generator(content=inline, substitution_data=data).generate(0, to).data,
        of_rest(text, to, substitution_data=data),
        over_smtp(finished, to),
    ):
        plain = part(parsed(message), "plain")
        assert targets(plain) == [NESTED, f"{NESTED}&x=7", NESTED]
        assert "a.example" not in plain


class TestOverSmtp:
    def test_a_message_without_changes_goes_out_byte_for_byte(self) -> None:
        raw = built(html=HTML.replace(' data-svc-linkname="Shop"', ""), text="https://a.example/")
        raw = b"Date: x\r\nMessage-ID: <x@y>\r\n" + raw
        assert over_smtp(raw, options=QUIET).endswith(raw)

    def test_only_the_header_changes_where_nothing_is_tracked(self) -> None:
        raw = built(html="<p>", text="x")
        message_bytes = over_smtp(raw, options=OPTIONS | OFF)
        assert message_bytes.partition(b"\r\n\r\n")[2] == raw.partition(b"\r\n\r\n")[2]
        assert parsed(message_bytes)["List-Unsubscribe-Post"]

    def test_tracking_attributes_are_removed_even_without_tracking(self) -> None:
        message = parsed(over_smtp(built(), options=QUIET))
        assert "data-svc" not in part(message) + amp(message)
        assert part(message, "plain").strip() == "https://shop.example/ https://quiet.example/"
        assert part(message).strip() == HTML.replace(' data-svc-linkname="Shop"', "")

    def test_every_link_is_tracked_on_request(self) -> None:
        raw = built(html='<a href="https://a.example/{{n}}">', text="https://b.example/")
        message = parsed(over_smtp(raw))
        assert targets(part(message)) == ["https://a.example/{{n}}"]
        assert targets(part(message, "plain")) == ["https://b.example/"]

    def test_an_unreadable_part_goes_out_unchanged(self) -> None:
        for header, body in (
            (b"Content-Type: multipart/mixed; boundary=b\r\n", b"http://nothing.example/\r\n"),
            (b"Content-Type: text/html; charset=nonsense\r\n", b"<a href='http://a'>\r\n"),
            (b"Content-Transfer-Encoding: uuencode\r\n", b"http://a.example/\r\n"),
        ):
            raw = b"From: a@mail.example.test\r\n" + header + b"\r\n" + body
            assert over_smtp(raw).endswith(b"\r\n\r\n" + body)

    def test_a_text_in_an_unknown_charset_keeps_its_octets(self) -> None:
        body = b"..\r\nhttp://a.example/\xff\r\n"
        message = over_smtp(b"From: a@mail.example.test\r\n\r\n" + body)
        assert message.isascii()
        assert parsed(message).get_payload(decode=True) == body

    def test_a_link_whose_rewriting_makes_a_line_too_long_is_encoded(self) -> None:
        html = f"<p>{'x' * 940}<a href='https://a.example/'>y</a>\r\n"
        raw = b"From: a@mail.example.test\r\nContent-Type: text/html\r\n\r\n" + html.encode()
        message = over_smtp(raw)
        assert max(map(len, message.split(b"\r\n"))) <= 998
        assert targets(part(parsed(message))) == ["https://a.example/"]

    @pytest.mark.parametrize("charset", ["utf-8", "utf-16"])
    def test_a_nul_in_an_encoded_text_is_dropped(self, charset: str) -> None:
        raw = (
            b"From: a@mail.example.test\r\nContent-Type: text/html; charset=%b\r\n"
            b"Content-Transfer-Encoding: base64\r\n\r\n%b"
        ) % (charset.encode(), base64.b64encode("a\0b é".encode(charset)))
        for message in (over_smtp(raw, options=QUIET), of_rest(raw, options=QUIET)):
            assert part(parsed(message)).strip() == "ab é"

    def test_signed_parts_are_not_changed(self) -> None:
        signed = (
            b"From: a@mail.example.test\r\n"
            b"Content-Type: multipart/signed; protocol=x/y; boundary=b\r\n\r\n"
            b"--b\r\nContent-Type: text/html\r\n\r\n<a href='http://a.example/'>{{n}}</a>\r\n"
            b"--b\r\nContent-Type: x/y\r\n\r\nsignature\r\n--b--\r\n"
        )
        body = signed.partition(b"\r\n\r\n")[2]
        assert over_smtp(signed).endswith(body)
        to = TO | {"substitution_data": {"n": "N"}}
        assert of_rest(signed, to).endswith(body)

    @pytest.mark.parametrize("encoding", [b"7bit", b"8bit"])
    def test_a_text_with_an_openpgp_signature_is_not_changed(self, encoding: bytes) -> None:
        body = (
            b"-----BEGIN PGP SIGNED MESSAGE-----\r\nHash: SHA256\r\n\r\n"
            b"{{n}} https://a.example/ %b\r\n-----BEGIN PGP SIGNATURE-----\r\n\r\n"
            b"x\r\n-----END PGP SIGNATURE-----\r\n" % ("é".encode() if encoding == b"8bit" else b"")
        )
        raw = (
            b"From: a@mail.example.test\r\nContent-Type: text/plain; charset=utf-8\r\n"
            b"Content-Transfer-Encoding: %b\r\n\r\n%b" % (encoding, body)
        )
        to = TO | {"substitution_data": {"n": "N"}}
        assert over_smtp(raw).endswith(b"\r\n\r\n" + body)
        assert of_rest(raw, to).endswith(b"\r\n\r\n" + body)

    @pytest.mark.parametrize("charset", ["utf-8", "iso-8859-1"])
    def test_a_signed_text_is_not_changed(self, charset: str) -> None:
        signed = (
            "-----BEGIN PGP SIGNED MESSAGE-----\r\n\r\nGrüße https://a.example/\r\n"
            "-----BEGIN PGP SIGNATURE-----\r\n\r\niHU=\r\n-----END PGP SIGNATURE-----\r\n"
        )
        head = "From: a@mail.example.test\r\nContent-Transfer-Encoding: 8bit\r\n"
        head += f"Content-Type: text/plain; charset={charset}\r\n\r\n"
        raw = f"{head}See https://b.example/\r\n{signed}".encode(charset)
        for message in (parsed(over_smtp(raw)), parsed(of_rest(raw))):
            body = message.get_payload(decode=True)
            assert isinstance(body, bytes)
            assert body.endswith(signed.encode(charset))
            assert targets(part(message, "plain")) == []

    def test_only_a_bcc_copy_has_the_header_that_names_it(self) -> None:
        copies: list[Any] = [TO, TO | {"rcpt_type": BCC}, TO | {"rcpt_type": ARCHIVE}]
        chunk_generator = generator(content={}, raw=built(), defaults=DEFAULTS)
        bcc_headers = [
            parsed(chunk_generator.generate(i, to).data)["Bcc"] for i, to in enumerate(copies)
        ]
        assert bcc_headers == [None, "Ann@example.test", None]

    def test_a_large_attachment_is_not_touched(self) -> None:
        message = EmailMessage(policy=email.policy.SMTP)
        message["From"] = "a@mail.example.test"
        message.set_content("https://a.example/")
        message.add_attachment(base64.b64decode(BINARY) * 40, maintype="x", subtype="y")
        raw = message.as_bytes()
        attached = raw[raw.index(b"Content-Type: x/y") :]
        assert over_smtp(raw).endswith(attached)
