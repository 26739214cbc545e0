"""The local DNS: answers what the service's ``.test`` domains should publish.

``python -m infrastructure.local.dns --port N`` answers on loopback, for each sending domain that
the service knows: its DKIM TXT record, its CNAME to the service's mail domain, and its MX. Domains
beginning with ``broken-`` get wrong ones, so that failing verification can be tried out as well.
"""

from __future__ import annotations

import argparse
import signal
import threading

from chalicelib.core.settings import settings
from chalicelib.sending_domains import store
from chalicelib.sending_domains.dkim_keys import txt_record
from chalicelib.sending_domains.model import SendingDomain
from infrastructure.local.dns_server import DnsServer, Records

ZONE = ".test"
BROKEN = "broken-"
WRONG_HOST = "wrong.invalid"
_DKIM = "._domainkey."


class ServiceRecords:
    """The records that the service's own domains should publish."""

    def lookup(self, name: str) -> Records | None:
        """Return the records at ``name``, ``None`` if the name does not exist."""
        name = name.rstrip(".").lower()
        if not name.endswith(ZONE):
            return None
        selector, found, signing_domain = name.partition(_DKIM)
        if found:
            return _dkim_records(signing_domain, selector)
        domain = store.get(name)
        return _mail_records(domain) if domain else None


def _dkim_records(signing_domain: str, selector: str) -> Records | None:
    domain = store.get(signing_domain)
    if domain is None or domain.dkim is None or domain.dkim.selector.lower() != selector:
        return None
    if signing_domain.startswith(BROKEN):
        return [("TXT", "v=DKIM1; k=rsa; h=sha256; p=wrong")]
    return [("TXT", txt_record(domain.dkim.public))]


def _mail_records(domain: SendingDomain) -> Records:
    host = WRONG_HOST if domain.domain.startswith(BROKEN) else settings().system_domain
    return [("CNAME", host), ("MX", f"10 {host}")]


def main() -> None:
    """Answer until SIGTERM."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    given = parser.parse_args()
    server = DnsServer(given.host, given.port, ServiceRecords())
    server.start()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    stop.wait()
    server.stop()


if __name__ == "__main__":
    main()
