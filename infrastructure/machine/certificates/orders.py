"""Say which certificates must be ordered now, and in which order."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from infrastructure.machine.certificates.certificate_facts import CertificateFacts, FactsCache
from infrastructure.machine.certificates.pauses import EVERYONE, SERVICE, Pauses
from infrastructure.machine.certificates.tls_files import TlsFiles
from relay.tls import CertificateFiles

#: A certificate is renewed when this part of its lifetime is left
RENEWAL_PART = 1 / 3


@dataclass(frozen=True, slots=True)
class Order:
    """An order of one certificate; ``key`` is that of its pause.

    ``not_after`` is when the present certificate ends, in seconds since the epoch; 0 for none.
    """

    key: str
    names: tuple[str, ...]
    files: CertificateFiles
    not_after: float


class OrderPlan:
    """What the certificates at one authority need."""

    def __init__(self, files: TlsFiles, directory: str, pauses: Pauses) -> None:
        """``directory`` is the address of the authority's directory."""
        self._files = files
        self._directory = directory
        self._pauses = pauses
        self._cache = FactsCache()

    def service(self, names: Collection[str], now: float) -> Order | None:
        """Return the order of the service's certificate if one is due.

        Only its own failures pause it. Since when it is missing is stored for the alarms.
        """
        facts = self._cache.facts(self._files.service)
        is_missing = facts is None or facts.is_self_signed
        self._pauses.note_service(is_missing=is_missing, now=now)
        order = Order(SERVICE, tuple(names), self._files.service, _end(facts))
        return order if self._is_due(order, facts, now) else None

    def tracking(self, names: Iterable[str], now: float) -> list[Order]:
        """Return the due orders of tracking domains: those that failed least and end first."""
        if self._pauses.is_paused(EVERYONE, now):
            return []
        orders = []
        for name in names:
            path = self._files.tracking_file(name)
            files = CertificateFiles(path, path)
            facts = self._cache.facts(files)
            order = Order(name, (name,), files, _end(facts))
            if self._is_due(order, facts, now):
                orders.append(order)
        return sorted(orders, key=self._rank)

    def forget(self, names: Iterable[str]) -> None:
        """Forget what is cached of tracking domains that are gone."""
        for name in names:
            path = self._files.tracking_file(name)
            self._cache.forget(CertificateFiles(path, path))

    def _is_due(self, order: Order, facts: CertificateFacts | None, now: float) -> bool:
        if not order.names or self._pauses.is_paused(order.key, now, order.names):
            return False
        return (
            facts is None
            or facts.directory != self._directory
            or facts.names != set(order.names)
            or facts.remaining(now) <= RENEWAL_PART
        )

    def _rank(self, order: Order) -> tuple[int, float, str]:
        return self._pauses.failures(order.key, order.names), order.not_after, order.key


def _end(facts: CertificateFacts | None) -> float:
    return facts.not_after if facts else 0.0
