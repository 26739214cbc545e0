"""List the parsers that meet strangers' bytes, each with real inputs and with what must hold.

A check raises anything but the errors that the parser declares when something is wrong; where a
value can be written again, it also compares what comes back.
"""

from __future__ import annotations

# Checks run outside pytest as well.
# ruff: noqa: PT017
import contextlib
import gzip
import json
import re
import string
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from unittest.mock import patch

import dns.exception
import dns.message
import dns.query
import dns.rrset

from chalicelib.core import dns as service_dns
from chalicelib.core import ids, signing, strict_json, text_urls, web_address
from chalicelib.core.addresses import in_a_labels, read_mailbox
from chalicelib.core.errors import ApiError, ApiErrors
from chalicelib.css_inlining.declarations import DeclarationBlock, merged
from chalicelib.css_inlining.document import Document
from chalicelib.css_inlining.style_sheet import StyleSheet, important_families
from chalicelib.delivery.dane.authentication import NotAuthenticated, authenticate
from chalicelib.delivery.dane.records import TlsaRecord
from chalicelib.delivery.outcome import REPLY_LIMIT
from chalicelib.dkim import arc, dns_record, verification
from chalicelib.dkim.signed_message import SignedMessage
from chalicelib.domain_reports import dmarc_report, tls_report
from chalicelib.domain_reports.attachments import Unpacker
from chalicelib.domain_reports.model import DmarcRow, TlsRow, UnreadableReport
from chalicelib.events import cursors
from chalicelib.events.cursors import Cursor
from chalicelib.events.positions import EventWindow
from chalicelib.inbound import addresses, mime, report
from chalicelib.inbound.ses_notifications.model import MalformedNotification
from chalicelib.inbound.ses_notifications.model import read as read_notification
from chalicelib.mail_format import armor, auto_reply, encoded_words, mime_tree, rfc822
from chalicelib.mail_format.address_list import (
    mailboxes_field,
    read_addresses,
    read_mailboxes,
)
from chalicelib.mail_format.files import Attachment, MimeError
from chalicelib.mail_format.header_section import MessageError
from chalicelib.mail_format.headers import HeaderError, encode_header
from chalicelib.mail_format.seven_bit import seven_bit
from chalicelib.mail_format.transfer_encoding import is_seven_bit, lines_fit
from chalicelib.mail_verdicts.author import NoAuthor, author_domain
from chalicelib.metrics import query_filters
from chalicelib.received_mail import parsing, reply_text
from chalicelib.sender_requirements import dmarc
from chalicelib.spf import evaluation
from chalicelib.template_language import HTML, Budget, TemplateError
from chalicelib.template_language.compiled import compile_uncached
from chalicelib.tracking import markup, tokens
from chalicelib.tracking.locations import location
from chalicelib.tracking.model import CLICK, Link, Message
from chalicelib.tracking.tokens import BadToken, LinkPart, MessageTokens
from infrastructure.local.dns import record_syntax
from infrastructure.local.mailpit.sending import BadMessage, build
from infrastructure.local.messages.html_uses import TESTED, HtmlUses
from infrastructure.local.messages.link_check import MOST_LINKS, web_links
from infrastructure.local.messages.parts import StoredMessage
from infrastructure.local.messages.thumbnails import thumbnail
from relay import api_header, command_arguments, login
from relay.errors import SmtpRefusal
from relay.input_buffer import InputBuffer
from relay.message_content import MessageContent
from relay.message_data import MessageData
from tests.unit.delivery.dane.test_authentication import HOST as _CERTIFICATE
from tests.unit.dkim.signed_mail import RECORD, sealed, sign
from tests.unit.domain_reports.samples import dmarc_xml, failure, tls_json, tls_policy
from tests.unit.inbound.samples import AUTOMATIC, COPY, DELAYS, PEOPLE, STANDARD, TEXTS
from tests.unit.inbound.ses_notifications import records
from tests.unit.spf.suite import ZoneLookups

