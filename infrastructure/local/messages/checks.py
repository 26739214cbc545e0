"""Check a message as a mailbox provider or a careful sender would."""

from __future__ import annotations

import re
from typing import NamedTuple

from chalicelib.core import dns, domain_names
from chalicelib.core.dns import TextLookup
from chalicelib.dkim import verification
from chalicelib.dkim.verification import Signature
from infrastructure.local.mailbox.header_fields import first_address
from infrastructure.local.messages.html import Html
from infrastructure.local.messages.links import is_pixel
from infrastructure.local.messages.parts import HTML, TEXT, StoredMessage
from infrastructure.local.sink.mail_client import ONE_CLICK

PASS, WARN, FAIL, NONE = "pass", "warn", "fail", "none"

#: Gmail shows no more of the HTML than this, and hides the rest behind a link
CLIP_BYTES = 102 * 1024


class Check(NamedTuple):
    """The result of one check. ``status`` is pass, warn, fail, or none if it does not apply."""

    check: str
    status: str
    summary: str
    details: list[str]


def checks_of(message: StoredMessage, texts: TextLookup = dns.texts) -> list[Check]:
    """Return the results of all checks; DNS records are looked up with ``texts``."""
    signatures = signatures_of(message, texts)
    html = message.body(HTML)
    return [
        _dkim(signatures),
        _alignment(message, signatures),
        _list_unsubscribe(message, signatures),
        _size(html),
        _text_part(message, html),
        _image_alt(html),
    ]


def signatures_of(message: StoredMessage, texts: TextLookup) -> list[Signature]:
    """Return the first DKIM signatures of a message, each verified (RFC 6376 6)."""
    return list(verification.signatures_of(message.content, texts))


def _dkim(signatures: list[Signature]) -> Check:
    details = [f"{_key_name(each)}: {each.problem or 'valid'}" for each in signatures]
    invalid_count = sum(bool(each.problem) for each in signatures)
    if not signatures:
        return Check("dkim", WARN, "The message has no DKIM signature.", details)
    if invalid_count:
        return Check("dkim", FAIL, f"{invalid_count} DKIM signatures are not valid.", details)
    return Check("dkim", PASS, "Every DKIM signature is valid by the local DNS.", details)


def _key_name(signature: Signature) -> str:
    if not signature.domain:
        return "a signature that cannot be read"
    return f"{signature.selector}._domainkey.{signature.domain}"


def _alignment(message: StoredMessage, signatures: list[Signature]) -> Check:
    author = _organization(first_address(message.header("From")).rpartition("@")[2])
    signed = sorted({each.domain for each in signatures if not each.problem})
    envelope = message.sender.rpartition("@")[2]
    by_dkim = any(_organization(domain) == author for domain in signed)
    by_spf = bool(author) and _organization(envelope) == author
    details = [
        f"From: {author}",
        f"DKIM: {', '.join(signed) or 'none'} ({'aligned' if by_dkim else 'not aligned'})",
        f"envelope sender: {envelope or 'none'} ({'aligned' if by_spf else 'not aligned'})",
    ]
    if author and (by_dkim or by_spf):
        return Check("alignment", PASS, "From is aligned as DMARC wants it.", details)
    return Check("alignment", FAIL, "DMARC fails: neither DKIM nor SPF has From's domain.", details)


def _list_unsubscribe(message: StoredMessage, signatures: list[Signature]) -> Check:
    check = "list_unsubscribe"
    header = message.header("List-Unsubscribe")
    if not header:
        summary = "There is no List-Unsubscribe, which all but transactional mail needs."
        return Check(check, WARN, summary, [])
    has_url = re.search(r"<\s*https?://", header, re.IGNORECASE)
    if not has_url or message.header("List-Unsubscribe-Post").lower() != ONE_CLICK.lower():
        return Check(check, WARN, "List-Unsubscribe offers no one-click (RFC 8058).", [header])
    names = {"list-unsubscribe", "list-unsubscribe-post"}
    if not any(names <= each.fields for each in signatures if not each.problem):
        return Check(check, FAIL, "No valid DKIM signature covers both headers.", [header])
    return Check(check, PASS, "One-click unsubscription is offered and signed.", [header])


def _size(html: str | None) -> Check:
    size = len((html or "").encode())
    details = [f"{size} bytes of {CLIP_BYTES}"]
    if html is None:
        return Check("size", NONE, "There is no HTML.", [])
    if size > CLIP_BYTES:
        return Check("size", FAIL, "Gmail clips the message: its HTML is over 102 KB.", details)
    if size > CLIP_BYTES * 9 // 10:
        return Check("size", WARN, "The HTML is almost as large as Gmail shows.", details)
    return Check("size", PASS, "The HTML is small enough for Gmail.", details)


def _text_part(message: StoredMessage, html: str | None) -> Check:
    text = message.body(TEXT)
    if text and not text.isspace():
        return Check("text_part", PASS, "There is a text part.", [])
    if html is None:
        return Check("text_part", FAIL, "The message has neither text nor HTML.", [])
    return Check("text_part", WARN, "There is no text part beside the HTML.", [])


def _image_alt(html: str | None) -> Check:
    images = [image for image in Html(html or "").images if not is_pixel(image.url)]
    lacking = [image.url[:200] for image in images if image.alt is None]
    if not images:
        return Check("image_alt", NONE, "There are no images.", [])
    if lacking:
        return Check("image_alt", WARN, f"{len(lacking)} images have no alt text.", lacking[:20])
    return Check("image_alt", PASS, "Every image has an alt text.", [])


def _organization(domain: str) -> str:
    """Return the organizational domain of a name (RFC 7489 3.2)."""
    try:
        name = domain_names.canonical(domain)
    except domain_names.BadName:
        return ""
    if domain_names.is_public_suffix(name):
        return ""
    return [name, *domain_names.parents(name)][-1]
