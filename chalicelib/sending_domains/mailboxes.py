"""Mail to a mailbox of a domain, with a link that proves who reads it (spec 3, 4.4).

The link holds a token that names the domain and the mailbox, signed. It works once, until it
expires, and only while no later mail has gone to the same mailbox: the domain keeps the SHA-256 of
the last token.

Sending is the message path's, above this band: ``app.py`` says how (:func:`set_mailer`).
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import replace
from typing import Final, NamedTuple, Protocol

from chalicelib.core import clock, signing
from chalicelib.core.errors import ServiceError, verification_mail_failed
from chalicelib.core.settings import settings
from chalicelib.sending_domains import store
from chalicelib.sending_domains.model import VALID, MailedToken, SendingDomain, with_status
from chalicelib.sending_domains.schedule import with_next_check

PAGE_PATH: Final = "/verify-domain"
POSTMASTER: Final = "postmaster_at"
ABUSE: Final = "abuse_at"
NOMINATED: Final = "verification_mailbox"
KINDS: Final = (NOMINATED, POSTMASTER, ABUSE)

_LOCAL_PARTS = {POSTMASTER: "postmaster", ABUSE: "abuse"}
_PURPOSE = "mailbox verification"


class Mailer(Protocol):
    """What sends one plain text message from the service itself; raises ``ServiceError``."""

    def __call__(self, *, to: str, subject: str, text: str) -> None:
        """Send the message."""
        ...


class Mailbox(NamedTuple):
    """What a token names."""

    domain: str
    kind: str


_mailers: list[Mailer] = []


def set_mailer(mailer: Mailer) -> None:
    """Say what sends the mail of this process."""
    _mailers[:] = [mailer]


def mailbox_address(domain: SendingDomain, kind: str) -> str:
    """Return the address that mail of the kind goes to."""
    return f"{_LOCAL_PARTS.get(kind) or domain.status.verification_mailbox}@{domain.domain}"


def send_token(domain: str, kind: str, *, local_part: str = "") -> None:
    """Mail a new link; the last one to the same mailbox stops to work.

    ``local_part`` is that of a nominated mailbox. Raises 400 with code 1901 if the mail could not
    be sent.
    """
    token = signing.to_token([domain, kind, secrets.token_urlsafe(16)], _PURPOSE)
    kept = MailedToken(_digest(token), clock.now() + settings().mailbox_token_lifetime)

    def apply(found: SendingDomain) -> SendingDomain:
        status = found.status
        if kind == NOMINATED:
            status = replace(status, verification_mailbox=local_part)
        return replace(found, status=status, tokens={**found.tokens, kind: kept})

    changed = store.change(domain, apply)
    if changed is not None:
        _mail(mailbox_address(changed, kind), domain, token)


def read_token(token: str) -> Mailbox | None:
    """Return what a token of ours names, ``None`` for any other text."""
    try:
        domain, kind, _ = signing.from_token(token, _PURPOSE)
    except signing.BadSignature:
        return None
    return Mailbox(domain, kind)


def is_current(domain: SendingDomain, kind: str, token: str) -> bool:
    """Tell whether ``token`` is the last one mailed, and still works."""
    kept = domain.tokens.get(kind)
    return (
        kept is not None
        and clock.now() < kept.expires
        and hmac.compare_digest(kept.digest, _digest(token))
    )


def redeem(domain: str, kind: str, token: str) -> bool:
    """Note that the mailbox is verified, and use up the token; ``False`` if it does not work."""
    accepted = False

    def apply(found: SendingDomain) -> SendingDomain:
        nonlocal accepted
        accepted = is_current(found, kind, token)
        if not accepted:
            return found
        left = {other: kept for other, kept in found.tokens.items() if other != kind}
        proven = with_status(replace(found, tokens=left), **{f"{kind}_status": VALID})
        return with_next_check(proven, clock.now())

    store.change(domain, apply)
    return accepted


def _mail(to: str, domain: str, token: str) -> None:
    link = f"{settings().public_url.rstrip('/')}{PAGE_PATH}/{token}"
    text = _TEXT.format(domain=domain, link=link)
    try:
        _mailer()(to=to, subject=f"Verify the sending domain {domain}", text=text)
    except ServiceError as error:
        raise verification_mail_failed("Failed to generate verification email") from error


def _mailer() -> Mailer:
    if not _mailers:
        raise RuntimeError("no mailer was set: app.py calls set_mailer")
    return _mailers[0]


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


_TEXT = """\
Somebody asked to send mail from {domain} and named this mailbox to show that the
domain is theirs.

If that was you, open this page and confirm:

{link}

The link works once, and not after a later mail of this kind. If you know nothing of
this, do nothing: no mail will be sent from {domain} on this ground.
"""
