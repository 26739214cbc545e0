"""The page behind the link in a verification mail.

Opening it changes nothing, because mail filters open links: its button does (spec 3).
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
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Robots-Tag": "noindex",
}


def offer(token: str) -> Reply:
    """Show what the button would verify."""
    named = mailboxes.read_token(token)
    domain = store.get(named.domain) if named else None
    if named is None or domain is None or not mailboxes.is_current(domain, named.kind, token):
        return _useless()
    mailbox = escape(mailboxes.mailbox_address(domain, named.kind))
    name = escape(domain.domain)
    return _page(
        200,
        f"Verify {name}",
        f"<p>You read the mail of <b>{mailbox}</b>. Allow mail to be sent from <b>{name}</b>?</p>"
        '<form method="post"><button type="submit">Verify this domain</button></form>',
    )


def confirm(token: str) -> Reply:
    """Verify the domain that the token names."""
    named = mailboxes.read_token(token)
    if named is None or not mailboxes.redeem(named.domain, named.kind, token):
        return _useless()
    name = escape(named.domain)
    return _page(200, f"{name} is verified", "<p>You can close this page.</p>")


def _useless() -> Reply:
    return _page(
        410,
        "This link does not work",
        "<p>It was used already, is too old, or a later mail has replaced it. "
        "Ask for a new verification mail.</p>",
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
