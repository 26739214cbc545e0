from __future__ import annotations

import pytest

from infrastructure.machine.certificates.host_names import (
    NamesReader,
    TrackingNames,
    objection,
    tracking_names,
)
from tests.unit.moving_clock import moving_clock
from tests.unit.people import make_account, make_subaccount
from tests.unit.tracking_domains.examples import store_tracking_domain


def test_domains_of_all_accounts_count_if_they_are_verified_and_not_blocked(cloud: None) -> None:
    make_account(1)
    make_account(2)
    subaccount = make_subaccount(2)
    store_tracking_domain("a.test", 1)
    store_tracking_domain("b.test", 2)
    store_tracking_domain("c.test", 2, subaccount_id=subaccount.id)
    store_tracking_domain("unverified.test", 1, cname_status="unverified")
    store_tracking_domain("invalid.test", 1, cname_status="invalid")
    store_tracking_domain("blocked.test", 2, compliance_status="blocked")
    names = tracking_names()
    assert names.in_service == {"a.test", "b.test", "c.test"}
    assert names.existing - names.in_service == {"unverified.test", "invalid.test", "blocked.test"}


@pytest.mark.parametrize(("reading_seconds", "pause"), [(0.1, 60), (10, 200)])
def test_names_are_read_once_a_minute_and_take_a_twentieth_of_the_time_at_most(
    reading_seconds: float, pause: float
) -> None:
    readings = []
    with moving_clock(1000.0) as clock:

        def read() -> TrackingNames:
            readings.append(clock.now)
            clock.passes(reading_seconds)
            return TrackingNames(frozenset(), frozenset())

        reader = NamesReader(read)
        for _ in range(3):
            reader.names()
        clock.passes(pause - 1)
        reader.names()
        assert len(readings) == 1
        clock.passes(1)
        reader.names()
        assert len(readings) == 2


@pytest.mark.parametrize(
    "name",
    [
        "*.a.test",
        "localhost",
        "a_b.test",
        "a..test",
        "-a.test",
        "192.0.2.1",
        "bücher.test",
        "A.test",
    ],
)
def test_names_that_no_authority_accepts_have_an_objection(name: str) -> None:
    assert objection(name)


def test_a_long_name_is_no_file() -> None:
    label = "a" * 49
    longest = ".".join([label] * 5)
    assert objection(longest) is None
    assert objection(f"aa.{longest}") == "it has more than 251 characters"


def test_an_international_name_is_accepted_in_a_labels() -> None:
    assert objection("xn--bcher-kva.test") is None
