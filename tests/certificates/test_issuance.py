"""Certificates come from a real authority, and running servers show them."""

from __future__ import annotations

import ssl
import time
from collections.abc import Collection, Sequence
from pathlib import Path

import pytest

from infrastructure.machine.certificates.acme_authority import AcmeAuthority
from infrastructure.machine.certificates.host_names import NamesReader, TrackingNames
from infrastructure.machine.certificates.keeper import CertificateKeeper
from infrastructure.machine.certificates.status import CertificateStatus, certificate_status
from infrastructure.machine.certificates.tls_files import TlsFiles
from tests.certificates.conftest import require_pebble
from tests.certificates.machine import SERVICE_NAMES, Machine, eventually
from tests.certificates.pebble import ELSEWHERE, Pebble, run_pebble
from tests.free_ports import free_port

MINUTE, DAY = 60.0, 86_400.0
LOST = f"lost.{ELSEWHERE}"


def keeper(
    machine: Machine,
    pebble: Pebble,
    tracking: Collection[str] = (),
    service_names: Sequence[str] = SERVICE_NAMES,
    contact: str = "admin@sender.test",
) -> CertificateKeeper:
    files = TlsFiles(machine.data_dir)
    names = TrackingNames(frozenset(tracking), frozenset(tracking))
    return CertificateKeeper(
        files,
        service_names,
        pebble.directory,
        lambda: AcmeAuthority(pebble.directory, files, contact, pebble.ca_file),
        NamesReader(lambda: names),
    )


def statuses(machine: Machine, now: float) -> dict[str, CertificateStatus]:
    """Return the status of each certificate by the name of its file."""
    return {each.path.name: each for each in certificate_status(machine.data_dir, now)}


def is_trusted(machine: Machine, name: str, trust: ssl.SSLContext, port: int) -> bool:
    try:
        return bool(machine.serial(name, trust, port))
    except ssl.SSLCertVerificationError:
        return False


@pytest.fixture
def now() -> float:
    return time.time()


def test_running_servers_go_over_from_the_self_made_certificate_to_the_authoritys(
    machine: Machine, pebble: Pebble, now: float
) -> None:
    root = pebble.root()
    ports = (machine.https_port, machine.smtps_port)
    for port in ports:
        assert not is_trusted(machine, SERVICE_NAMES[0], root, port)
    keeper(machine, pebble).tend(now)
    for port in ports:
        for name in SERVICE_NAMES:
            eventually(lambda name=name, port=port: is_trusted(machine, name, root, port))
    assert machine.serial(SERVICE_NAMES[0], root) == machine.serial(SERVICE_NAMES[1], root)
    assert list(TlsFiles(machine.data_dir).challenges.iterdir()) == []


def test_a_tracking_domain_has_a_certificate_of_its_own(
    machine: Machine, pebble: Pebble, now: float
) -> None:
    long_name = f"{'a' * 60}.{'b' * 60}.test"
    names = {"click.customer.test", "xn--bcher-kva.customer.test", long_name}
    keeper(machine, pebble, names, service_names=()).tend(now)
    root = pebble.root()
    serials = {machine.serial(name, root) for name in names}
    assert len(serials) == 3
    with pytest.raises(ssl.SSLCertVerificationError):  # another name gets the service's
        machine.serial("stranger.test", root)


def test_a_certificate_is_renewed_when_a_third_of_its_lifetime_is_left(
    machine: Machine, tmp_path: Path, now: float
) -> None:
    require_pebble()
    name = "click.customer.test"
    with run_pebble(tmp_path / "pebble", machine.http_port, days=6) as pebble:
        tending = keeper(machine, pebble, [name])
        tending.tend(now)
        root = pebble.root()
        eventually(lambda: is_trusted(machine, name, root, machine.https_port))
        serials = [machine.serial(each, root) for each in (SERVICE_NAMES[0], name)]
        tending.tend(now + 3.9 * DAY)
        assert [machine.serial(each, root) for each in (SERVICE_NAMES[0], name)] == serials
        tending.tend(now + 4.1 * DAY)
        for each, serial in zip((SERVICE_NAMES[0], name), serials, strict=True):
            eventually(lambda each=each, serial=serial: machine.serial(each, root) != serial)