SPF_RESULTS = ("none", "neutral", "pass", "fail", "softfail", "temperror", "permerror")

Check = Callable[[bytes], None]

_NOTIFICATIONS = tuple(make().encode() for make in records.ALL)


@dataclass(frozen=True, slots=True)
class Target:
    """A parser: ``check`` is called with inputs made of ``seeds`` and ``words``."""

    name: str
    check: Check
    seeds: tuple[bytes, ...]
    words: tuple[bytes, ...] = field(default=())


def _text(data: bytes) -> str:
    # Halves of surrogate pairs do not reach these parsers: JSON with them is refused
    return data.decode("utf-8", "replace")


def ses_notifications(data: bytes) -> None:
    """A notification is read or refused, and its texts can be stored."""
    with contextlib.suppress(MalformedNotification):
        notification = read_notification(_text(data))
        assert len(notification.reply) <= REPLY_LIMIT
        notification.reply.encode()
        for status in notification.statuses:
            report.of_status(status)
            "".join((*status.recipients, status.status, status.diagnostic)).encode()


def smtp_lines(data: bytes) -> None:
    """Commands are the same however the network divides them."""
    step = 1 + len(data) % 7
    lines = [_lines(data[i : i + step] for i in range(0, len(data), step)), _lines([data])]
    assert lines[0] == lines[1]


def _lines(chunks: object) -> list[object]:
    buffer, lines = InputBuffer(), []
    for chunk in chunks:  # type: ignore[attr-defined]
        buffer.feed(chunk)
    while len(buffer):
        try:
            line = buffer.line(512)
        except SmtpRefusal as refusal:
            lines.append(refusal.reply)
            if refusal.reply.code == 421:
                break
            continue
        if line is None:
            break
        lines.append(line)
    return lines


def smtp_commands(data: bytes) -> None:
    """Arguments of MAIL, RCPT and AUTH are read or refused with a reply."""
    argument = data.decode("utf-8", "surrogateescape")
    for parse in (
        command_arguments.parse_mail,
        lambda text: command_arguments.parse_recipient(text, smtp_utf8=True),
        lambda text: command_arguments.parse_recipient(text, smtp_utf8=False),
        lambda text: login.login_of_plain(login.decode_response(text)),
        lambda text: login.login_of(text.encode("utf-8", "surrogateescape"), b"key"),
    ):
        try:
            parse(argument)
        except SmtpRefusal:
            continue


def smtp_data(data: bytes) -> None:
    """A message and what follows it are the same however the network divides them."""
    step = 1 + len(data) % 5
    assert _data(data, step) == _data(data, len(data) + 1)


def _data(data: bytes, step: int) -> object:
    message = MessageData(MessageContent(10_000, 1000))
    for start in range(0, len(data), step):
        rest = message.feed(data[start : start + step])
        if rest is not None:
            try:
                content: object = message.content.message()
            except SmtpRefusal:
                # Of several reasons, which one is told depends on the order of octets that came
                content = "refused"
            return content, rest + data[start + step :]
    return None


def smtp_api_header(data: bytes) -> None:
    """The API header is taken out of a message, or the message is refused."""
    try:
        _, message = api_header.take_api_header(data)
    except SmtpRefusal:
        return
    assert len(message) <= len(data)


def mail(data: bytes) -> None:
    """Mail that comes back is read whatever it holds."""
    message = mime.read(data)
    report.is_report(message)
    report.read(message, "ann@inbox.test", "550 5.1.1 user unknown", "ann@inbox.test")
    report.read(message, "ann@inbox.test")
    report.read_feedback(message)
    auto_reply.is_of_responder(message.fields, message.fields.words("subject"))
    auto_reply.is_automatic(message.fields)
    addresses.message_named_in(message.fields.values())


