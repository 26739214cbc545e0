"""Receive reports about sending domains: verify, read, and store them for each domain's account.

Anyone can write a report. What counts is therefore signed by the domain of its author, and is kept
under that domain, whatever name the report gives itself. It counts for the sending domains that it
is about, and which their accounts have verified.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar

from chalicelib.core import config_cache, dns
from chalicelib.core.domain_names import canonical, parents
from chalicelib.dkim.verification import signatures_of
from chalicelib.domain_reports import dmarc_report, store, tls_report
from chalicelib.domain_reports.attachments import Unpacker
from chalicelib.domain_reports.model import (
    DMARC,
    TLS,
    DmarcReport,
    TlsReport,
    UnreadableReport,
)
from chalicelib.domain_reports.report_text import first_character
from chalicelib.domain_reports.store import DomainReport
from chalicelib.sending_domains import store as domains
from chalicelib.sending_domains.model import SendingDomain

MOST_BYTES = 8 * 1024 * 1024
"""Bytes of a message with a report."""

_MOST_NAMES = 100
"""Names of a report that are looked up."""

_MOST_PROBLEMS = 5
"""Reasons that are logged of a message without a readable report."""

Row = TypeVar("Row")


class NotSigned(Exception):
    """No valid signature is that of the author's domain."""


class NotVerifiable(Exception):
    """The DNS did not give the key of a signature; it may later."""


@dataclass(frozen=True, slots=True)
class ReportMail:
    """A message that may carry a report.

    ``content`` is the message as it came, ``author_domain`` the domain of From, ``attachments`` the
    contents of its parts.
    """

    content: bytes = field(repr=False)
    author_domain: str
    attachments: Sequence[bytes] = field(repr=False)


def receive(mail: ReportMail) -> list[str]:
    """Store all reports that a message carries; return the sending domains that they are about.

    Raises :class:`NotSigned`, :class:`NotVerifiable` and :class:`UnreadableReport`. A message that
    is too large counts as not signed.
    """
    reporter = _signer(mail)
    unpacker = Unpacker()
    contents = (each for data in mail.attachments for each in unpacker.contents(data))
    reports, domains = 0, list[str]()
    for content in contents:
        try:
            domains += _store(content, reporter)
            reports += 1
        except UnreadableReport as error:
            unpacker.problems.append(str(error))
    if not reports:
        raise UnreadableReport("; ".join(unpacker.problems[:_MOST_PROBLEMS]) or "it has no parts")
    return list(dict.fromkeys(domains))


def _signer(mail: ReportMail) -> str:
    """Return the domain of a valid signature that belongs to the author's organization."""
    if len(mail.content) > MOST_BYTES:
        raise NotSigned
    failures: list[dns.LookupFailed] = []

    def texts(name: str) -> list[str]:
        try:
            return dns.texts(name)
        except dns.LookupFailed as error:
            failures.append(error)
            raise

    author = _organization(mail.author_domain)
    for signature in signatures_of(mail.content, texts, is_report=True):
        if not signature.problem and author and _organization(signature.domain) == author:
            return signature.domain
    raise NotVerifiable(str(failures[0])) if failures else NotSigned


def _organization(name: str) -> str:
    """Return the domain that one owner registered; empty if the name is none."""
    try:
        name = canonical(name.rstrip("."))
    except ValueError:
        return ""
    return _names(name)[-1]


def _store(content: bytes, reporter: str) -> list[str]:
    match first_character(content):
        case "<":
            dmarc = dmarc_report.read(content)
            groups = _by_domain(dmarc.rows, lambda row: (*_names(row.header_from), dmarc.domain))
            return _save(DMARC, reporter, dmarc, groups, dmarc.policy)
        case "{":
            tls = tls_report.read(content)
            return _save(
                TLS, reporter, tls, _by_domain(tls.rows, lambda row: _names(row.policy_domain))
            )
    raise UnreadableReport("it is neither XML nor JSON")


def _save(
    kind: str,
    reporter: str,
    report: DmarcReport | TlsReport,
    groups: Iterable[tuple[SendingDomain, Sequence[Any]]],
    policy: Mapping[str, str] = MappingProxyType({}),
) -> list[str]:
    names = []
    for domain, rows in groups:
        about = (reporter, report.report_id, report.organization, report.period)
        store.save(domain.account_id, domain.domain, DomainReport(kind, *about, rows, dict(policy)))
        names.append(domain.domain)
    return names


def _names(name: str) -> tuple[str, ...]:
    return (name, *parents(name))


def _by_domain(
    rows: Iterable[Row], names: Callable[[Row], tuple[str, ...]]
) -> Iterator[tuple[SendingDomain, list[Row]]]:
    """Yield the rows about each sending domain: the first of a row's names that is one."""
    domains_by_name: dict[str, SendingDomain | None] = {}
    groups: dict[str, list[Row]] = {}
    for row in rows:
        for name in names(row):
            if name not in domains_by_name and len(domains_by_name) < _MOST_NAMES:
                domains_by_name[name] = _verified(name)
            if domains_by_name.get(name):
                groups.setdefault(name, []).append(row)
                break
    for name, group in groups.items():
        if domain := domains_by_name[name]:
            yield domain, group


def _verified(name: str) -> SendingDomain | None:
    item = config_cache.read_one(domains.key_of(name)) if name else None
    domain = domains.from_item(item) if item else None
    return domain if domain and domain.status.ownership_verified else None
