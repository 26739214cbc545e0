"""Decide which links of a message are tracked: rules for targets and for link attributes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote, unquote

from chalicelib.tracking import tokens
from chalicelib.tracking.model import CLICK, Link
from chalicelib.tracking.tokens import LONGEST_MESSAGE_PART, LinkPart

LONGEST_TARGET = 4096
#: The longest tracked URL: mail clients and gateways cut longer ones, and no endpoint answers them
LONGEST_URL = 4096
LONGEST_NAME = 63
UNNAMED = "Raw URL"

#: Stands before a protocol that is written literally in a template (see `literal_links`):
#: U+0091, "private use one", which has no meaning in markup and style sheets
MARK = "\x91"

_OPTIONS = ("linkname", "unsubscribe", "clicktrack", "sublink")
_ATTRIBUTE = {f"data-{p}-{option}": option for option in _OPTIONS for p in ("msys", "svc")}
_WITH_HOST = re.compile(r"https?://[^/?#\\]", re.IGNORECASE | re.ASCII)
_OUR_PATH = re.compile(r"https?://[^/]+/(t/[a-z]+|f/[^/?#]+)/([^/?#]+)", re.IGNORECASE)
_AROUND_URLS = "".join(map(chr, range(0x21)))
_LEFT_OUT_OF_URLS = re.compile(r"[\t\r\n]")


@dataclass(frozen=True, slots=True)
class LinkOptions:
    """The options that a link's attributes (``data-svc-linkname`` and so on) set."""

    name: str = ""
    unsubscribes: bool = False
    tracked: bool = True
    sub: str = ""


class TrackedUrl(NamedTuple):
    """The shared parts of all URLs of a tracked link.

    Their start up to the token, and its link part.
    """

    start: str
    link: LinkPart


_USUAL = LinkOptions()


def option_of(attribute: str) -> str | None:
    """Return the option that an attribute (in lower case) sets; ``None`` for other attributes."""
    return _ATTRIBUTE.get(attribute)


def read_options(values: Mapping[str, str]) -> LinkOptions:
    """Return the options of a link from decoded attribute values, by option name."""
    if not values:
        return _USUAL
    return LinkOptions(
        name=_cut(values.get("linkname", "")),
        unsubscribes=values.get("unsubscribe", "").strip() == "1",
        tracked=values.get("clicktrack", "").strip() != "0",
        sub=_segment(values.get("sublink", "")),
    )


def link(url: str, options: LinkOptions, *, amp: bool = False) -> Link | None:
    """Return the link to track for a decoded URL of the message; ``None`` for a link not to track.

    Not tracked are links whose options say so, links that do not begin with ``http://`` or
    ``https://`` and a host, targets over 4,096 bytes, links that are tracked already, and in AMP
    links that the mail client completes (``{{``).
    """
    target = _LEFT_OUT_OF_URLS.sub("", url.strip(_AROUND_URLS))
    if not options.tracked or not _WITH_HOST.match(target) or (amp and "{{" in target):
        return None
    candidate = Link(target, options.name, options.unsubscribes, amp, options.sub)
    return None if _is_tracked(target) or not fits(candidate) else candidate


def fits(link: Link) -> bool:
    """Tell whether a link's target is short enough to be tracked."""
    text = f"{link.target}{link.sub}" if link.sub else link.target
    length = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return length <= LONGEST_TARGET


def tracked(base_url: str, target: Link | None) -> TrackedUrl | None:
    """Return what the URLs of a link share; ``None`` without a link, or if they were too long."""
    if target is None:
        return None
    path = f"f/{quote(target.sub, safe='')}" if target.sub else CLICK
    start, part = f"{base_url}/{path}/", LinkPart(target)
    return None if is_too_long(start, part) else TrackedUrl(start, part)


def is_too_long(start: str, part: LinkPart) -> bool:
    """Tell whether the tracked URLs of a link would be cut or refused on their way."""
    return len(start) + LONGEST_MESSAGE_PART + len(part.text) > LONGEST_URL


def _cut(name: str) -> str:
    """Cut a name to 63 bytes, between characters."""
    return name.encode("utf-8", "replace")[:LONGEST_NAME].decode("utf-8", "ignore")


def _segment(sub: str) -> str:
    """Return a usable path segment: clients remove ``.`` and ``..`` from paths."""
    return "" if sub in (".", "..") else sub.encode("utf-8", "replace").decode()


def may_be_tracked(target: str) -> bool:
    """Tell whether a target may lead to an endpoint of ours, which the rest of it tells."""
    return "/t/" in target or "/f/" in target


def _is_tracked(target: str) -> bool:
    if not may_be_tracked(target):
        return False
    match = _OUR_PATH.match(target)
    return match is not None and tokens.is_genuine(unquote(match[1]), match[2])