def received_messages(data: bytes) -> None:
    """A received message is read whatever it holds; its parts have the sizes that it says."""
    parsed = parsing.read(data)
    for attachment in parsed.attachments:
        assert attachment.size == sum(map(len, parsing.content_of(data, attachment)))
        assert not {"/", "\\", "\n"} & set(attachment.name)
    reply_text.of(parsed)


def domain_reports(data: bytes) -> None:
    """Reports about domains are unpacked and read, or refused; their figures are sums of rows."""
    contents = Unpacker().contents(data)
    for content, read in product(contents, (dmarc_report.read, tls_report.read)):
        with contextlib.suppress(UnreadableReport):
            assert all(rows > 0 for rows in map(_count, read(content).rows))


def _count(row: DmarcRow | TlsRow) -> int:
    return row.messages if isinstance(row, DmarcRow) else row.sessions


def certificates(data: bytes) -> None:
    """A host whose certificates are made up is not authenticated."""
    records = [TlsaRecord(usage, 1, 1, bytes(32)) for usage in (2, 3)]
    half = len(data) // 2
    for chain in ([data], [data[:half], data[half:]]):
        try:
            authenticate(chain, records, ["mx.a.test"])
        except NotAuthenticated:
            continue
        raise AssertionError("a host without the key was authenticated")


def prebuilt(data: bytes) -> None:
    """A pre-built message is a tree of parts within it, or refused; line ends settle at once."""
    message = rfc822.normalise(data)
    assert rfc822.normalise(message) == message
    try:
        rfc822.check(message)
        fields, body = rfc822.split(message)
    except MessageError:
        return
    if b"\r\n\r\n" in message and fields:
        assert rfc822.join(fields, body) == message
    for part in mime_tree.parse_tree(message):
        assert 0 <= part.start <= part.body_start <= part.end <= len(message)


def outgoing(data: bytes) -> None:
    """A message has no long line and no NUL as it leaves, or is refused; it settles at once."""
    message = rfc822.normalise(data)
    for describes in (True, False):
        try:
            new = seven_bit(message, mime_tree.readable_tree(message), describes=describes)
        except MessageError:
            continue
        assert lines_fit(new)
        assert b"\0" not in new
        assert seven_bit(new, mime_tree.readable_tree(new), describes=describes) == new
    file = Attachment("a.eml", "message/rfc822", b64encode(data).decode())
    with contextlib.suppress(MimeError):
        assert is_seven_bit(b"".join(file.encoded))


def header_values(data: bytes) -> None:
    """Encoded words, address lists and mailboxes are read whatever they hold."""
    text = _text(data)
    encoded_words.readable(text)
    with contextlib.suppress(ValueError):
        encoded_words.decode_words(text)
    for address in read_addresses([" ".join(text.split())]):
        assert "\n" not in address.email
    if mailbox := read_mailbox(text):
        in_a_labels(mailbox.email)
    if mailboxes := read_mailboxes(text):
        assert mailboxes_field("To", mailboxes).count(b"\r\nTo:") == 0
    for name in ("Subject", "List-Unsubscribe"):
        with contextlib.suppress(HeaderError):
            assert is_seven_bit(encode_header(name, text))


def template(data: bytes) -> None:
    """A template renders within its budget, or has an error at one of its lines."""
    source = data.decode("utf-8", "replace")
    budget = Budget(steps=20_000, characters=100_000, seconds=2)
    values = {"a": "x", "l": [1, 2], "o": {"b": None}}
    try:
        compiled = compile_uncached(source, HTML)
        compiled.render(values, snippets=lambda name: None, dynamic={}, budget=budget)
    except TemplateError as error:
        assert 1 <= error.line <= source.count("\n") + 1


def web_addresses(data: bytes) -> None:
    """An address that is read has a host and a target that need no more escapes."""
    text = _text(data)
    try:
        address = web_address.read(text)
    except web_address.BadUrl:
        return
    try:
        again = web_address.read(f"{address.scheme}://{address.authority}{address.target}")
    except web_address.BadUrl as error:
        assert "more than" in str(error)  # its escapes have made it longer
        return
    assert (again.scheme, again.host, again.port) == (address.scheme, address.host, address.port)
    assert not {" ", "\r", "\n"} & set(address.host + address.target)


