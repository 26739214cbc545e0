"""Who runs the mailboxes of a domain of one's own: told by its MX records.

Nobody waits for the DNS. A domain that is not known yet is looked up beside the work, and what was
found is remembered by this process: of the first messages to a domain nothing is known, of those a
moment later all is.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Final

from chalicelib.core import clock, dns
from chalicelib.core.dns import LookupFailed
from chalicelib.tracking.providers import ASIA, EUROPE, GLOBAL, OTHER, MailboxProvider

REMEMBERED: Final = 86_400.0
REMEMBERED_FAILURE: Final = 600.0
_MOST_REMEMBERED = 50_000
_MOST_WAITING = 500
_THREADS = 4

# The ends of the names of mail hosts
_HOSTS = {
    MailboxProvider("Google Workspace", GLOBAL): "google.com googlemail.com smtp.goog",
    MailboxProvider("Hotmail / Outlook", GLOBAL): "olc.protection.outlook.com hotmail.com",
    MailboxProvider("Microsoft 365", GLOBAL): "outlook.com mx.microsoft",
    MailboxProvider("Yahoo", GLOBAL): "yahoodns.net",
    MailboxProvider("Apple", GLOBAL): "icloud.com",
    MailboxProvider("Proton", GLOBAL): "protonmail.ch",
    MailboxProvider("Zoho", GLOBAL): "zoho.com zoho.eu zoho.in",
    MailboxProvider("Fastmail", GLOBAL): "messagingengine.com",
    MailboxProvider("Amazon WorkMail", GLOBAL): "awsapps.com amazonaws.com",
    MailboxProvider("Rackspace", GLOBAL): "emailsrvr.com",
    MailboxProvider("GoDaddy", GLOBAL): "secureserver.net",
    MailboxProvider("Mimecast", GLOBAL): "mimecast.com mimecast.co.za",
    MailboxProvider("Proofpoint", GLOBAL): "pphosted.com ppe-hosted.com",
    MailboxProvider("Barracuda", GLOBAL): "barracudanetworks.com",
    MailboxProvider("Cisco", GLOBAL): "iphmx.com",
    MailboxProvider("1&1 IONOS", EUROPE): "kundenserver.de ionos.com ionos.de ionos.co.uk",
    MailboxProvider("OVH", EUROPE): "ovh.net",
    MailboxProvider("Gandi", EUROPE): "gandi.net",
    MailboxProvider("Strato", EUROPE): "rzone.de",
    MailboxProvider("Yandex", EUROPE): "yandex.net yandex.ru",
    MailboxProvider("Mail.Ru", EUROPE): "mail.ru",
    MailboxProvider("QQ", ASIA): "qq.com",
    MailboxProvider("Aliyun", ASIA): "mxhichina.com aliyun.com",
    MailboxProvider("NetEase", ASIA): "163.com netease.com",
}
_KNOWN = {name: provider for provider, names in _HOSTS.items() for name in names.split()}

_lock = threading.Lock()
_remembered: dict[str, tuple[float, MailboxProvider]] = {}
_waiting: set[str] = set()


def provider_by_mx(domain: str) -> MailboxProvider:
    """Return the provider of a domain as far as this process knows, and see that it gets to."""
    now = clock.now()
    with _lock:
        until, known = _remembered.get(domain, (0.0, OTHER))
        if now < until or domain in _waiting or len(_waiting) >= _MOST_WAITING:
            return known
        _waiting.add(domain)
    _lookups().submit(_look_up, domain)
    return known


def of_hosts(hosts: Iterable[str]) -> MailboxProvider:
    """Return the provider that mail hosts (names in lower case) belong to."""
    for host in hosts:
        labels = host.split(".")
        for start in range(len(labels)):
            if found := _KNOWN.get(".".join(labels[start:])):
                return found
    return OTHER


def _look_up(domain: str) -> None:
    found, lifetime = OTHER, REMEMBERED_FAILURE
    try:
        found, lifetime = of_hosts(dns.mail_hosts(domain)), REMEMBERED
    except LookupFailed:
        pass  # it is asked again later
    finally:
        with _lock:
            if len(_remembered) >= _MOST_REMEMBERED:
                _remembered.clear()
            _remembered[domain] = (clock.now() + lifetime, found)
            _waiting.discard(domain)


@cache
def _lookups() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="mailbox-hosts")
