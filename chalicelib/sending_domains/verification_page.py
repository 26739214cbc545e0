"""Serve the page behind the link in a verification mail.

Mail filters open links, so opening the page changes nothing: only its button verifies (spec 3).
"""

from __future__ import annotations

from html import escape

from chalicelib.core.reply import Reply, raw
from chalicelib.sending_domains import mailboxes, store

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; "
        "frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Robots-Tag": "noindex",
}


def offer(token: str) -> Reply:
    """Show the page with the button that verifies the domain."""
    mailbox = mailboxes.read_token(token)
    domain = store.get(mailbox.domain) if mailbox else None
    if mailbox is None or domain is None or not mailboxes.is_current(domain, mailbox.kind, token):
        return _bad_link()
    address = escape(mailboxes.mailbox_address(domain, mailbox.kind))
    name = escape(domain.domain)
    return _page(
        200,
        f"Verify {name}",
        f"<p>This link was sent to <b>{address}</b>. Do you allow email from <b>{name}</b>?</p>"
        '<form method="post"><button type="submit">Verify this domain</button></form>',
    )


def confirm(token: str) -> Reply:
    """Verify the domain that the token names."""
    mailbox = mailboxes.read_token(token)
    if mailbox is None or not mailboxes.redeem(mailbox.domain, mailbox.kind, token):
        return _bad_link()
    name = escape(mailbox.domain)
    return _page(200, f"{name} is verified", "<p>You can close this page.</p>")


def _bad_link() -> Reply:
    return _page(
        410,
        "This link does not work",
        "<p>It was used before, it has expired, or a newer verification email replaced it. "
        "Request a new verification email.</p>",
    )


def _page(status: int, title: str, content: str) -> Reply:
    html = (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{title}</title>"
        "<style>body{font:1.1em/1.5 system-ui,sans-serif;max-width:32em;margin:4em auto;"
        "padding:0 1em}button{font:inherit;padding:.4em 1em}</style>"
        f"<h1>{title}</h1>{content}</html>"
    )
    return raw(html.encode(), "text/html; charset=utf-8", status=status, headers=_HEADERS)
