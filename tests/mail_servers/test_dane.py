"""DANE with Postfix, and with a signed zone behind a validating resolver.

OpenSSL, which knows DANE, judges the same records and certificates.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import dns.resolver
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from chalicelib.core.tls_results import (
    DNSSEC_INVALID,
    HOST_MISMATCH,
    NO_STARTTLS,
    NOT_TRUSTED,
    SUCCESS,
    TLSA,
)
from chalicelib.delivery.dane.lookup import Dane, validating
from chalicelib.delivery.dane.records import DomainRecords, HostRecords, Unknown
from chalicelib.delivery.mta_sts.policy import Mode, Policy
from chalicelib.delivery.outcome import Delivered, Retry
from chalicelib.delivery.tls_reports.session_result import SessionResult
from chalicelib.delivery.transports import commit_at_once
from chalicelib.delivery.transports.mx import MxTransport, Observe, ignore, no_policy, no_records
from tests.mail_servers.certificates import HOST
from tests.mail_servers.delivery import OPTIONS
from tests.mail_servers.mailbox import message
from tests.mail_servers.postfix import Postfix
from tests.mail_servers.signed_zones import signed_zones


@dataclass(frozen=True, slots=True)
class Case:
    """A domain below signed.test whose host is a port of Postfix, and what becomes of mail to it.

    `record` has usage, selector, matching and the file of the certificate that it is made of.
    `reason` is part of the reply to a message that waits. OpenSSL is asked where it can `judge`.
    """

    name: str
    port: str
    record: tuple[int, int, int, str]
    reason: str = ""
    policy: str | None = "dane"
    judge: bool = True


CASES = [
    Case("digest", "TLS self-signed", (3, 1, 1, "self-signed")),
    Case("sha512", "TLS self-signed", (3, 0, 2, "self-signed")),
    Case("whole", "TLS self-signed", (3, 0, 0, "self-signed")),
    Case("whole-key", "TLS self-signed", (3, 1, 0, "self-signed")),
    Case("expired", "TLS expired", (3, 1, 1, "expired"), judge=False),
    Case("names", "TLS wrong host", (3, 1, 1, "wrong-host")),
    Case("other-key", "TLS self-signed", (3, 1, 1, "authority"), "no TLSA record matches"),
    Case("other", "TLS self-signed", (3, 0, 1, "expired"), "no TLSA record matches"),
    Case("chain", "TLS with authority", (2, 0, 1, "authority")),
    Case("as-host", "TLS with authority", (3, 0, 1, "authority"), "no TLSA record matches"),
    Case("as-chain", "TLS self-signed", (2, 0, 1, "authority"), "no TLSA record matches"),
    Case("chain-names", "TLS with authority", (2, 1, 1, "authority"), "is not for mx.chain-names"),
    Case("clear", "all extensions", (3, 1, 1, "self-signed"), "does not offer STARTTLS"),
    Case("unusable", "TLS self-signed", (1, 1, 1, "authority"), policy=None, judge=False),
    Case("unusable-clear", "all extensions", (0, 1, 1, "authority"), "does not offer STARTTLS"),
]
BY_NAME = {case.name: case for case in CASES}
FORGED = "forged"


@pytest.fixture(scope="session")
def records(postfix: Postfix, postfix_folder: Path) -> dict[str, str]:
    """The TLSA record of each case, in the form of a zone file."""
    etc = postfix_folder / "etc"
    return {case.name: tlsa(etc, *case.record) for case in CASES}


@pytest.fixture(scope="session")
def resolver(postfix: Postfix, records: dict[str, str]) -> Iterator[dns.resolver.Resolver]:
    if shutil.which("unbound") is None:
        pytest.skip("unbound is not installed (apt-get install unbound)")
    signed = []
    for case in CASES:
        signed += host_of(case.name, postfix.ports[case.port], records[case.name])
    signed += host_of("chain-expired", postfix.ports[EXPIRED], records["chain"])
    signed += host_of(FORGED, postfix.ports["TLS"], records["digest"])
    signed += host_of("none", postfix.ports["all extensions"])
    signed += host_of("alias", postfix.ports["TLS self-signed"])[:1]
    signed.append("mx.alias CNAME mx.digest")
    signed += ["implicit A 127.0.0.1"]
    signed.append(f"_{postfix.ports['TLS self-signed']}._tcp.implicit TLSA {records['other']}")
    signed.append("elsewhere MX 10 mx.digest.unsigned.test.")
    unsigned = host_of("digest", postfix.ports["all extensions"], records["other"])
    forged_record = f"_{postfix.ports['TLS']}._tcp.mx.{FORGED} TLSA {records['other']}"
    with (
        tempfile.TemporaryDirectory() as folder,
        signed_zones(Path(folder), signed, unsigned, [forged_record]) as resolver,
    ):
        yield validating(resolver)


EXPIRED = "TLS with authority, expired"


def tlsa(etc: Path, usage: int, selector: int, matching: int, file: str) -> str:
    """Return a record that stands for a certificate, as anyone who publishes one makes it."""
    certificate = x509.load_pem_x509_certificate((etc / f"{file}.pem").read_bytes())
    key = certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    data = key if selector else certificate.public_bytes(Encoding.DER)
    digests = {1: hashlib.sha256, 2: hashlib.sha512}
    text = digests[matching](data).hexdigest() if matching else data.hex()
    return f"{usage} {selector} {matching} {text}"


def host_of(name: str, port: int, record: str = "") -> list[str]:
    """Return the records of a domain with one host."""
    lines = [f"{name} MX 10 mx.{name}", f"mx.{name} A 127.0.0.1"]
    return [*lines, f"_{port}._tcp.mx.{name} TLSA {record}"] if record else lines


def transport(
    resolver: dns.resolver.Resolver,
    port: int,
    policy: Policy | None = None,
    *,
    dane: bool = True,
    observe: Observe = ignore,
) -> MxTransport:
    return MxTransport(
        resolver,
        OPTIONS,
        ehlo_name="client.test",
        port=port,
        allow_private=True,
        policy_of=(lambda _: policy) if policy else no_policy,
        records_of=Dane(resolver, port).of if dane else no_records,
        observe=observe,
    )


def deliver(
    resolver: dns.resolver.Resolver,
    postfix: Postfix,
    domain: str,
    port: str,
    policy: Policy | None = None,
) -> Delivered | Retry:
    """Attempt a message; check that it is stored if it was delivered, and only then."""
    original = message(recipient=f"ben@{domain}")
    open_transport = transport(resolver, postfix.ports[port], policy)
    outcome = open_transport.deliver(original, commit_at_once)
    open_transport.close()
    assert isinstance(outcome, Delivered | Retry)
    is_delivered = isinstance(outcome, Delivered)
    assert len(postfix.mailbox.copies(original, int(is_delivered))) == int(is_delivered)
    return outcome


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_mail_goes_only_to_the_host_that_the_records_stand_for(
    postfix: Postfix, resolver: dns.resolver.Resolver, case: Case
) -> None:
    outcome = deliver(resolver, postfix, f"{case.name}.signed.test", case.port)
    if case.reason:
        assert isinstance(outcome, Retry)
        assert (outcome.code, outcome.bounce_class) == (454, 20)
        assert case.reason in outcome.reply
        assert f"the TLSA records of mx.{case.name}.signed.test require it" in outcome.reply
    else:
        assert isinstance(outcome, Delivered)
        assert (outcome.tls, outcome.tls_policy) == ("TLSv1.3", case.policy)


@pytest.mark.parametrize("case", [case for case in CASES if case.judge], ids=lambda c: c.name)
def test_openssl_judges_the_same(postfix: Postfix, records: dict[str, str], case: Case) -> None:
    if not case.port.startswith("TLS"):
        return
    name = f"mx.{case.name}.signed.test"
    address = f"127.0.0.1:{postfix.ports[case.port]}"
    command = ["openssl", "s_client", "-starttls", "smtp", "-connect", address]
    command += ["-dane_tlsa_domain", name, "-dane_tlsa_rrdata", records[case.name]]
    command += ["-dane_ee_no_namechecks", "-verify_return_error"]
    done = subprocess.run(command, input="QUIT\n", capture_output=True, text=True, timeout=30)
    verdict = re.search(r"^ *Verify return code: (\d+)", done.stdout, re.MULTILINE)
    is_valid = done.returncode == 0 and verdict is not None and verdict[1] == "0"
    assert is_valid is not bool(case.reason), done.stdout + done.stderr


def test_dates_count_where_an_authority_vouches_for_the_host(
    postfix: Postfix, resolver: dns.resolver.Resolver
) -> None:
    outcome = deliver(resolver, postfix, "chain-expired.signed.test", EXPIRED)
    assert "has expired" in outcome.reply


def test_a_forged_record_is_not_taken_for_a_missing_one(
    postfix: Postfix, resolver: dns.resolver.Resolver
) -> None:
    """Whoever can forge answers could otherwise switch DANE off."""
    outcome = deliver(resolver, postfix, f"{FORGED}.signed.test", "TLS")
    assert isinstance(outcome, Retry)
    assert (outcome.code, outcome.bounce_class) == (451, 21)
    assert "no answer for the TLSA records" in outcome.reply


@pytest.mark.parametrize("domain", ["none.signed.test", "digest.unsigned.test"])
def test_without_signed_records_nothing_is_asked_of_a_host(
    postfix: Postfix, resolver: dns.resolver.Resolver, domain: str
) -> None:
    outcome = deliver(resolver, postfix, domain, "all extensions")
    assert (outcome.code, outcome.tls, outcome.tls_policy) == (250, None, None)


def test_a_signed_domain_with_a_host_elsewhere_has_no_records(
    resolver: dns.resolver.Resolver, postfix: Postfix
) -> None:
    records = Dane(resolver, postfix.ports["all extensions"]).of("elsewhere.signed.test")
    assert records == DomainRecords({"mx.digest.unsigned.test": None})
    assert not records.protects


def test_a_host_behind_an_alias_has_the_records_at_its_end(
    resolver: dns.resolver.Resolver, postfix: Postfix
) -> None:
    domain = "alias.signed.test"
    (records,) = Dane(resolver, postfix.ports["TLS self-signed"]).of(domain).hosts.values()
    assert isinstance(records, HostRecords)
    assert records.names == ("mx.digest.signed.test", "mx.alias.signed.test", domain)


def test_a_domain_without_mx_is_its_own_host(
    resolver: dns.resolver.Resolver, postfix: Postfix
) -> None:
    outcome = deliver(resolver, postfix, "implicit.signed.test", "TLS self-signed")
    assert "no TLSA record matches" in outcome.reply


def test_a_host_that_was_none_a_moment_ago_gets_nothing() -> None:
    records = DomainRecords({"mx.signed.test": None})
    assert records.of("mx.signed.test") is None
    assert isinstance(records.of("mx2.signed.test"), Unknown)
    assert DomainRecords().of("mx2.signed.test") is None


def test_records_take_the_place_of_authorities_under_an_mta_sts_policy(
    postfix: Postfix, resolver: dns.resolver.Resolver
) -> None:
    policy = Policy(Mode.ENFORCE, ("mx.digest.signed.test",), 60)
    outcome = deliver(resolver, postfix, "digest.signed.test", "TLS self-signed", policy)
    assert outcome.tls_policy == "dane"
    other = Policy(Mode.ENFORCE, ("mx.elsewhere.test",), 60)
    outcome = deliver(resolver, postfix, "digest.signed.test", "TLS self-signed", other)
    assert "names none of its mail hosts" in outcome.reply


def test_a_record_that_cannot_be_used_leaves_the_mta_sts_policy_in_force(
    postfix: Postfix, resolver: dns.resolver.Resolver
) -> None:
    policy = Policy(Mode.ENFORCE, ("mx.unusable.signed.test",), 60)
    outcome = deliver(resolver, postfix, "unusable.signed.test", "TLS self-signed", policy)
    assert "the MTA-STS policy of unusable.signed.test requires it" in outcome.reply


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("digest", SUCCESS),
        ("other", NOT_TRUSTED),
        ("chain-names", HOST_MISMATCH),
        ("clear", NO_STARTTLS),
        (FORGED, DNSSEC_INVALID),
    ],
)
def test_each_session_is_counted_with_its_result(
    postfix: Postfix, resolver: dns.resolver.Resolver, records: dict[str, str], name: str, kind: str
) -> None:
    port = postfix.ports[BY_NAME[name].port if name in BY_NAME else "TLS"]
    results: list[SessionResult] = []
    open_transport = transport(resolver, port, observe=results.append)
    open_transport.deliver(message(recipient=f"ben@{name}.signed.test"), commit_at_once)
    open_transport.close()
    (result,) = results
    assert (result.domain, result.host) == (f"{name}.signed.test", f"mx.{name}.signed.test")
    assert (result.policy_type, result.kind) == (TLSA, kind)
    assert result.policy == (() if name == FORGED else (records[name],))


def test_without_the_setting_records_are_not_looked_at(
    postfix: Postfix, resolver: dns.resolver.Resolver
) -> None:
    port = postfix.ports["TLS self-signed"]
    open_transport = transport(resolver, port, dane=False)
    original = message(recipient="ben@other.signed.test")
    outcome = open_transport.deliver(original, commit_at_once)
    open_transport.close()
    assert isinstance(outcome, Delivered)
    assert outcome.tls_policy is None


def test_the_certificate_with_its_authority_is_for_the_host_of_the_tests() -> None:
    assert HOST == "mx.chain.signed.test"
