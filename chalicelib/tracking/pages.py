"""Build the pages that a recipient sees: small, without scripts, and never in a frame."""

from __future__ import annotations

from html import escape
from typing import Final

from chalicelib.core.http import Reply, raw

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>{title}</title>
<style>
body {{ font: 17px/1.5 system-ui, sans-serif; max-width: 30em; margin: 15vh auto; padding: 0 1em;
text-align: center; color: #222; background: #fff }}
h1 {{ font-size: 1.4em }}
button {{ font: inherit; padding: .6em 1.6em; border: 0; border-radius: .4em; cursor: pointer;
color: #fff; background: #1a56b0 }}
</style>
</head>
<body>
<h1>{title}</h1>
{content}
</body>
</html>
"""
_CONFIRM = """<p>Do you want to stop mailings like this one to {address}?</p>
<form method="post">
<input type="hidden" name="List-Unsubscribe" value="One-Click">
<button type="submit">Unsubscribe</button>
</form>"""

_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action {form}; "
    "frame-ancestors 'none'"
)
#  Browsers apply form-action to the redirect that answers the form, too
_THEN_ANYWHERE: Final = "'self' https: http:"


def confirm(address: str, *, then_redirects: bool = False) -> Reply:
    """Ask the recipient to confirm with a button, which posts to the same URL.

    ``then_redirects``: the answer to that leads to a page of the sender.
    """
    content = _CONFIRM.format(address=escape(address))
    return _page("Unsubscribe?", content, form=_THEN_ANYWHERE if then_redirects else "'self'")


def unsubscribed(address: str) -> Reply:
    """Tell the recipient that they are unsubscribed."""
    text = f"<p>We will send no more mailings like that one to {escape(address)}.</p>"
    return _page("You are unsubscribed", text)


def dead_link() -> Reply:
    """Tell a reader that the link does not work, or no longer."""
    text = "<p>The link was changed in transit, or the message is more than a year old.</p>"
    return _page("This link does not work", text, status=404)


def too_many_visits() -> Reply:
    """Tell a reader that a link was followed too often."""
    text = "<p>Please try again in a minute.</p>"
    return _page("This link was followed too often", text, status=403)


def _page(title: str, content: str, *, status: int = 200, form: str = "'none'") -> Reply:
    page = _PAGE.format(title=title, content=content)
    headers = {"Cache-Control": "no-store", "Content-Security-Policy": _POLICY.format(form=form)}
    return raw(page.encode(), "text/html; charset=utf-8", status=status, headers=headers)
