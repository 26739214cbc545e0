"""Make the pixels that report an open, and find their places in a message.

The initial open pixel comes right after the start tag of ``body``, so that a mail client that shows
only the start of a long message fetches it as well. The open pixel comes last.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from functools import lru_cache

from chalicelib.tracking.model import AMP_INITIAL_OPEN, AMP_OPEN, INITIAL_OPEN, OPEN
from chalicelib.tracking.tokens import MessageTokens

#: A transparent GIF of one pixel
GIF = (
    b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\x00\x00\x00!\xf9\x04\x01\x00\x00\x00\x00"
    b",\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"
)

_IMAGE = '<img src="{}" alt="" width="1" height="1" border="0">'
# AMP for Email has no amp-pixel, and clients do not show a part with a forbidden element
_AMP_IMAGE = '<amp-img src="{}" alt="" width="1" height="1"></amp-img>'
# The text before the content of a page that has no body tag
_PROLOGUE = re.compile(
    r"\s*(?:<!doctype[^>]*>\s*)?(?:<html[^>]*>\s*)?(?:<head[\s>].*?</head\s*>)?", re.I | re.S
)


def open_pixel(base_url: str, issuer: MessageTokens, *, amp: bool = False) -> Sequence[str]:
    """Return the markup of the pixel for the end of a message, in pieces."""
    return _pixel(base_url, issuer, AMP_OPEN if amp else OPEN, amp)


def initial_pixel(base_url: str, issuer: MessageTokens, *, amp: bool = False) -> Sequence[str]:
    """Return the markup of the pixel for the beginning of a message, in pieces."""
    return _pixel(base_url, issuer, AMP_INITIAL_OPEN if amp else INITIAL_OPEN, amp)


def content_start(markup: str) -> int:
    """Return where the content of markup without a ``body`` tag begins."""
    match = _PROLOGUE.match(markup)
    return match.end() if match else 0


def _pixel(base_url: str, issuer: MessageTokens, kind: str, amp: bool) -> Sequence[str]:
    before, after = _around_token(base_url, kind, amp)
    return before, issuer.token(kind), after


@lru_cache(maxsize=64)
def _around_token(base_url: str, kind: str, amp: bool) -> tuple[str, str]:
    before, after = (_AMP_IMAGE if amp else _IMAGE).split("{}")
    return before + html.escape(f"{base_url}/{kind}/"), after
