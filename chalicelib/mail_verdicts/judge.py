"""Judge a received message: SPF, DKIM, DMARC and ARC, and what scanners say of it.

The message is of a stranger, and may be anything: no verdict raises, and each takes time in
proportion to the size. A large message is read in pieces.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from typing import TypeVar

from chalicelib.core.cached_dns import Lookups
from chalicelib.core.dns import LookupFailed
from chalicelib.core.domain_names import in_a_labels
from chalicelib.core.settings import settings
from chalicelib.core.spool import Octets
from chalicelib.dkim import arc, verification
from chalicelib.dkim.signed_message import SignedMessage
from chalicelib.mail_verdicts.author import NoAuthor, author_domain
from chalicelib.mail_verdicts.dmarc import judge_dmarc
from chalicelib.mail_verdicts.model import (
    HELO,
    MFROM,
    NEUTRAL,
    PERMANENT,
    TEMPORARY,
    ArcVerdict,
    DkimVerdict,
    DmarcVerdict,
    Origin,
    SpfVerdict,
    Verdicts,
)
from chalicelib.mail_verdicts.scans import Scans
from chalicelib.sender_requirements.dmarc import record_names
from chalicelib.spf import evaluation

_log = logging.getLogger(__name__)

T = TypeVar("T")

#: Sets of ARC whose keys are looked up at once. Most chains are shorter, and a longer one shall not
#: have all threads: it may lead to name servers that never answer
_SETS_AT_ONCE = 5

_TOO_LARGE = "the header section is too large"
_FAULT = "the check failed"
_UNKNOWN_SIGNATURES: tuple[DkimVerdict, ...] = (DkimVerdict(TEMPORARY, reason=_FAULT),)


def judge(octets: Octets, origin: Origin) -> Verdicts:
    """Return the verdicts on a message with CRLF line ends; never raises.

    The look-ups take at most ``VERDICT_TIMEOUT`` seconds, the scans ``SCAN_TIMEOUT``.
    """
    scans = Scans.start(octets, origin)
    lookups = Lookups(settings().verdict_timeout)
    message = SignedMessage(octets)
    _guarded(lambda: lookups.start(_questions(message, origin)), None)
    spf = _guarded(lambda: judge_spf(origin, lookups), SpfVerdict(TEMPORARY, reason=_FAULT))
    dkim: tuple[DkimVerdict, ...] = _guarded(
        lambda: _judge_dkim(message, lookups), (DkimVerdict(TEMPORARY, reason=_FAULT),)
    )
    dmarc = _guarded(
        lambda: _judge_dmarc(message, spf, dkim, lookups), DmarcVerdict(TEMPORARY, reason=_FAULT)
    )
    chain = _guarded(lambda: _judge_arc(message, lookups), ArcVerdict(TEMPORARY, reason=_FAULT))
    return Verdicts(spf, dkim, dmarc, chain, scans.spam(), scans.virus())


def judge_spf(origin: Origin, lookups: Lookups) -> SpfVerdict:
    """Return the verdict of SPF on the reverse-path, or on HELO where that is empty."""
    scope, domain = _spf_identity(origin)
    sender = evaluation.Sender(
        origin.peer_ip,
        origin.helo,
        origin.mail_from if scope == MFROM else f"postmaster@{domain}",
        settings().mail_hostname,
    )
    outcome = evaluation.check(sender, lookups)
    reason = outcome.reason
    if outcome.explanation:
        reason = f"{reason}: {outcome.explanation[:500]}"
    return SpfVerdict(outcome.result, domain, scope, reason)


def _spf_identity(origin: Origin) -> tuple[str, str]:
    """Return the scope of SPF, and the domain in A-labels."""
    scope, name = (MFROM, origin.mail_from) if origin.mail_from else (HELO, origin.helo)
    domain = name.rpartition("@")[2].lower()
    return scope, in_a_labels(domain) or domain


def _judge_dkim(message: SignedMessage, lookups: Lookups) -> tuple[DkimVerdict, ...]:
    if message.is_too_large:
        return (DkimVerdict(NEUTRAL, reason=_TOO_LARGE),)
    return tuple(
        DkimVerdict(each.result, each.domain, each.selector, each.problem)
        for each in verification.signatures_of(message, lookups.texts)
    )


def _judge_dmarc(
    message: SignedMessage, spf: SpfVerdict, dkim: tuple[DkimVerdict, ...], lookups: Lookups
) -> DmarcVerdict:
    try:
        author = author_domain(message)
    except NoAuthor as error:
        return DmarcVerdict(PERMANENT, reason=str(error))
    return judge_dmarc(author, spf, dkim, lookups)


def _judge_arc(message: SignedMessage, lookups: Lookups) -> ArcVerdict:
    if message.is_too_large:
        return ArcVerdict(reason=_TOO_LARGE)
    chain = arc.chain_of(message, lookups.texts)
    return ArcVerdict(chain.result, chain.sets, chain.sealer, chain.oldest_pass, chain.reason)


def _questions(message: SignedMessage, origin: Origin) -> Iterator[tuple[str, str]]:
    """Yield the look-ups that are needed whatever the others bring."""
    _, sender = _spf_identity(origin)
    if evaluation.is_domain(sender):
        yield sender, "TXT"
    signatures = islice(message.fields_with(verification.FIELD), verification.MOST_SIGNATURES)
    seals = arc.arc_fields(message)[: 3 * _SETS_AT_ONCE]
    names = dict.fromkeys(verification.key_names([*signatures, *seals]))
    with suppress(NoAuthor):
        names.update(dict.fromkeys(record_names(author_domain(message))))
    for name in names:
        yield name, "TXT"


def _guarded(check: Callable[[], T], failure: T) -> T:
    """Return what a check returns, or ``failure`` if it fails."""
    try:
        return check()
    except LookupFailed as error:
        _log.info("a check of a received message got no answer: %s", error)
    except Exception:
        _log.exception("a check of a received message failed")
    return failure