def style_sheets(data: bytes) -> None:
    """Read html with style sheets, and write it with every rule inlined everywhere."""
    text = _text(data)
    document = Document(text)
    assert document.rewritten({}, {}) == text
    document.numbered("data-n")
    for element in document.inlinable()[:3]:
        css = text[element.content_start : element.content_end]
        sheet = StyleSheet(css)
        assert "".join(rule.text for rule in sheet.rules) == css
        blocks = [
            DeclarationBlock((0, 0, 0), n, rule.declarations) for n, rule in enumerate(sheet.rules)
        ]
        for number in range(min(3, len(document.tags))):
            style = merged(blocks, document.style_of(number), important_families(css))
            assert '"' not in style
            document.rewritten({number: style}, {element: sheet.rest([(0, 0)])})


_OF_URIS = frozenset(string.ascii_letters + string.digits + "-._~:/?#[]@!$&'()*+,;=%")


def link_markup(data: bytes) -> None:
    """Tags are found in order; a redirect's target has only the characters of URIs."""
    text = data.decode("utf-8", "replace")
    end = 0
    with contextlib.suppress(markup.Unfinished):
        for tag in markup.tags(text):
            assert end <= tag.start < tag.end <= len(text)
            end = tag.end
            list(markup.attributes(text[tag.start : tag.end]))
    assert not set(location(text)) - _OF_URIS


def plain_text(data: bytes) -> None:
    """URLs and armored blocks are found in order; each URL begins with its protocol."""
    text = _text(data)
    end = 0
    for url in text_urls.urls(text):
        assert end <= url.start < url.end <= url.limit
        assert re.match("https?://", text[url.start : url.end], re.IGNORECASE)
        end = url.end
    end = 0
    for block in armor.blocks(text):
        assert end <= block.start < block.end
        end = block.end


def tracking_tokens(data: bytes) -> None:
    """Only the tokens that this service made are genuine."""
    for kind in (CLICK, "t/o", "f/ios"):
        try:
            _, link = tokens.read(kind, _text(data))
        except BadToken:
            continue
        assert data == _TOKEN
        assert kind == CLICK
        assert link == _LINK


def signed_tokens(data: bytes) -> None:
    """Only what this service signed is read."""
    try:
        value = signing.from_token(_text(data), "fuzz")
    except signing.BadSignature:
        return
    assert signing.to_token(value, "fuzz").encode() == data


def event_cursors(data: bytes) -> None:
    """A cursor is one of this service, or refused with 400."""
    try:
        cursors.decode(_text(data), "binding")
    except ApiError as error:
        assert error.status == 400
        return
    assert data == _CURSOR


def json_bodies(data: bytes) -> None:
    """JSON is read as the standard library reads it, or refused."""
    try:
        value = strict_json.loads(data)
    except ApiError as error:
        assert error.status in (400, 422)
        return
    assert strict_json.loads(json.dumps(value).encode()) == value


def metrics_filters(data: bytes) -> None:
    """Filters of metrics are read, or refused with 400."""
    try:
        query_filters.parse(_text(data))
    except (ApiError, ApiErrors) as error:
        assert error.status == 400


def dns_answers(data: bytes) -> None:
    """Any answer of a name server gives records or ``LookupFailed``."""

    def answer(query: dns.message.Message, *arguments: object, **options: object) -> object:
        wire = query.id.to_bytes(2, "big") + data[2:]
        response = dns.message.from_wire(wire)
        if not query.is_response(response):
            raise dns.query.BadResponse
        return response

    with patch("dns.query.udp", answer), patch("dns.query.tcp", answer):
        for look_up in (service_dns.texts, service_dns.mail_hosts, service_dns.addresses):
            try:
                list(look_up("a.test"))
            except service_dns.LookupFailed:
                continue


