"""Run Unbound, which validates DNSSEC, with the zones `signed.test` and `unsigned.test`.

The keys of the signed zone are made for the tests, and Unbound trusts them.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path

import dns.dnssec
import dns.exception
import dns.message
import dns.name
import dns.query
import dns.resolver
import dns.zone
from cryptography.hazmat.primitives.asymmetric import ec

from tests.free_ports import free_port

_SECONDS = 20.0
_HEAD = """
$TTL 60
@ SOA ns hostmaster 1 60 60 60 60
@ NS ns
ns A 127.0.0.1
"""
_SETTINGS = """
server:
  interface: 127.0.0.1
  port: {port}
  do-daemonize: no
  chroot: ""
  directory: "{folder}"
  pidfile: ""
  username: ""
  use-syslog: no
  logfile: "{folder}/log"
  module-config: "validator iterator"
  trust-anchor-file: "{folder}/anchor"
  local-zone: "test." nodefault
remote-control:
  control-enable: no
auth-zone:
  name: "signed.test."
  zonefile: "{folder}/signed.test"
  for-downstream: no
  for-upstream: yes
  fallback-enabled: no
auth-zone:
  name: "unsigned.test."
  zonefile: "{folder}/unsigned.test"
  for-downstream: no
  for-upstream: yes
  fallback-enabled: no
"""


@contextmanager
def signed_zones(
    folder: Path, signed: Sequence[str], unsigned: Sequence[str], forged: Sequence[str] = ()
) -> Iterator[dns.resolver.Resolver]:
    """Serve the records, lines of a zone file; yield a resolver that asks Unbound.

    `forged` are records that take the place of those with the same name and type after the zone
    was signed.
    """
    port = free_port()
    text, anchor = _sign(_zone("signed.test", signed))
    (folder / "signed.test").write_text(_forge(text, forged))
    (folder / "unsigned.test").write_text(_zone("unsigned.test", unsigned).to_text())
    (folder / "anchor").write_text(anchor)
    (folder / "settings").write_text(_SETTINGS.format(port=port, folder=folder))
    process = subprocess.Popen(["unbound", "-d", "-c", str(folder / "settings")])
    try:
        _wait_for(port)
        resolver = dns.resolver.Resolver(configure=False)
        resolver.nameservers, resolver.port = ["127.0.0.1"], port
        resolver.lifetime = 5.0
        yield resolver
    finally:
        process.terminate()
        process.wait(10)


def _zone(origin: str, records: Sequence[str]) -> dns.zone.Zone:
    text = _HEAD + "\n".join(records) + "\n"
    return dns.zone.from_text(text, dns.name.from_text(origin), relativize=False)


def _sign(zone: dns.zone.Zone) -> tuple[str, str]:
    """Return the signed zone, and its key for those who trust it."""
    key = ec.generate_private_key(ec.SECP256R1())
    algorithm = dns.dnssec.Algorithm.ECDSAP256SHA256
    record = dns.dnssec.make_dnskey(key.public_key(), algorithm, flags=257)
    now = datetime.now(UTC)
    day = timedelta(days=1)
    with zone.writer() as changes:
        dns.dnssec.sign_zone(
            zone,
            changes,
            keys=[(key, record)],
            add_dnskey=True,
            dnskey_ttl=60,
            inception=now - day,
            expiration=now + day,
        )
    output = StringIO()
    zone.to_file(output, relativize=False)
    return output.getvalue(), f"{zone.origin} IN DNSKEY {record.to_text()}\n"


def _forge(text: str, records: Sequence[str]) -> str:
    for record in records:
        name, kind, _ = record.split(" ", 2)
        line = rf"^{re.escape(name)}\.signed\.test\. \d+ IN {kind} .*$"
        replacement = f"{name}.signed.test. 60 IN {record.partition(' ')[2]}"
        text, count = re.subn(line, replacement, text, flags=re.MULTILINE)
        assert count == 1, record
    return text


def _wait_for(port: int) -> None:
    query = dns.message.make_query("signed.test.", "SOA")
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        try:
            dns.query.udp(query, "127.0.0.1", 0.2, port)
            return
        except (dns.exception.Timeout, OSError):
            time.sleep(0.02)
    raise AssertionError("Unbound does not answer")
