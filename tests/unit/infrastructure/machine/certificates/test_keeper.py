from __future__ import annotations

import logging
import stat
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from infrastructure.machine.certificates.certificate_facts import read_facts
from infrastructure.machine.certificates.host_names import NamesReader, TrackingNames
from infrastructure.machine.certificates.keeper import CertificateKeeper, certificate_keeper
from infrastructure.machine.certificates.order_failure import Failure
from infrastructure.machine.certificates.service_certificate import provide
from infrastructure.machine.certificates.tls_files import TlsFiles
from relay.tls import CertificateFiles, TlsContexts
from tests.unit.infrastructure.machine.certificates.issuing import (
    DAY,
    DIRECTORY,
    NOW,
    FakeAuthority,
)

MINUTE, HOUR = 60.0, 3600.0
SERVICE = ("mail.a.test", "links.a.test")


class Tending:
    """A keeper with a fake authority, and the tracking domains that its accounts have."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.files = TlsFiles(data_dir)
        self.authority = FakeAuthority()
        self.service_names: tuple[str, ...] = SERVICE
        self.directory = DIRECTORY
        self.existing: frozenset[str] = frozenset()
        self.unverified: frozenset[str] = frozenset()
        self.read: Callable[[], TrackingNames] = lambda: TrackingNames(
            self.existing - self.unverified, self.existing
        )
        self.start()

    def start(self) -> None:
        """Begin again, as a new process would."""
        provide(self.data_dir, self.service_names)
        self.keeper = CertificateKeeper(
            self.files,
            self.service_names,
            self.directory,
            lambda: self.authority,
            NamesReader(lambda: self.read()),
        )

    def orders_at(self, seconds: float) -> list[tuple[str, ...]]:
        """Return the orders of one step, so many seconds after the beginning."""
        self.authority.now = NOW + seconds
        # Another reader each time: it reads the names at most once a minute
        self.keeper._reader = NamesReader(lambda: self.read())
        self.keeper.tend(NOW + seconds)
        return self.authority.taken_orders()

    def has(self, names: Iterable[str]) -> None:
        """Let the accounts have these tracking domains."""
        self.existing = frozenset(names)


@pytest.fixture
def tending(tmp_path: Path) -> Tending:
    return Tending(tmp_path)


def test_what_is_missing_is_obtained_once_and_the_services_own_first(tending: Tending) -> None:
    tending.has(["b.test", "a.test"])
    assert tending.orders_at(0) == [SERVICE, ("a.test",), ("b.test",)]
    assert tending.orders_at(10) == []
    facts = read_facts(tending.files.service)
    assert facts
    assert facts.names == set(SERVICE)
    for path in (tending.files.service.key, tending.files.tracking_file("a.test")):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path = tending.files.tracking_file("a.test")
    assert TlsContexts(CertificateFiles(path, path)).current()


def test_a_step_has_a_few_orders(tending: Tending) -> None:
    tending.has(f"{number}.a.test" for number in range(7))
    assert [len(tending.orders_at(seconds)) for seconds in (0, 10, 20, 30)] == [3, 3, 2, 0]


@pytest.mark.parametrize("days", [6.0, 90.0])
def test_a_third_before_the_end_a_certificate_is_renewed(tending: Tending, days: float) -> None:
    tending.authority.days = days
    tending.has(["a.test"])
    tending.orders_at(0)
    assert tending.orders_at(0.66 * days * DAY) == []
    assert tending.orders_at(0.67 * days * DAY) == [SERVICE, ("a.test",)]


def test_domains_that_are_not_verified_have_no_certificate(tending: Tending) -> None:
    tending.has(["a.test", "b.test"])
    tending.unverified = frozenset(["a.test"])
    assert tending.orders_at(0) == [SERVICE, ("b.test",)]


def test_files_of_domains_that_are_gone_are_removed(tending: Tending) -> None:
    tending.has(["a.test", "b.test", "c.test"])
    tending.authority.failures["c.test"] = Failure("no")
    tending.orders_at(0)
    tending.orders_at(10)
    tending.has(["b.test"])
    tending.unverified = frozenset(["b.test"])  # its links still lead here
    tending.orders_at(100)
    assert [path.name for path in tending.files.tracking.iterdir()] == ["b.test.pem"]
    assert "c.test" not in tending.files.state.read_text()


def test_a_failure_waits_ten_minutes_doubling_to_a_day(tending: Tending) -> None:
    tending.orders_at(0)
    tending.has(["a.test"])
    tending.authority.failures["a.test"] = Failure("connection refused")
    moment = 1 * MINUTE
    for pause in (10, 20, 40, 80, 160, 320, 640, 1280, 1440, 1440):
        assert tending.orders_at(moment) == [("a.test",)]
        assert tending.orders_at(moment + pause * MINUTE - 1) == []
        tending.start()  # a restart forgets nothing
        assert tending.orders_at(moment + pause * MINUTE - 1) == []
        moment += pause * MINUTE
    tending.authority.failures.clear()
    assert tending.orders_at(moment) == [("a.test",)]
    tending.authority.failures["a.test"] = Failure("connection refused")
    tending.files.tracking_file("a.test").unlink()
    assert tending.orders_at(moment + 1) == [("a.test",)]
    assert tending.orders_at(moment + 10 * MINUTE + 1) == [("a.test",)]  # from the beginning


def test_other_names_or_another_authority_start_anew(tending: Tending) -> None:
    tending.authority.failures["links.a.test"] = Failure("no such name")
    assert tending.orders_at(0) == [SERVICE]
    assert tending.orders_at(10) == []
    tending.service_names = ("mail.a.test",)
    tending.start()
    assert tending.orders_at(20) == [("mail.a.test",)]
    tending.service_names = SERVICE
    tending.start()
    assert tending.orders_at(30) == [SERVICE]
    tending.directory = tending.authority.directory = "https://other.test/directory"
    tending.start()
    assert tending.orders_at(40) == [SERVICE]
    assert tending.orders_at(50) == []


def test_a_certificate_of_another_authority_is_replaced(tending: Tending) -> None:
    tending.has(["a.test"])
    tending.orders_at(0)
    tending.directory = tending.authority.directory = "https://other.test/directory"
    tending.start()
    assert tending.orders_at(10) == [SERVICE, ("a.test",)]
    assert tending.orders_at(20) == []


def test_a_tracking_domain_never_stops_the_services_renewal(tending: Tending) -> None:
    tending.orders_at(0)
    tending.has(["a.test"])
    tending.authority.failures["a.test"] = Failure("slow down", is_limit=True, retry_after=9e9)
    assert tending.orders_at(61 * DAY - 1) == [SERVICE, ("a.test",)]
    tending.files.service.certificate.unlink()
    assert tending.orders_at(61 * DAY) == [SERVICE]


def test_a_limit_lets_all_tracking_domains_wait(tending: Tending) -> None:
    tending.orders_at(0)
    tending.has(["a.test", "b.test"])
    tending.authority.failures["a.test"] = Failure(
        "too many orders", is_limit=True, retry_after=30 * MINUTE
    )
    assert tending.orders_at(1) == [("a.test",)]
    assert tending.orders_at(30 * MINUTE) == []
    # Those that failed least come first
    assert tending.orders_at(30 * MINUTE + 1) == [("b.test",), ("a.test",)]


def test_a_success_of_the_service_does_not_end_a_limit(tending: Tending) -> None:
    tending.has(["a.test", "b.test"])
    tending.authority.failures["a.test"] = Failure("slow down", is_limit=True, retry_after=HOUR)
    assert tending.orders_at(0) == [SERVICE, ("a.test",)]
    tending.files.service.certificate.unlink()
    assert tending.orders_at(HOUR - 2) == [SERVICE]
    assert tending.orders_at(HOUR - 1) == []


def test_a_limit_of_the_service_is_obeyed_by_its_own_order(tending: Tending) -> None:
    limit = Failure("too many certificates", is_limit=True, retry_after=5 * HOUR)
    tending.authority.failures["mail.a.test"] = limit
    tending.has(["a.test"])
    assert tending.orders_at(0) == [SERVICE]
    assert tending.orders_at(HOUR) == [("a.test",)]
    assert tending.orders_at(5 * HOUR - 1) == []
    assert tending.orders_at(5 * HOUR) == [SERVICE]


def test_an_authority_that_cannot_be_reached_is_asked_for_one_name(tending: Tending) -> None:
    failure = Failure("connection refused", is_general=True)
    tending.authority.failures = dict.fromkeys(("mail.a.test", "a.test", "b.test"), failure)
    tending.has(["a.test", "b.test"])
    assert tending.orders_at(0) == [SERVICE]
    assert tending.orders_at(59) == []
    assert tending.orders_at(60) == [SERVICE]
    tending.authority.failures.clear()
    assert tending.orders_at(3 * MINUTE) == [SERVICE, ("a.test",), ("b.test",)]


def test_an_authority_out_of_reach_is_asked_once_an_hour_in_the_end(tending: Tending) -> None:
    tending.authority.failures["mail.a.test"] = Failure("no route", is_general=True)
    moment = 0.0
    for minutes in (1, 2, 4, 8, 16, 32, 60, 60):
        assert tending.orders_at(moment) == [SERVICE]
        moment += minutes * MINUTE
        assert tending.orders_at(moment - 1) == []


def test_a_clock_that_is_set_back_ends_no_service(tending: Tending) -> None:
    tending.authority.failures["mail.a.test"] = Failure("connection refused")
    tending.orders_at(0)
    assert tending.orders_at(-DAY) == [SERVICE]


def test_a_failure_is_logged_in_the_authoritys_words(
    tending: Tending, caplog: pytest.LogCaptureFixture
) -> None:
    tending.has(["a.test"])
    tending.authority.failures["a.test"] = Failure("dns: no A record")
    with caplog.at_level(logging.INFO):
        tending.orders_at(0)
    assert [record.getMessage() for record in caplog.records] == [
        "certificate obtained for mail.a.test, links.a.test",
        "no certificate for a.test, next attempt in 10 minutes: dns: no A record",
    ]


def test_a_name_that_no_authority_accepts_is_logged_once_and_not_ordered(
    tending: Tending, caplog: pytest.LogCaptureFixture
) -> None:
    tending.service_names = ("mail.a.test", "*.a.test")
    tending.start()
    tending.has(["under_score.a.test"])
    with caplog.at_level(logging.WARNING):
        assert tending.orders_at(0) == [("mail.a.test",)]
        assert tending.orders_at(10) == []
    assert sorted(record.getMessage() for record in caplog.records) == [
        "*.a.test cannot have a certificate: a wildcard cannot be shown to be ours by HTTP",
        "under_score.a.test cannot have a certificate: it contains invalid characters or spaces",
    ]


def test_a_storage_that_fails_stops_no_order_of_the_service_and_removes_nothing(
    tending: Tending, caplog: pytest.LogCaptureFixture
) -> None:
    tending.has(["a.test"])
    tending.orders_at(0)

    def fail() -> TrackingNames:
        raise ConnectionError("refused")

    tending.read = fail
    assert tending.orders_at(70 * DAY) == [SERVICE]
    assert tending.files.tracking_file("a.test").exists()
    assert "tracking domains cannot be read: ConnectionError: refused" in caplog.text


def test_names_of_the_service_are_ordered_in_a_labels_each_once(tending: Tending) -> None:
    tending.service_names = ("Bücher.Test", "xn--bcher-kva.test", "Mail.A.test")
    tending.start()
    facts = read_facts(tending.files.service)
    assert facts
    assert facts.names == {"xn--bcher-kva.test", "mail.a.test", "localhost"}
    assert tending.orders_at(0) == [("xn--bcher-kva.test", "mail.a.test")]
    assert tending.orders_at(10) == []


def test_a_domain_that_is_a_name_of_the_service_has_no_second_certificate(
    tending: Tending,
) -> None:
    tending.has(["links.a.test"])
    assert tending.orders_at(0) == [SERVICE]


def test_challenges_that_a_killed_process_left_are_withdrawn(tending: Tending) -> None:
    (tending.files.challenges / "token").write_text("token.thumbprint")
    tending.start()
    assert list(tending.files.challenges.iterdir()) == []


def test_a_keeper_whose_authority_does_not_answer_says_so(tmp_path: Path, cloud: None) -> None:
    keeper = certificate_keeper(tmp_path, SERVICE, "http://127.0.0.1:1/directory", "me@a.test")
    keeper.tend(NOW)
    assert "refused" in TlsFiles(tmp_path).state.read_text()