def dns_texts(data: bytes) -> None:
    """A DKIM record that strangers publish is judged with a reason."""
    try:
        dns_record.matching_record([_text(data)], _PUBLIC)
    except dns_record.BadRecord as error:
        assert str(error)


def dmarc_records(data: bytes) -> None:
    """A DMARC record that strangers publish states a known policy, or is refused with a reason."""
    try:
        record = dmarc.read_record("a.test", _text(data))
    except dmarc.BadPolicy as error:
        assert str(error)
    else:
        assert record.policy_for("b.a.test") in dmarc.POLICIES


def dns_records(data: bytes) -> None:
    """Records for the local DNS are read, or refused."""
    try:
        record_syntax.read_name(_text(data))
        record_syntax.read_records({"records": [{"type": "MX", "value": _text(data)}]})
    except record_syntax.BadRecord:
        return


def html_uses(data: bytes) -> None:
    """Features are counted, and only those that are tested."""
    html = _text(data)
    uses = HtmlUses(html, html)
    assert set(uses.counts) <= TESTED
    assert min(uses.counts.values(), default=1) > 0
    assert uses.nodes >= 0


def links_to_check(data: bytes) -> None:
    """The links of any message are texts without line breaks, and not too many."""
    links = web_links(StoredMessage(data))
    assert len(links) <= MOST_LINKS
    assert len(set(links)) == len(links)


def thumbnails(data: bytes) -> None:
    """Any image gives a JPEG."""
    assert thumbnail("image/png", data).startswith(b"\xff\xd8\xff")


def mailpit_send(data: bytes) -> None:
    """Any JSON is a message that can be read, or is refused."""
    try:
        document = json.loads(data)
        message = build(document)
    except (ValueError, RecursionError, BadMessage):
        return
    assert message.recipients
    assert b"\r\n\r\n" in message.content


def _wire(kind: str, *values: str) -> bytes:
    query = dns.message.make_query("a.test", kind)
    response = dns.message.make_response(query)
    response.answer = [dns.rrset.from_text("a.test.", 60, "IN", kind, *values)]
    return response.to_wire()


_IMAGES = (
    b"GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00!\xf9\x04\x01\x00\x00\x00\x00,"
    b"\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;",
    b64decode(
        b"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5Erk"
        b"Jggg=="
    ),
)
_SENDS = (
    b'{"From":{"Email":"a@a.test","Name":"A"},"To":[{"Email":"b@b.test"}],"Subject":"S","HTML":"<p>",'
    b'"Attachments":[{"Filename":"a.png","Content":"AAAA","ContentID":"c"}],"Headers":{"X-A":"1"}}',
)
_LINK = Link("https://a.example/b?c=1", "Name")
_PUBLIC = "MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCB"
_TOKEN = (
    MessageTokens(
        Message(1, None, ids.message_id("191930000000000001", 3), 0, "ann@inbox.test", 60_000)
    )
    .token_of(LinkPart(_LINK))
    .encode()
)
_CURSOR = cursors.encode(Cursor(EventWindow(1, 2), "before", 3), "binding").encode()

