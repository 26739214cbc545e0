"""Tell a person's mail client from a machine by its user agent (spec 2.11).

``user_agent_parsed`` names the client, the device and the system, and has two more fields:

- ``is_proxy``: a mailbox provider made the request for a reader; address and system are the
  provider's
- ``is_prefetched``: the request came before or without anybody reading the message: from a provider
  that loads all images, a link scanner, or a preview

Many scanners claim to be a browser; their user agent does not give them away.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final, NamedTuple

LONGEST: Final = 1000

_OTHER = "Other"
_SPIDER = "Spider"  # the parser's device for all robots
_MOBILE_SYSTEMS = (
    "Android",
    "BlackBerry",
    "Firefox OS",
    "KaiOS",
    "Symbian",
    "Windows Mobile",
    "Windows Phone",
    "iOS",
)


class Machine(NamedTuple):
    """How a machine that is not a mail client behaves."""

    is_proxy: bool
    is_prefetched: bool


_NO_MACHINE = Machine(is_proxy=False, is_prefetched=False)
_PROXY = Machine(is_proxy=True, is_prefetched=False)
_PREFETCHING_PROXY = Machine(is_proxy=True, is_prefetched=True)
_SCANNER = Machine(is_proxy=False, is_prefetched=True)

_MACHINES = {
    # Mail Privacy Protection loads all images of all mail and hides the client
    r"^Mozilla/5\.0$": _PREFETCHING_PROXY,
    # Gmail, while its page is open: an old browser's agent with an odd ending
    r" Edge/12\.246 Mozilla/5\.0$": _PREFETCHING_PROXY,
    # Gmail, Yahoo and AOL, Seznam, when the recipient opens the message
    r"GoogleImageProxy|YahooMailProxy|YahooCacheSystem|SeznamEmailProxy": _PROXY,
    # Microsoft: links checked by Defender and Office, previews of Teams and Outlook
    r"BingPreview|SkypeUriPreview|Microsoft Office Existence Discovery|"
    r"Microsoft Office Protocol Discovery|Microsoft-WebDAV-MiniRedir": _SCANNER,
    # Gateways that follow links before the message is delivered
    r"(?i:barracuda|proofpoint|mimecast|ironport|CiscoSecureEmail|symantec|messagelabs|"
    r"TMUFE|trend ?micro|fireeye|trellix|sophos|forcepoint|websense|zscaler|cloudmark|fortinet)": (
        _SCANNER
    ),
    # Previews in other applications
    r"facebookexternalhit|Slackbot|Slack-ImgProxy|Twitterbot|LinkedInBot|WhatsApp/|TelegramBot|"
    r"Discordbot|HeadlessChrome": _SCANNER,
}
_PATTERNS = [(re.compile(pattern), machine) for pattern, machine in _MACHINES.items()]


def parse(user_agent: str, *, prefetch: bool = False) -> dict[str, Any]:
    """Return ``user_agent_parsed``; ``prefetch``: the request declared itself a prefetch."""
    fields = _parsed(user_agent[:LONGEST])
    return fields | {"is_prefetched": True} if prefetch else dict(fields)


@lru_cache(maxsize=2048)
def _parsed(user_agent: str) -> dict[str, Any]:
    from ua_parser import parse as read

    result = read(user_agent)
    agent, system, device = result.user_agent, result.os, result.device
    machine = _machine(user_agent, device.family if device else _OTHER)
    system_family = system.family if system else _OTHER
    version = (system.major, system.minor, system.patch) if system else ()
    return {
        "agent_family": agent.family if agent else _OTHER,
        "device_brand": (device.brand if device else None) or _OTHER,
        "device_family": device.family if device else _OTHER,
        "os_family": system_family,
        "os_version": ".".join(part for part in version if part),
        "is_mobile": system_family.startswith(_MOBILE_SYSTEMS),
        **machine._asdict(),
    }


def _machine(user_agent: str, device_family: str) -> Machine:
    for pattern, machine in _PATTERNS:
        if pattern.search(user_agent):
            return machine
    return _SCANNER if device_family == _SPIDER else _NO_MACHINE
