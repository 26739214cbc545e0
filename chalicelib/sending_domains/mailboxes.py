"""Verify a mailbox of a domain by a link that is mailed to it (spec 3, 4.4).

The link holds a signed token that names the domain and the mailbox. A token works once, until it
expires or a newer one is mailed to the same mailbox: the domain record holds the SHA-256 of the
last token only.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import replace
from typing import Final, NamedTuple

from chalicelib.core import clock, signing, system_mailer
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


class VerificationMailbox(NamedTuple):
    """The mailbox that a token verifies: one of :data:`KINDS` at a domain."""

    domain: str
    kind: str


def mailbox_address(domain: SendingDomain, kind: str) -> str:
    """Return the address of the mailbox of this kind that the last token was mailed to."""
    return f"{_LOCAL_PARTS.get(kind) or _nominated_local_part(domain)}@{domain.domain}"


def send_token(domain: str, kind: str, *, local_part: str = "") -> None:
    """Mail a new link; the last link to the same mailbox stops working.

    ``local_part`` is needed for the kind ``NOMINATED`` only. Raises 400 with code 1901 if the mail
    could not be sent.
    """
    token = signing.to_token([domain, kind, secrets.token_urlsafe(16)], _PURPOSE)
    expires = clock.now() + settings().mailbox_token_lifetime
    mailed_token = MailedToken(_digest(token), expires, local_part)

    def edit(before: SendingDomain) -> SendingDomain:
        status = before.status
        if kind == NOMINATED and status.verification_mailbox_status != VALID:
            status = replace(status, verification_mailbox=local_part)
        return replace(before, status=status, tokens={**before.tokens, kind: mailed_token})

    after = store.change(domain, edit)
    if after is not None:
        _mail(mailbox_address(after, kind), domain, token)


def read_token(token: str) -> VerificationMailbox | None:
    """Return the mailbox that the token verifies; ``None`` if the service did not sign it."""
    try:
        domain, kind, _ = signing.from_token(token, _PURPOSE)
    except signing.BadSignature:
        return None
    return VerificationMailbox(domain, kind)


def is_current(domain: SendingDomain, kind: str, token: str) -> bool:
    """Tell whether ``token`` is the last one mailed to the mailbox and has not expired."""
    last = domain.tokens.get(kind)
    return (
        last is not None
        and clock.now() < last.expires
        and hmac.compare_digest(last.digest, _digest(token))
    )


def redeem(domain: str, kind: str, token: str) -> bool:
    """Verify the mailbox and use up the token; return ``False`` if the token does not work."""
    works = False

    def edit(before: SendingDomain) -> SendingDomain:
        nonlocal works
        works = is_current(before, kind, token)
        if not works:
            return before
        tokens = {name: mailed for name, mailed in before.tokens.items() if name != kind}
        confirmation = {f"{kind}_status": VALID}
        if kind == NOMINATED:
            confirmation["verification_mailbox"] = _nominated_local_part(before)
        after = with_status(replace(before, tokens=tokens), **confirmation)
        return with_next_check(after, clock.now())

    store.change(domain, edit)
    return works


def _nominated_local_part(domain: SendingDomain) -> str:
    token = domain.tokens.get(NOMINATED)
    return (token.local_part if token else "") or domain.status.verification_mailbox


def _mail(to: str, domain: str, token: str) -> None:
    link = f"{settings().public_url.rstrip('/')}{PAGE_PATH}/{token}"
    text = _TEXT.format(domain=domain, link=link)
    system_mailer.send(
        to=to,
        subject=f"Verify the sending domain {domain}",
        text=text,
        failure="Failed to generate verification email",
    )


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


_TEXT = """\
Someone wants to send email from {domain}. They chose this mailbox to prove that the
domain belongs to them.

If this was you, open this page and confirm:

{link}

The link works only once. It stops working when a newer email like this one is sent to
this mailbox.

If this was not you, ignore this email. Then this mailbox does not verify {domain}.
"""