_COMPLAINT = (
    "From: <fbl@isp.test>\r\nTo: <fbl@bounce.test>\r\nMIME-Version: 1.0\r\n"
    "Content-Type: multipart/report; report-type=feedback-report; boundary=b\r\n\r\n"
    "--b\r\nContent-Type: text/plain\r\n\r\nA complaint.\r\n"
    "--b\r\nContent-Type: message/feedback-report\r\n\r\n"
    "Feedback-Type: abuse\r\nUser-Agent: fbl/1\r\nVersion: 1\r\n"
    "Original-Rcpt-To: <ann@inbox.test>\r\n"
    f"--b\r\nContent-Type: message/rfc822\r\n\r\n{COPY}\r\n--b--\r\n"
).encode()
_MAIL = (
    *(each.message.encode() for each in (*STANDARD, *TEXTS)),
    *(text.encode() for text in (*DELAYS, *AUTOMATIC, *PEOPLE) if isinstance(text, str) and text),
    _COMPLAINT,
    COPY.encode(),
)
_MULTIPART = (
    b"From: a@b.test\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\nMIME-Version: 1.0\r\n"
    b"Content-Type: multipart/alternative; boundary=\"b\"; charset*0*=utf-8''a%20b\r\n\r\n"
    b"--b\r\nContent-Type: text/plain\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n"
    b"a=3D=\r\nb\r\n--b\r\nContent-Type: multipart/related; boundary=c\r\n\r\n--c\r\n"
    b"Content-Type: text/html\r\nContent-Transfer-Encoding: base64\r\n\r\nPGI+eDwvYj4=\r\n"
    b"--c--\r\n--b--\r\n"
)
_MIME_WORDS = (b"--b", b"--b--", b"Content-Type: ", b"multipart/mixed; boundary=b", b"boundary*0=")
_UNFIT = (
    "From: J\u00f6rg <a@b.test>\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n\u00fc\r\n"
    "--b\r\nContent-Type: message/rfc822\r\n\r\nSubject: \u00fc\r\n"
    "Content-Type: text/html\r\n\r\n\u00fc\0\r\n"
    "--b\r\nContent-Type: image/png; name=\u00fc.png\r\n\r\n\u00fc\0\r\n--b--\r\n\u00fc"
).encode()
_UNFIT_WORDS = (
    *(b"\xc3\xbc", b"\xff", b"\0", b"word " * 250, b"x" * 1000, b"=00", b"--b", b"--b--"),
    *(b"Content-Type: ", b"message/rfc822", b"multipart/signed; boundary=b", b"text/plain"),
    *(b"Content-Transfer-Encoding: base64", b"-----BEGIN PGP SIGNED MESSAGE-----", b"References: "),
)
_HEADERS = (
    b'Ann <ann@a.test>, "B, C" <b@c.test>, Group: x@y.test, <z@y.test>;',
    b"=?utf-8?B?R3LDvMOfZQ==?= =?iso-8859-1?q?=E4?= <a@xn--bcher-kva.example>",
    "J\u00fcrgen <j\u00fcrgen@b\u00fccher.example>".encode(),
    b'(a (nested) comment) <@a,@b:c@d.test> "quoted\\"pair"@[192.0.2.1]',
)
_TEMPLATES = (
    b"Hi {{name or 'you'}}, {{if a > 1 and b.c[1] == 'x' then}}{{each l}}{{loop_var}}{{end}}"
    b"{{elseif empty(o)}}y{{else}}{{{raw}}}{{end}}",
    b'<a href="{{url}}?q={{q}}">{{render_snippet("a")}}</a>{{opening_double_curly()}}',
    b'<template type="amp-mustache">{{#a}}{{b}}{{/a}}</template>{{render_dynamic_content(d.x)}}',
)
_TEMPLATE_WORDS = (b"{{", b"}}", b"{{{", b"{{each l}}", b"{{end}}", b"{{if a}}", b"{{else}}")
_PLAIN_TEXTS = (
    b"See **https://a.test/?u=https://b.test/(c)**, [d](https://e.test/f_) &lt;http://g&gt;\n",
    b"-----BEGIN PGP SIGNED MESSAGE-----\n\nx\n-----BEGIN PGP SIGNATURE-----\n\n"
    b"-----END PGP SIGNATURE-----\n",
)
_URLS = (
    b"https://user@a.example:8080/p%20a/?q=1&r=%26#f",
    b"http://[2001:db8::1%25eth0]:80/;x?y",
    "https://b\u00fccher.example/gr\u00f6\u00dfe?\u00df".encode(),
    b"http://127.1/\\evil.example@x",
)
_STYLED = (
    b"<style>p, a:hover { color: red !important; background: url(a;b) } @media x { p { a: b } }"
    b"</style><p class=x style='font: \"a\"; b: c'>x<br/><!--[if mso]><style>i{a:b}</style>-->",
    b"<STYLE media=screen><!-- .x\\:y > [a=','] { --b: 'c;}' } --></STYLE><A HREF=x/>",
)
_MARKUP = (
    b'<html><body><!-- c --><a href="https://a.test/?x=1&amp;y" data-x=1>t</a><img src=x></body>',
    b"<style><a href=x></style><script>'<a'</script><textarea></a></textarea><area HREF='u'/>",
)
_JSON = (
    b'{"recipients": [{"address": {"email": "a@b.test"}, "metadata": {"n": [1, -2.5e3, null]}}]}',
    b'[{"a": "\\ud83d\\ude00\\u0000", "b": 2147483647, "c": true}, "", 0.1]',
)
_FILTERS = (
    b'{"groupings": [{"AND": {"campaigns": {"eq": ["a"], "notLike": ["abc"]}}}, {"OR": '
    b'{"domains": {"like": ["a.test"]}}}]}',
)
_REPORTS = (
    dmarc_xml(),
    tls_json(tls_policy(2, failure())),
    gzip.compress(dmarc_xml(), mtime=0),
    dmarc_xml().decode().encode("utf-16"),
    dmarc_xml().replace(b"Inc.", b"& Sons"),
)

