"""Find the mailbox provider of a domain by its MX records.

Nobody waits for the DNS. An unknown domain is looked up in the background, and this process caches
the answer: the first messages to a domain have no provider, later ones do.
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

CACHE_SECONDS: Final = 86_400.0
FAILURE_CACHE_SECONDS: Final = 600.0
_CACHE_ENTRIES = 50_000
_MAX_PENDING = 500
_THREADS = 4

# Provider → the endings of its mail hosts' names
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
_BY_HOST = {name: provider for provider, names in _HOSTS.items() for name in names.split()}

_lock = threading.Lock()
_cache: dict[str, tuple[float, MailboxProvider]] = {}
_pending: set[str] = set()


def provider_by_mx(domain: str) -> MailboxProvider:
    """Return the cached provider of a domain; an unknown domain is looked up in the background."""
    now = clock.now()
    with _lock:
        expires, provider = _cache.get(domain, (0.0, OTHER))
        if now < expires or domain in _pending or len(_pending) >= _MAX_PENDING:
            return provider
        _pending.add(domain)
    _lookups().submit(_look_up, domain)
    return provider


def of_hosts(hosts: Iterable[str]) -> MailboxProvider:
    """Return the provider of these mail hosts (names in lower case)."""
    for host in hosts:
        labels = host.split(".")
        for start in range(len(labels)):
            if provider := _BY_HOST.get(".".join(labels[start:])):
                return provider
    return OTHER


def _look_up(domain: str) -> None:
    provider, lifetime = OTHER, FAILURE_CACHE_SECONDS
    try:
        provider, lifetime = of_hosts(dns.mail_hosts(domain)), CACHE_SECONDS
    except LookupFailed:
        pass  # the lookup is repeated later
    finally:
        with _lock:
            if len(_cache) >= _CACHE_ENTRIES:
                _cache.clear()
            _cache[domain] = (clock.now() + lifetime, provider)
            _pending.discard(domain)


@cache
def _lookups() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="mailbox-hosts")
