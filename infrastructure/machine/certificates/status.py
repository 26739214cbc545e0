"""Tell how each certificate is, for alarms and for the doctor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from infrastructure.machine.certificates.certificate_facts import CertificateFacts, read_facts
from infrastructure.machine.certificates.pauses import (
    EVERYONE,
    SERVICE,
    OrderState,
    Pause,
    read_state,
)
from infrastructure.machine.certificates.tls_files import TlsFiles
from relay.tls import CertificateFiles

#: With less than this part of its lifetime left, a certificate does not renew: it should have
#: renewed at a third
_ALARM_PART = 1 / 5
_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class CertificateStatus:
    """One certificate. Times are seconds since the epoch.

    ``not_after`` is ``None`` if the file is missing or cannot be used; ``names`` are then those
    that it should have, as far as they are known. ``failure`` is the authority's answer to the last
    order, ``None`` after a success.
    """

    path: Path
    names: tuple[str, ...]
    not_after: float | None
    is_self_signed: bool
    failure: str | None
    failed_at: float | None
    next_attempt_at: float | None
    does_not_renew: bool


def certificate_status(
    data_dir: Path, now: float, *, wants_acme: bool = True
) -> list[CertificateStatus]:
    """Return the status of the service's certificate, then those of tracking domains by name.

    ``wants_acme`` tells whether certificates are obtained by ACME; otherwise the service's own may
    be self-signed.
    """
    files = TlsFiles(data_dir)
    state = read_state(files.state) if wants_acme else OrderState({}, None)
    service = _status(files.service, state.pauses.get(SERVICE), now)
    if state.missing_since is not None and now - state.missing_since > _HOUR:
        service = replace(service, does_not_renew=True)
    return [service, *_of_tracking_domains(files, state, now)]


def file_status(certificate: CertificateFiles, now: float) -> CertificateStatus:
    """Return the status of the operator's own files; they do not renew when they end soon."""
    return _status(certificate, None, now)


def _of_tracking_domains(
    files: TlsFiles, state: OrderState, now: float
) -> Iterator[CertificateStatus]:
    names = {path.name.removesuffix(".pem") for path in files.tracking.glob("*.pem")}
    for name in sorted(names | (state.pauses.keys() - {SERVICE, EVERYONE})):
        path = files.tracking_file(name)
        pause = state.pauses.get(name)
        yield _status(CertificateFiles(path, path), pause, now, names=(name,))


def _status(
    files: CertificateFiles, pause: Pause | None, now: float, names: tuple[str, ...] = ()
) -> CertificateStatus:
    facts = read_facts(files)
    wanted_names = names or (pause.names if pause else ())
    return CertificateStatus(
        path=files.certificate,
        names=tuple(sorted(facts.names)) if facts else wanted_names,
        not_after=facts.not_after if facts else None,
        is_self_signed=facts is not None and facts.is_self_signed,
        failure=pause.text if pause else None,
        failed_at=pause.failed_at if pause else None,
        next_attempt_at=pause.until if pause else None,
        does_not_renew=_ends_soon(facts, now),
    )


def _ends_soon(facts: CertificateFacts | None, now: float) -> bool:
    return facts is not None and facts.remaining(now) < _ALARM_PART
