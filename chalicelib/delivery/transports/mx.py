"""Send each message to the mail host of its recipient's domain: the `mx` transport.

One attempt, with the sections of RFC 5321 where no other RFC is named:

1. Learn what the recipient's domain demands of its hosts: its MTA-STS policy (RFC 8461) and its
   signed TLSA records (RFC 7672). What cannot be learned, because the DNS or the policy's host is
   silent, holds the message back where an attacker could gain by it (`_Demands`).
2. Take an idle session with the same hosts, source address, EHLO name and demands, if there is
   one (`session_pool`). Sessions under a policy serve one domain only.
3. Else look up the hosts by preference, those of equal preference in random order (5.1; without
   an MX record the domain itself, and none for a null MX, RFC 7505: `mx_hosts`), and their
   addresses of the family that the source address has.
4. Leave out hosts that an enforced policy does not name (RFC 8461 4.1), and addresses that are
   not public.
5. Try the addresses in turn, at most ``MOST_ADDRESSES`` (5.1), until one opens a session:
   greeting (3.1), EHLO (4.1.1.1), STARTTLS if it is offered (RFC 3207), EHLO again. TLS is
   opportunistic and the certificate not checked (RFC 7435), unless the domain demands both: then
   a host without them is passed over. So is one that cannot be reached, or refuses the session.
6. If none opens a session: the message waits if any failure was temporary (4.5.4.1). It fails
   only if all hosts that were tried refused with a 5xx; its outcome is the reply of the best of
   them.
7. On the session: MAIL, RCPT, DATA (3.3), and the final dot under the commit lock. From here the
   reply of this host counts, whatever it is (4.2.1: 4xx waits, 5xx fails), and no other host is
   tried.
8. The session goes back to the pool, unless its hosts have changed meanwhile.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice

from chalicelib.core.addresses import domain_of
from chalicelib.core.bounce_classes import DNS_FAILURE, SOFT_BOUNCE
from chalicelib.core.tls_results import (
    DNSSEC_INVALID,
    INVALID,
    NO_POLICY,
    NO_STARTTLS,
    STS,
    SUCCESS,
    TLSA,
)
from chalicelib.delivery.dane.records import NOTHING, DomainRecords, HostRecords, Unknown
from chalicelib.delivery.mta_sts.policy import Mode, Policy, PolicyUnavailable
from chalicelib.delivery.outcome import Failed, Outcome, Retry, internal
from chalicelib.delivery.tls_reports.session_result import SessionResult
from chalicelib.delivery.transports import Commit, OutboundMessage, join_hosts
from chalicelib.delivery.transports.idle_sessions import SessionKey
from chalicelib.delivery.transports.mx_hosts import MailHosts, Resolver
from chalicelib.delivery.transports.session_pool import PoolLimits, SessionPool
from chalicelib.delivery.transports.smtp_opening import (
    SessionOptions,
    SessionRefused,
    TlsFailed,
    TlsMode,
    open_session,
)
from chalicelib.delivery.transports.smtp_session import SessionFailed, SmtpSession

DANE, MTA_STS = "dane", "mta-sts"
"""The names of the policies in outcomes."""

MOST_ADDRESSES = 5
"""Addresses tried for one message in one attempt."""

RecordsOf = Callable[[str], DomainRecords]
"""Returns what is published for DANE about the mail hosts of a domain."""

Observe = Callable[[SessionResult], None]
"""Takes note of how a session ended, as far as TLS goes."""

PolicyOf = Callable[[str], Policy | PolicyUnavailable | None]
"""Returns the MTA-STS policy of a domain (in A-labels, lower case), or why there is none."""


def no_policy(_: str) -> None:
    """Return that no domain has a policy, for a transport that does without MTA-STS."""


def no_records(_: str) -> DomainRecords:
    """Return that nothing is published, for a transport that does without DANE."""
    return NOTHING


def ignore(_: SessionResult) -> None:
    """Do not count sessions, for a transport that makes no TLS reports."""


class _UnknownRecords(SessionFailed):
    """It is unknown whether a host has TLSA records."""


@dataclass(frozen=True, slots=True)
class _Demands:
    """What the recipient's domain demands of its hosts, by MTA-STS and by DANE.

    Of a policy that is not enforced nothing is demanded. ``is_reported`` says whether TLS reports
    count the sessions: those that carry such reports would always make another one.
    """

    domain: str
    sts: Policy | PolicyUnavailable | None
    records: DomainRecords
    is_reported: bool = True

    @property
    def policy(self) -> Policy | None:
        """The MTA-STS policy, if it is enforced."""
        return self.sts if isinstance(self.sts, Policy) and self.sts.is_enforced else None

    def __bool__(self) -> bool:
        return self.policy is not None or self.records.protects

    def __str__(self) -> str:
        names = ["MTA-STS"] * (self.policy is not None) + ["DANE"] * self.records.protects
        return " and ".join(names)

    def allows(self, host: str) -> bool:
        """Tell whether mail may go to a host that keeps to the rest."""
        return self.policy is None or self.policy.allows(host)

    def tested_policy(self, host: str) -> Policy | None:
        """Return a policy that is not enforced and wants to know if a host keeps to it."""
        if not isinstance(self.sts, Policy) or self.sts.mode is not Mode.TESTING:
            return None
        return None if self.records.of(host) else self.sts

    def result(self, kind: str, host: str = "", sending_ip: str = "") -> SessionResult:
        """Return how a session ended, for the report to the domain."""
        tlsa = self.records.of(host) if host else None
        about = (kind, host, sending_ip)
        if tlsa:
            records = map(str, tlsa.records) if isinstance(tlsa, HostRecords) else ()
            return SessionResult(self.domain, TLSA, *about, tuple(records))
        if isinstance(self.sts, PolicyUnavailable):
            return SessionResult(self.domain, STS, kind or self.sts.kind, host, sending_ip)
        if self.sts and self.sts.mode is not Mode.NONE:
            return SessionResult(self.domain, STS, *about, self.sts.lines, self.sts.hosts)
        return SessionResult(self.domain, NO_POLICY, *about)

    def options(self, host: str, options: SessionOptions) -> SessionOptions:
        """Return how to open a session with a host; raises SessionFailed if that is not known."""
        tlsa = self.records.of(host)
        if isinstance(tlsa, Unknown):
            raise _UnknownRecords(Retry(451, internal("4.7.5", tlsa.reason), DNS_FAILURE))
        if tlsa and (tlsa.records or not self.policy):
            return replace(options, tls=TlsMode.REQUIRED, tlsa=tlsa, policy=DANE)
        if self.policy:
            return replace(options, tls=TlsMode.REQUIRED, verify=True, policy=MTA_STS)
        return options


class MxTransport:
    """Deliver to the hosts that the DNS names, and reuse sessions for domains with the same hosts.

    `limits.connections` bounds the connections of a message's path, or else of its domain.
    Sessions under an enforced policy or TLSA records are for messages to the same domain only.
    """

    def __init__(
        self,
        resolver: Resolver,
        options: SessionOptions | None = None,
        limits: PoolLimits | None = None,
        ehlo_name: str = "",
        *,
        port: int = 25,
        allow_private: bool = False,
        policy_of: PolicyOf = no_policy,
        records_of: RecordsOf = no_records,
        observe: Observe = ignore,
    ) -> None:
        self._hosts = MailHosts(resolver, allow_private=allow_private)
        self._options = options or SessionOptions()
        self._pool = SessionPool(limits or PoolLimits())
        self._ehlo_name = ehlo_name or socket.gethostname()
        self._port = port
        self._policy_of = policy_of
        self._records_of = records_of
        self._observe = observe

    def deliver(self, message: OutboundMessage, commit: Commit) -> Outcome:
        """Attempt the message once."""
        domain = domain_of(message.recipient)  # the resolver refuses an unusable name
        ehlo_name = message.ehlo_name or self._ehlo_name
        demands = self._demands(domain, is_tls_report=message.is_tls_report)
        hosts = f"{domain} ({demands})" if demands else message.hosts or domain
        key = SessionKey(hosts, message.source_address, ehlo_name, message.path or domain)
        has_same_hosts = True

        def connect() -> SmtpSession:
            nonlocal has_same_hosts
            hosts = self._hosts.hosts_of(domain)
            has_same_hosts = message.hosts in ("", join_hosts(hosts))
            session = self._connect(hosts, key, demands)
            # Whoever owns the domain may have changed its hosts since ``message.hosts`` was looked
            # up, and must not get the mail of others who have those
            session.is_reusable = has_same_hosts or bool(demands)
            return session

        outcome = self._pool.send(key, connect, message, commit)
        if has_same_hosts:
            message.on_answer(outcome)
        return outcome

    def _demands(self, domain: str, *, is_tls_report: bool) -> _Demands:
        """Return what a domain demands; nothing of a report about how that fails."""
        if is_tls_report:
            return _Demands(domain, None, NOTHING, is_reported=False)
        return _Demands(domain, self._policy_of(domain), self._records_of(domain))

    def close(self) -> None:
        """Close every idle connection."""
        self._pool.close()

    def _connect(self, hosts: Sequence[str], key: SessionKey, demands: _Demands) -> SmtpSession:
        """Return a session with the best host that opens one and does what its domain demands.

        RFC 5321 5.1: the addresses are tried in order until a delivery attempt succeeds.
        """
        failures: list[SessionFailed] = []
        candidates = self._candidates(hosts, key.source_address, demands)
        for host, address in islice(candidates, MOST_ADDRESSES):
            try:
                return self._open(host, address, key, demands)
            except SessionFailed as error:
                failures.append(error)
        if not failures:
            self._count(demands, INVALID)
            text = f"the MTA-STS policy of {demands.domain} names none of its mail hosts"
            raise SessionFailed(Retry(454, internal("4.7.5", text), SOFT_BOUNCE))
        raise _failure_of(failures)

    def _open(self, host: str, address: str, key: SessionKey, demands: _Demands) -> SmtpSession:
        """Return a session with a host, and count how it fares by TLS; raises SessionFailed."""
        try:
            options = demands.options(host, self._options)
            session, failure = self._tested(host, address, key, demands)
            session = session or self._session(host, address, key, options)
        except TlsFailed as error:
            self._count(demands, error.kind, host, error.outcome.sending_ip or "")
            raise _explained(error, options, demands.domain) from error
        except _UnknownRecords as error:
            self._count(demands, DNSSEC_INVALID, host)
            raise error
        failure = failure or session.tls_failure
        kind = failure or (SUCCESS if session.is_encrypted else NO_STARTTLS)
        self._count(demands, kind, host, session.sending_ip)
        return session

    def _count(self, demands: _Demands, kind: str, host: str = "", sending_ip: str = "") -> None:
        if demands.is_reported:
            self._observe(demands.result(kind, host, sending_ip))

    def _tested(
        self, host: str, address: str, key: SessionKey, demands: _Demands
    ) -> tuple[SmtpSession | None, str]:
        """Return a session as a policy that is being tested wants it, or why there is none.

        Its domain wants to know what an enforced policy would hold back (RFC 8461 5).
        """
        policy = demands.tested_policy(host)
        if policy is None:
            return None, ""
        if not policy.allows(host):
            return None, INVALID
        try:
            options = replace(self._options, tls=TlsMode.REQUIRED, verify=True)
            return self._session(host, address, key, options), ""
        except TlsFailed as error:
            return None, error.kind

    def _session(
        self, host: str, address: str, key: SessionKey, options: SessionOptions
    ) -> SmtpSession:
        return open_session(
            (address, self._port),
            key.ehlo_name,
            options,
            source_address=key.source_address,
            host_name=options.tlsa.name if options.tlsa else host,
        )

    def _candidates(
        self, hosts: Sequence[str], source_address: str | None, demands: _Demands
    ) -> Iterator[tuple[str, str]]:
        """Yield host name and IP address to try, without the hosts that a policy does not name."""
        candidates = self._hosts.addresses(demands.domain, hosts, source_address)
        return (each for each in candidates if demands.allows(each[0]))


def _explained(failure: TlsFailed, options: SessionOptions, domain: str) -> SessionFailed:
    """Return a failure that says whose demand it was that required TLS."""
    if options.tlsa:
        reason = f"the TLSA records of {options.tlsa.name} require it"
    elif options.policy:
        reason = f"the MTA-STS policy of {domain} requires it"
    else:
        return failure
    outcome = failure.outcome
    return SessionFailed(replace(outcome, reply=f"{outcome.reply} ({reason})"))


def _failure_of(failures: Sequence[SessionFailed]) -> SessionFailed:
    """Return the outcome for the message when all hosts that were tried (at least one) failed.

    RFC 5321 4.5.4.1: what failed for now is tried again. Of refusals the best host's counts.
    """
    temporary = [failure for failure in failures if not _is_final(failure)]
    if temporary:
        return temporary[-1]
    return SessionFailed(Failed(**asdict(failures[0].outcome)))


def _is_final(failure: SessionFailed) -> bool:
    return isinstance(failure, SessionRefused) and failure.outcome.code >= 500