_SIGNED = sign()
_SEALED = sealed(2)


def signatures(content: bytes) -> None:
    """Signatures and chains of a message are judged, and one that passes has a domain."""
    message = SignedMessage(content)
    for signature in verification.signatures_of(message, lambda _: [RECORD]):
        assert bool(signature.problem) == (signature.result != "pass")
        assert signature.domain or signature.problem
    state = arc.chain_of(message, lambda _: [RECORD])
    assert state.result in ("none", "pass", "fail")
    with contextlib.suppress(NoAuthor):
        assert author_domain(message).isascii()


def spf_records(content: bytes) -> None:
    """Any SPF record has a result."""
    zone = {"a.test": [{"TXT": "v=spf1 " + content.decode("utf-8", "replace")}]}
    sender = evaluation.Sender("192.0.2.1", "helo.test", "user@a.test")
    assert evaluation.check(sender, ZoneLookups(zone)).result in SPF_RESULTS


TARGETS = (
    Target("smtp-lines", smtp_lines, (b"EHLO a.test\r\nMAIL FROM:<a@b.test>\r\nQUIT\r\n",)),
    Target(
        "smtp-commands",
        smtp_commands,
        (
            b"FROM:<a@b.test> SIZE=100 BODY=8BITMIME SMTPUTF8",
            b'TO:<"a b"@[192.0.2.1]> NOTIFY=NEVER',
            b"TO:<@a,@b:c@d.test>",
            b"AFNNVFBfSW5qZWN0aW9uAGtleQ==",
            b"SMTP_Injection:X-SVC-SUBACCOUNT=7",
        ),
        (b"FROM:", b"TO:", b"SIZE=", b"AUTH=<>", b"X-MSYS-SUBACCOUNT="),
    ),
    Target("smtp-data", smtp_data, (b"A: b\r\n\r\n..c\r\n.\r\nQUIT\r\n", *_MAIL[:3])),
    Target(
        "smtp-api-header",
        smtp_api_header,
        (b'X-SVC-API: {"campaign_id": "a",\r\n "options": {"open_tracking": true}}\r\n\r\nb',),
        (b"X-SVC-API: {", b"X-MSYS-API:"),
    ),
    Target("mail", mail, _MAIL, (*_MIME_WORDS, b"Final-Recipient: rfc822;", b"Status: 5.1.1")),
    Target(
        "received-messages",
        received_messages,
        (*_MAIL, _MULTIPART),
        (*_MIME_WORDS, b"filename*0*=", b"On a@b.test wrote:"),
    ),
    Target(
        "ses-notifications", ses_notifications, _NOTIFICATIONS, (b'"mail":', b"null", b"\\ud800")
    ),
    Target("domain-reports", domain_reports, _REPORTS, (b"<record>", b"<count>", b'"policies":')),
    Target(
        "signatures", signatures, (_SIGNED, _SEALED), (b"b=", b"; h=", b"cv=", b"\r\n ", b"i=2;")
    ),
    Target(
        "spf-records",
        spf_records,
        (
            b"ip4:192.0.2.0/24 include:a.test -all",
            b"exists:%{ir}.%{l1r+-}._spf.%{d} redirect=b.test",
        ),
        (b"%{", b"exp=", b"mx/24//64", b" ?", b"a:"),
    ),
    Target("certificates", certificates, (_CERTIFICATE,), (b"\x30\x82", b"\x06\x03\x55\x1d")),
    Target("prebuilt", prebuilt, (_MULTIPART, _COMPLAINT, COPY.encode()), _MIME_WORDS),
    Target("outgoing", outgoing, (_MULTIPART, _COMPLAINT, _UNFIT, COPY.encode()), _UNFIT_WORDS),
    Target("header-values", header_values, _HEADERS, (b"=?utf-8?q?", b"<@", b"<>", b"group:")),
    Target("template", template, _TEMPLATES, _TEMPLATE_WORDS),
    Target("web-addresses", web_addresses, _URLS, (b"http://", b"//", b"@", b"[", b"%2e")),
    Target(
        "style-sheets", style_sheets, _STYLED, (b"{", b"}", b"/*", b"'", b"url(", b"!important")
    ),
    Target("link-markup", link_markup, (*_MARKUP, *_URLS), (b"<a ", b"href=", b"<!--", b"</")),
    Target("html-uses", html_uses, (*_MARKUP, *_STYLED), (b"<style>", b"style='", b"<table><tr>")),
    Target(
        "links-to-check", links_to_check, _MAIL, (*_MIME_WORDS, b"https://a.test/", b"<a href=")
    ),
    Target("thumbnails", thumbnails, _IMAGES, (b"IHDR", b"IDAT", b"\x00\x00\x00\x01")),
    Target("mailpit-send", mailpit_send, _SENDS, (b'"Email":', b'"Attachments":', b"null", b"[{")),
    Target("plain-text", plain_text, _PLAIN_TEXTS, (b"https://", b"**", b"](", b"&gt;", b"'")),
    Target("tracking-tokens", tracking_tokens, (_TOKEN,), (b"..", b"=")),
    Target("signed-tokens", signed_tokens, (signing.to_token([1, "a"], "fuzz").encode(),)),
    Target("event-cursors", event_cursors, (_CURSOR, b"initial")),
    Target("json-bodies", json_bodies, _JSON, (b'{"a":', b"NaN", b"\\ud800", b"[" * 500)),
    Target("metrics-filters", metrics_filters, _FILTERS, (b'"OR":', b'"eq":', b"[" * 500)),
    Target(
        "dns-answers",
        dns_answers,
        (
            _wire("TXT", '"v=spf1 -all"', '"a" "b"'),
            _wire("MX", "10 b.test."),
            _wire("A", "192.0.2.1"),
        ),
        (b"\xc0\x0c", b"\xc0\x00", b"\x3f" * 64),
    ),
    Target("dns-texts", dns_texts, (b"v=DKIM1; k=rsa; h=sha256; p=MIGfMA0GCSqGSIb3DQEB",)),
    Target("dmarc-records", dmarc_records, (b"v=DMARC1; p=none; sp=reject; rua=mailto:d@a.test",)),
    Target("dns-records", dns_records, (b"10 mail.a.test", b"a.test.", b"_x._domainkey.a.test")),
)