def test_a_name_that_fails_waits_and_stops_no_other(
    machine: Machine, pebble: Pebble, now: float
) -> None:
    tracking = ["click.customer.test", LOST]
    keeper(machine, pebble, tracking).tend(now)
    certificates = statuses(machine, now)
    assert certificates["certificate.pem"].failure is None
    assert certificates["click.customer.test.pem"].not_after
    failure = certificates[f"{LOST}.pem"]
    assert failure.failure
    assert LOST in failure.failure
    assert "could not resolve URL" in failure.failure
    assert failure.next_attempt_at == now + 10 * MINUTE
    for minutes in (9, 11, 30, 32):  # a new process each time
        keeper(machine, pebble, tracking).tend(now + minutes * MINUTE)
        attempt = {9: 0, 11: 11, 30: 11, 32: 32}[minutes]
        assert statuses(machine, now)[f"{LOST}.pem"].failed_at == now + attempt * MINUTE


def test_the_services_own_failure_stops_no_tracking_domain(
    machine: Machine, pebble: Pebble, now: float
) -> None:
    tending = keeper(machine, pebble, ["click.customer.test"], [SERVICE_NAMES[0], LOST])
    tending.tend(now)
    certificates = statuses(machine, now)
    assert certificates["certificate.pem"].is_self_signed
    assert LOST in (certificates["certificate.pem"].failure or "")
    assert certificates["click.customer.test.pem"].not_after
    assert not certificates["certificate.pem"].does_not_renew
    assert statuses(machine, now + 61 * MINUTE)["certificate.pem"].does_not_renew


def test_nonces_that_are_refused_are_no_failure(
    machine: Machine, tmp_path: Path, now: float
) -> None:
    require_pebble()
    folder = tmp_path / "pebble"
    with run_pebble(folder, machine.http_port, PEBBLE_WFE_NONCEREJECT="50") as pebble:
        keeper(machine, pebble).tend(now)
    assert not statuses(machine, now)["certificate.pem"].is_self_signed
    assert "badNonce" not in str(statuses(machine, now))


def test_an_authority_that_forgot_the_account_gets_a_new_one(
    machine: Machine, tmp_path: Path, now: float
) -> None:
    require_pebble()
    port = free_port()
    serials = []
    for number in range(2):
        with run_pebble(tmp_path / "pebble", machine.http_port, port=port) as pebble:
            keeper(machine, pebble).tend(now + number * 80 * DAY)
            root = pebble.root()
            eventually(
                lambda root=root: is_trusted(machine, SERVICE_NAMES[0], root, machine.https_port)
            )
            serials.append(machine.serial(SERVICE_NAMES[0], root))
    assert serials[0] != serials[1]


def test_a_changed_contact_is_told_to_the_authority(
    machine: Machine, pebble: Pebble, now: float
) -> None:
    keeper(machine, pebble, contact="first@sender.test").tend(now)
    folder = TlsFiles(machine.data_dir).account(pebble.directory)
    registration = folder / "registration.json"
    before = registration.read_text()
    keeper(machine, pebble, contact="second@sender.test").tend(now + 80 * DAY)
    assert registration.read_text() == before.replace("first@", "second@")
    assert statuses(machine, now)["certificate.pem"].failure is None


def test_an_authority_that_is_not_trusted_concerns_everyone(
    machine: Machine, pebble: Pebble, now: float, tmp_path: Path
) -> None:
    files = TlsFiles(machine.data_dir)
    names = TrackingNames(frozenset(["click.customer.test"]), frozenset(["click.customer.test"]))
    tending = CertificateKeeper(
        files,
        SERVICE_NAMES,
        pebble.directory,
        lambda: AcmeAuthority(pebble.directory, files, "", None),
        NamesReader(lambda: names),
    )
    tending.tend(now)
    (status,) = certificate_status(machine.data_dir, now)
    assert "certificate verify failed" in (status.failure or "")
    assert status.next_attempt_at == now + MINUTE
    assert status.is_self_signed
