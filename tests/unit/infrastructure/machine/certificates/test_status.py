from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.machine.certificates.pauses import EVERYONE, SERVICE, Pauses
from infrastructure.machine.certificates.service_certificate import install, provide
from infrastructure.machine.certificates.status import certificate_status, file_status
from infrastructure.machine.certificates.tls_files import TlsFiles
from relay.tls import CertificateFiles
from tests.unit.infrastructure.machine.certificates.issuing import (
    DAY,
    DIRECTORY,
    NOW,
    issued_pair,
    store_tracking_certificate,
)

HOUR = 3600.0


@pytest.fixture
def files(tmp_path: Path) -> TlsFiles:
    files = TlsFiles(tmp_path)
    files.make_folders()
    return files


def test_each_certificate_has_its_names_and_its_end(files: TlsFiles) -> None:
    install(files, issued_pair(["links.a.test", "mail.a.test"]))
    store_tracking_certificate(files.data_dir, "b.test", issued_pair(["b.test"], days=6))
    service, tracking = certificate_status(files.data_dir, NOW)
    assert service.names == ("links.a.test", "mail.a.test")
    assert service.path == files.service.certificate
    assert service.not_after == NOW + 90 * DAY
    assert (tracking.names, tracking.not_after) == (("b.test",), NOW + 6 * DAY)
    assert not service.does_not_renew
    assert tracking.failure is None


def test_a_certificate_does_not_renew_when_less_than_a_fifth_is_left(files: TlsFiles) -> None:
    install(files, issued_pair(["mail.a.test"]))
    store_tracking_certificate(files.data_dir, "b.test", issued_pair(["b.test"], days=10))
    ends_soon = [
        [each.does_not_renew for each in certificate_status(files.data_dir, NOW + days * DAY)]
        for days in (7.9, 8.1, 71.9, 72.1)
    ]
    assert ends_soon == [[False, False], [False, True], [False, True], [True, True]]


def test_a_failure_is_shown_with_and_without_a_certificate(files: TlsFiles) -> None:
    pauses = Pauses(files.state, DIRECTORY)
    install(files, issued_pair(["mail.a.test"]))
    pauses.add(SERVICE, "no such name", NOW, 600, ["mail.a.test"])
    pauses.add("b.test", "connection refused", NOW + 1, 600, ["b.test"])
    pauses.add(EVERYONE, "limit", NOW, 600)
    service, tracking = certificate_status(files.data_dir, NOW)
    assert (service.failure, service.failed_at) == ("no such name", NOW)
    assert (tracking.names, tracking.not_after) == (("b.test",), None)
    assert (tracking.failure, tracking.next_attempt_at) == ("connection refused", NOW + 601)


@pytest.mark.parametrize("wants_acme", [False, True])
def test_a_self_signed_certificate_is_an_alarm_after_an_hour_where_acme_is_wanted(
    files: TlsFiles, wants_acme: bool
) -> None:
    provide(files.data_dir, ["mail.a.test"])
    Pauses(files.state, DIRECTORY).note_service(is_missing=True, now=NOW)
    for seconds, is_late in ((HOUR, False), (HOUR + 1, True)):
        (service,) = certificate_status(files.data_dir, NOW + seconds, wants_acme=wants_acme)
        assert service.is_self_signed
        assert service.does_not_renew is (is_late and wants_acme)


def test_the_operators_file_is_an_alarm_when_it_ends_soon_or_is_damaged(tmp_path: Path) -> None:
    pair = issued_pair(["own.a.test"])
    path = store_tracking_certificate(tmp_path, "own", pair)
    own = CertificateFiles(path, path)
    assert not file_status(own, NOW).does_not_renew
    assert file_status(own, NOW + 80 * DAY).does_not_renew
    path.write_text("half a certi")
    assert file_status(own, NOW).not_after is None
