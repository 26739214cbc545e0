"""Domains looked at again on a schedule."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core import defaults, due
from chalicelib.core.errors import ApiError
from chalicelib.core.settings import settings
from chalicelib.dkim.dns_record import txt_record
from chalicelib.dkim.key_pair import generate_key
from chalicelib.dkim.model import DkimKey
from chalicelib.sending_domains import recheck, store
from chalicelib.sending_domains.further_keys import store as further_keys
from chalicelib.sending_domains.further_keys.model import FurtherKey
from chalicelib.sending_domains.lookup import check_usable
from chalicelib.sending_domains.model import DomainStatus, SendingDomain
from chalicelib.sending_domains.recheck import reverify_due
from tests.fake_cloud import aws_requests
from tests.unit.sending_domains.examples import domain
from tests.unit.zones import Zone

PUBLIC = generate_key(1024).public_b64
NAME = "mail.example.test"
RECORD = f"s1._domainkey.{NAME}"
SYSTEM = "postfinch.test"
NOW = 1_769_850_000.0
DAY, HOUR = 86_400.0, 3600.0
BOTH = DomainStatus(True, dkim_status="valid", cname_status="valid")


@pytest.fixture(autouse=True)
def published(zone: Zone, monkeypatch: pytest.MonkeyPatch) -> Zone:
    # The transactions of the cloud in this process are not made for several threads.
    monkeypatch.setattr(recheck, "_AT_ONCE", 1)
    zone.set(RECORD, ("TXT", txt_record(PUBLIC)))
    zone.set(NAME, ("CNAME", SYSTEM))
    return zone


def create(name: str = NAME, at: float = NOW, **fields: Any) -> None:
    key = DkimKey("s1", name, PUBLIC, b"sealed")
    given = {"dkim": key, "status": BOTH, "check_ms": int(at * 1000)} | fields
    assert store.create(domain(name, **given))


def stored(name: str = NAME) -> SendingDomain:
    found = store.get(name)
    assert found is not None
    return found


def may_send(name: str = NAME) -> bool:
    try:
        check_usable(store.get(name), name, 1, None)
    except ApiError:
        return False
    return True


@pytest.mark.cost
def test_nothing_is_due_for_the_price_of_one_request(zone: Zone) -> None:
    for number in range(5):
        create(f"d{number}.test", at=NOW + 1)
    with aws_requests() as made:
        assert reverify_due(NOW) == {}
    assert [each.operation for each in made] == ["Query"]
    assert zone.queries == []


@pytest.mark.cost
def test_the_work_grows_with_what_is_due_and_not_with_what_exists(zone: Zone) -> None:
    for number in range(6):
        create(f"d{number}.test", at=NOW + (0 if number < 2 else 1))
    with aws_requests() as made:
        assert sum(reverify_due(NOW).values()) == 2
    assert len(made) <= 1 + 2 * 6
    assert {name.rpartition(".")[0] for name in zone.queries} <= {
        "d0",
        "d1",
        "s1._domainkey.d0",
        "s1._domainkey.d1",
    }


def test_a_domain_whose_records_stand_is_looked_at_again_a_day_later() -> None:
    create()
    assert reverify_due(NOW) == {"kept": 1}
    assert stored().status == BOTH
    assert stored().check_ms == int((NOW + DAY) * 1000)
    assert reverify_due(NOW) == reverify_due(NOW + DAY - 1) == {}
    assert reverify_due(NOW + DAY) == {"kept": 1}


@pytest.mark.spec("3-t13")
def test_a_record_that_went_away_is_noticed_and_the_other_keeps_the_domain_sending(
    zone: Zone,
) -> None:
    create()
    zone.clear(RECORD)
    assert reverify_due(NOW) == {"kept": 1}
    assert (stored().status.dkim_status, stored().status.cname_status) == ("invalid", "valid")
    assert may_send()
    assert stored().signing_key is None, "what cannot be verified is not signed"


@pytest.mark.spec("3-t13")
def test_a_domain_that_nothing_verifies_any_more_stops_to_send_until_it_is_back(
    zone: Zone,
) -> None:
    create(is_default_bounce_domain=True)
    zone.clear(RECORD)
    zone.set(NAME, ("CNAME", "elsewhere.test"))
    assert reverify_due(NOW) == {"lost": 1}
    assert not may_send()
    assert not stored().is_default_bounce_domain
    assert defaults.current(store.BOUNCE, 1, None) is None
    assert stored().unverified_since == NOW
    assert reverify_due(NOW + HOUR) == {"unverified": 1}
    zone.set(NAME, ("CNAME", SYSTEM))
    assert reverify_due(NOW + 2 * HOUR) == {"regained": 1}
    assert may_send()
    assert stored().unverified_since == 0
    assert stored().check_ms == int((NOW + 2 * HOUR + DAY) * 1000)


def test_a_dns_that_does_not_answer_takes_nothing_away_and_is_asked_again_soon(zone: Zone) -> None:
    create()
    zone.failing |= {RECORD, NAME}
    assert reverify_due(NOW) == {"kept": 1}
    assert stored().status == BOTH
    assert stored().check_ms == int((NOW + HOUR) * 1000)


def test_what_was_never_asked_for_is_not_looked_up(zone: Zone) -> None:
    create(status=DomainStatus(True, cname_status="valid"))
    zone.clear(RECORD)
    reverify_due(NOW)
    assert stored().status.dkim_status == "unverified"
    assert RECORD not in zone.queries


def test_a_domain_never_verified_is_dropped_after_two_weeks_with_its_keys(zone: Zone) -> None:
    zone.clear(NAME)
    grace = settings().domain_grace
    create(status=DomainStatus(), unverified_since=NOW, at=NOW + grace)
    further_keys.add(stored(), FurtherKey("k1", DkimKey("x", NAME, PUBLIC, b"s"), NOW))
    assert reverify_due(NOW + grace - 1) == {}
    assert reverify_due(NOW + grace) == {"dropped": 1}
    assert store.get(NAME) is None
    assert further_keys.of_domain(NAME) == []
    assert store.create(domain(account=2)), "another account can have it"
    assert reverify_due(NOW + 2 * grace) == {}


def test_a_domain_that_lost_its_records_is_dropped_two_weeks_after_that(zone: Zone) -> None:
    create()
    zone.clear(RECORD)
    zone.clear(NAME)
    assert reverify_due(NOW) == {"lost": 1}
    grace = settings().domain_grace
    assert reverify_due(NOW + grace - 1) == {"unverified": 1}
    assert stored().check_ms == int((NOW + grace) * 1000)
    assert reverify_due(NOW + grace) == {"dropped": 1}
    assert store.get(NAME) is None


def test_a_domain_verified_by_mailbox_alone_is_left_alone() -> None:
    create(status=DomainStatus(True, abuse_at_status="valid"))
    assert reverify_due(NOW) == {"kept": 1}
    assert stored().check_ms == 0
    assert reverify_due(NOW + 100 * DAY) == {}


def test_further_keys_are_looked_up_as_well(zone: Zone) -> None:
    create()
    for selector, status in (("gone", "valid"), ("back", "invalid"), ("new", "unverified")):
        key = FurtherKey(selector, DkimKey(selector, NAME, PUBLIC, b"s"), NOW, status)
        further_keys.add(stored(), key)
    zone.set(f"back._domainkey.{NAME}", ("TXT", txt_record(PUBLIC)))
    zone.set(f"new._domainkey.{NAME}", ("TXT", txt_record(PUBLIC)))
    reverify_due(NOW)
    statuses = {key.id: key.status for key in further_keys.of_domain(NAME)}
    assert statuses == {"gone": "invalid", "back": "valid", "new": "unverified"}


def test_entries_that_no_domain_has_any_more_are_cleared_away() -> None:
    create(at=NOW + DAY)
    due.add(due.Due(store.CONCERN, int(NOW * 1000), NAME))
    due.add(due.Due(store.CONCERN, int(NOW * 1000), "deleted.test"))
    assert reverify_due(NOW) == {"stale": 2}
    assert reverify_due(NOW) == {}
    assert reverify_due(NOW + DAY) == {"kept": 1}


def test_a_run_that_was_cut_off_is_repeated_without_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    create()
    monkeypatch.setattr(store, "_forget_due", lambda domain: None)
    assert reverify_due(NOW) == {"kept": 1}
    monkeypatch.undo()
    assert reverify_due(NOW) == {"stale": 1}
    assert stored().check_ms == int((NOW + DAY) * 1000)


def test_a_domain_that_fails_does_not_keep_the_others_waiting(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Not even when those that fail are as many as one call looks at."""
    monkeypatch.setattr(recheck, "_MOST", 1)
    create("a.test")
    create()
    real = recheck._reverify

    def failing(found: SendingDomain, now: float) -> str:
        if found.domain == "a.test":
            raise RuntimeError("out of order")
        return real(found, now)

    monkeypatch.setattr(recheck, "_reverify", failing)
    assert [reverify_due(NOW) for _ in range(3)] == [{"failed": 1}, {"kept": 1}, {}]
    assert "a.test" in caplog.text
    monkeypatch.undo()
    assert sum(reverify_due(NOW + 1).values()) == 1, "it is tried again"
