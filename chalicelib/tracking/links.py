"""Which links of a message are tracked, and how: the rules for targets and for link attributes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote, unquote

from chalicelib.core import domain_names
from chalicelib.tracking import tokens
from chalicelib.tracking.model import CLICK, Link
from chalicelib.tracking.tokens import LONGEST_MESSAGE_PART, LinkPart

LONGEST_TARGET = 4096
#: A tracked URL may not be longer: mail clients and gateways cut what is, and it is not answered
LONGEST_URL = 4096
LONGEST_NAME = 63
UNNAMED = "Raw URL"

#: Stands before a protocol that is written in a template and not in a value (`literal_links`):
#: U+0091, "private use one", which neither markup nor style sheets give a meaning
MARK = "\x91"

_OPTIONS = ("linkname", "unsubscribe", "clicktrack", "sublink")
_ATTRIBUTE = {f"data-{p}-{option}": option for option in _OPTIONS for p in ("msys", "svc")}
_WITH_HOST = re.compile(r"https?://[^/?#]", re.IGNORECASE | re.ASCII)
_OUR_PATH = re.compile(r"https?://[^/]+/(t/[a-z]+|f/[^/?#]+)/([^/?#]+)", re.IGNORECASE)
_AROUND_URLS = "".join(map(chr, range(0x21)))
_LEFT_OUT_OF_URLS = re.compile(r"[\t\r\n]")
_AUTHORITY = re.compile(r"(https?://(?:[^/?#\\@]*@)?)([^/?#\\:]*)(.*)", re.IGNORECASE | re.DOTALL)
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))


@dataclass(frozen=True, slots=True)
class LinkOptions:
    """What the attributes ``data-svc-linkname`` and so on of a link say."""

    name: str = ""
    unsubscribes: bool = False
    tracked: bool = True
    sub: str = ""


class TrackedUrl(NamedTuple):
    """What all URLs of a tracked link have: their beginning up to the token, and its link part."""

    start: str
    link: LinkPart


_USUAL = LinkOptions()


def option_of(attribute: str) -> str | None:
    """Return the option that an attribute (in lower case) sets, ``None`` if it is none of ours."""
    return _ATTRIBUTE.get(attribute)


def read_options(given: Mapping[str, str]) -> LinkOptions:
    """Return the options of a link by their names; values are decoded."""
    if not given:
        return _USUAL
    return LinkOptions(
        name=_cut(given.get("linkname", "")),
        unsubscribes=given.get("unsubscribe", "").strip() == "1",
        tracked=given.get("clicktrack", "").strip() != "0",
        sub=_segment(given.get("sublink", "")),
    )


def link(url: str, options: LinkOptions, *, amp: bool = False) -> Link | None:
    """Return the link to track for a decoded URL of the message, ``None`` if it is left alone.

    Left alone are links that say so, those that do not begin with ``http://`` or ``https://``
    and a host, targets over 4,096 bytes, links that are tracked already, and in AMP those that the
    mail client is to complete (``{{``).
    """
    target = _LEFT_OUT_OF_URLS.sub("", url.strip(_AROUND_URLS))
    if not options.tracked or not _WITH_HOST.match(target) or (amp and "{{" in target):
        return None
    if len(f"{target}{options.sub}".encode("utf-8", "surrogatepass")) > LONGEST_TARGET:
        return None
    if _is_tracked(target):
        return None
    return Link(target, options.name, options.unsubscribes, amp, options.sub)


def tracked(base_url: str, found: Link | None) -> TrackedUrl | None:
    """Return how the URLs of a link are made; ``None`` if it is none, or they would be too long."""
    if found is None:
        return None
    path = f"f/{quote(found.sub, safe='')}" if found.sub else CLICK
    start, part = f"{base_url}/{path}/", LinkPart(found)
    if len(start) + LONGEST_MESSAGE_PART + len(part.text) > LONGEST_URL:
        return None
    return TrackedUrl(start, part)


def location(target: str) -> str:
    """Return a target as an HTTP header can carry it: in ASCII, and otherwise as it is."""
    found = _AUTHORITY.fullmatch(target)
    if found is None:  # no target of ours
        return quote(target, safe=_PRINTABLE, errors="replace")
    before, host, rest = found.groups()
    if not host.isascii():
        host = domain_names.spelled(host) or host
    return quote(before + host + rest, safe=_PRINTABLE, errors="replace")


def _cut(name: str) -> str:
    """Cut a name to 63 bytes, between characters."""
    return name.encode("utf-8", "replace")[:LONGEST_NAME].decode("utf-8", "ignore")


def _segment(sub: str) -> str:
    """Return what may be a segment of a path: clients take ``.`` and ``..`` out of one."""
    return "" if sub in (".", "..") else sub.encode("utf-8", "replace").decode()


def _is_tracked(target: str) -> bool:
    if "/t/" not in target and "/f/" not in target:
        return False
    found = _OUR_PATH.match(target)
    return found is not None and tokens.is_genuine(unquote(found[1]), found[2])
