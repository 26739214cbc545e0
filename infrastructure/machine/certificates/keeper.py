"""Obtain, renew and drop the certificates of the service and of its tracking domains."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol

from infrastructure.local.supervisor.private_files import replace_private
from infrastructure.machine.certificates import challenges, service_certificate
from infrastructure.machine.certificates.host_names import (
    NamesReader,
    TrackingNames,
    in_certificates,
    objection,
)
from infrastructure.machine.certificates.order_failure import Failure, OrderFailed
from infrastructure.machine.certificates.orders import Order, OrderPlan
from infrastructure.machine.certificates.pause_lengths import own_pause, pause_for_everyone
from infrastructure.machine.certificates.pauses import EVERYONE, SERVICE, Pauses
from infrastructure.machine.certificates.tls_files import TlsFiles
from relay.self_signed import PemPair

log = logging.getLogger(__name__)

#: Orders take seconds each, and authorities limit how many may come in an hour
ORDERS_PER_STEP = 3


class Authority(Protocol):
    """Whoever gives certificates; see ``acme_authority``."""

    def obtain(self, names: Sequence[str]) -> PemPair:
        """Return a certificate for the names; raises OrderFailed."""


class CertificateKeeper:
    """Keeps the certificates of one data directory, in steps."""

    def __init__(
        self,
        files: TlsFiles,
        service_names: Sequence[str],
        directory: str,
        make_authority: Callable[[], Authority],
        reader: NamesReader | None = None,
    ) -> None:
        """``directory`` is the address of the directory of ``make_authority()``.

        The authority is made for the first order, because its libraries take memory. What an
        earlier process left half done is finished, and its challenges are withdrawn.
        """
        files.make_folders()
        service_certificate.finish(files)
        challenges.withdraw_all(files.challenges)
        self._files = files
        self._service_names = in_certificates(service_names)
        self._make_authority = make_authority
        self._authority: Authority | None = None
        self._reader = reader or NamesReader()
        self._pauses = Pauses(files.state, directory)
        self._plan = OrderPlan(files, directory, self._pauses)
        self._objectionable: set[str] = set()

    def tend(self, now: float) -> None:
        """Place the orders that are due: a few, the service's own names first.

        ``now`` is seconds since the epoch. Each order takes some seconds, at worst two minutes.
        Failures are logged and lead to pauses; nothing is raised for them.
        """
        for order in self._due(now)[:ORDERS_PER_STEP]:
            if not self._attempt(order, now):
                return

    def _due(self, now: float) -> list[Order]:
        service = self._plan.service(self._without_objection(self._service_names), now)
        names = self._tracking_names()
        if names is None:
            return [service] if service else []
        self._drop(names.existing)
        in_service = sorted(names.in_service - set(self._service_names))
        tracking = self._plan.tracking(self._without_objection(in_service), now)
        return [service, *tracking] if service else tracking

    def _tracking_names(self) -> TrackingNames | None:
        try:
            return self._reader.names()
        except Exception as error:  # the service's own certificate does not depend on its storage
            log.warning("tracking domains cannot be read: %s: %s", type(error).__name__, error)
            return None

    def _without_objection(self, names: Iterable[str]) -> list[str]:
        """Return the names that an authority may accept; the others are logged once."""
        objections = {name: text for name in names if (text := objection(name))}
        for name in objections.keys() - self._objectionable:
            log.warning("%s cannot have a certificate: %s", name, objections[name])
        self._objectionable |= objections.keys()
        return [name for name in names if name not in objections]

    def _attempt(self, order: Order, now: float) -> bool:
        """Place an order; return ``False`` if others would fail for the same reason."""
        authority = self._authority = self._authority or self._make_authority()
        try:
            pair = authority.obtain(order.names)
        except OrderFailed as error:
            return self._note_failure(order, error.failure, now)
        self._install(order, pair)
        # The service's own order does not wait for everyone's pause, so that it does not end it
        self._pauses.remove([SERVICE] if order.key == SERVICE else [order.key, EVERYONE])
        log.info("certificate obtained for %s", ", ".join(order.names))
        return True

    def _install(self, order: Order, pair: PemPair) -> None:
        if order.key == SERVICE:
            service_certificate.install(self._files, pair)
        else:
            replace_private(order.files.certificate, (pair.certificate + pair.key).decode())

    def _note_failure(self, order: Order, failure: Failure, now: float) -> bool:
        seconds = pause_for_everyone(failure, self._pauses.failures(EVERYONE))
        is_others = seconds > 0
        if is_others:
            self._pauses.add(EVERYONE, failure.text, now, seconds)
        if order.key == SERVICE or not failure.is_general:
            seconds = own_pause(failure, self._pauses.failures(order.key, order.names))
            self._pauses.add(order.key, failure.text, now, seconds, order.names)
        log.warning(
            "no certificate for %s, next attempt in %d minutes: %s",
            ", ".join(order.names),
            round(seconds / 60),
            failure.text,
        )
        return not is_others

    def _drop(self, existing: frozenset[str]) -> None:
        """Remove the files and pauses of tracking domains that no longer exist."""
        names = {path.name.removesuffix(".pem") for path in self._files.tracking.glob("*.pem")}
        for name in names - existing:
            self._files.tracking_file(name).unlink(missing_ok=True)
            log.info("certificate of %s removed: no account has this domain now", name)
        self._plan.forget(names - existing)
        self._pauses.remove(self._pauses.keys() - existing - {SERVICE, EVERYONE})
        self._objectionable &= existing | set(self._service_names)


def certificate_keeper(
    data_dir: Path,
    service_names: Sequence[str],
    directory: str,
    contact: str,
    ca_file: Path | None = None,
) -> CertificateKeeper:
    """Return the keeper that orders at the ACME directory with the address ``directory``.

    ``contact`` is the address of mail that the authority may write to, or empty. ``ca_file`` has
    the authorities that the directory's own certificate may be from, for test authorities.
    """
    files = TlsFiles(data_dir)

    def make_authority() -> Authority:
        from infrastructure.machine.certificates.acme_authority import AcmeAuthority

        return AcmeAuthority(directory, files, contact, ca_file)

    return CertificateKeeper(files, service_names, directory, make_authority)
