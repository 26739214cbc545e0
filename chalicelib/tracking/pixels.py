"""The images that tell of an open: what they are, and where in a message they stand.

The initial open pixel comes right behind the start tag of ``body``, so that a mail client that cuts
a long message short fetches it as well; the open pixel comes last.
"""

from __future__ import annotations

import html
import re

from chalicelib.tracking.model import AMP_INITIAL_OPEN, AMP_OPEN, INITIAL_OPEN, OPEN
from chalicelib.tracking.tokens import MessageTokens

#: A transparent GIF of one pixel
GIF = (
    b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\x00\x00\x00!\xf9\x04\x01\x00\x00\x00\x00"
    b",\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"
)

_IMAGE = '<img src="{}" alt="" width="1" height="1" border="0">'
# AMP for Email knows no amp-pixel, and clients show nothing of a part that it does not allow
_AMP_IMAGE = '<amp-img src="{}" alt="" width="1" height="1"></amp-img>'
# What stands before the content of a page whose body has no tag of its own
_PROLOGUE = re.compile(
    r"\s*(?:<!doctype[^>]*>\s*)?(?:<html[^>]*>\s*)?(?:<head[\s>].*?</head\s*>)?", re.I | re.S
)


def open_pixel(base_url: str, issuer: MessageTokens, *, amp: bool = False) -> str:
    """Return the markup of the pixel for the end of a message."""
    return _pixel(base_url, issuer, AMP_OPEN if amp else OPEN, amp)


def initial_pixel(base_url: str, issuer: MessageTokens, *, amp: bool = False) -> str:
    """Return the markup of the pixel for the beginning of a message."""
    return _pixel(base_url, issuer, AMP_INITIAL_OPEN if amp else INITIAL_OPEN, amp)


def content_start(markup: str) -> int:
    """Return where the content of markup without a ``body`` tag begins."""
    found = _PROLOGUE.match(markup)
    return found.end() if found else 0


def _pixel(base_url: str, issuer: MessageTokens, kind: str, amp: bool) -> str:
    url = html.escape(f"{base_url}/{kind}/{issuer.token(kind)}")
    return (_AMP_IMAGE if amp else _IMAGE).format(url)
