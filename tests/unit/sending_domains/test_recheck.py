"""The scheduled check of sending domains."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core import due
from chalicelib.core.errors import ApiError
from chalicelib.core.settings import settings
from chalicelib.dkim.dns_record import txt_record
from chalicelib.dkim.model import DkimKey
from chalicelib.sending_domains import recheck, store
from chalicelib.sending_domains.further_keys import store as further_keys
from chalicelib.sending_domains.further_keys.model import FurtherKey
from chalicelib.sending_domains.lookup import bounce_domain_for, check_usable
from chalicelib.sending_domains.model import DomainStatus, SendingDomain
from chalicelib.sending_domains.recheck import reverify_due
from tests.fake_cloud import aws_requests
from tests.unit.key_pairs import PAIR
from tests.unit.sending_domains.examples import domain
from tests.unit.zones import Zone

PUBLIC = PAIR.public_b64
NAME = "mail.example.test"
RECORD = f"s1._domainkey.{NAME}"
SYSTEM = "postfinch.test"
NOW = 1_769_850_000.0
DAY, HOUR = 86_400.0, 3600.0
BOTH = DomainStatus(True, dkim_status="valid", cname_status="valid")


@pytest.fixture(autouse=True)
def published(zone: Zone, monkeypatch: pytest.MonkeyPatch) -> Zone:
    # The in-process cloud cannot run transactions of several threads.
    monkeypatch.setattr(recheck, "_THREADS", 1)
    zone.set(RECORD, ("TXT", txt_record(PUBLIC)))
    zone.set(NAME, ("CNAME", SYSTEM))
    return zone


def create(name: str = NAME, at: float = NOW, **fields: Any) -> None:
    key = DkimKey("s1", name, PUBLIC, b"sealed")
    values = {"dkim": key, "status": BOTH, "check_ms": int(at * 1000)} | fields
    assert store.create(domain(name, **values))


def load(name: str = NAME) -> SendingDomain:
    sending_domain = store.get(name)
    assert sending_domain is not None
    return sending_domain


def may_send(name: str = NAME) -> bool:
    try:
        check_usable(store.get(name), name, 1, None)
    except ApiError:
        return False
    return True


@pytest.mark.cost
def test_a_run_with_nothing_due_makes_one_request(zone: Zone) -> None:
    for number in range(5):
        create(f"d{number}.test", at=NOW + 1)
    with aws_requests() as requests:
        assert reverify_due(NOW) == {}
    assert [each.operation for each in requests] == ["Query"]
    assert zone.queries == []


@pytest.mark.cost
def test_a_run_reads_only_the_domains_that_are_due(zone: Zone) -> None:
    for number in range(6):
        create(f"d{number}.test", at=NOW + (0 if number < 2 else 1))
    with aws_requests() as requests:
        assert sum(reverify_due(NOW).values()) == 2
    # one for all: the sending IPs, which are cached
    assert len(requests) <= 2 + 2 * 6
    assert {name.rpartition(".")[0] for name in zone.queries} <= {
        "d0",
        "d1",
        "s1._domainkey.d0",
        "s1._domainkey.d1",
        SYSTEM.rpartition(".")[0],
    }


def test_a_domain_with_valid_records_is_checked_again_a_day_later() -> None:
    create()
    assert reverify_due(NOW) == {"kept": 1}
    assert load().status == BOTH
    assert load().check_ms == int((NOW + DAY) * 1000)
    assert reverify_due(NOW) == reverify_due(NOW + DAY - 1) == {}
    assert reverify_due(NOW + DAY) == {"kept": 1}


@pytest.mark.spec("3-t13")
def test_a_missing_record_is_invalid_and_another_valid_check_lets_the_domain_send(
    zone: Zone,
) -> None:
    create()
    zone.clear(RECORD)
    assert reverify_due(NOW) == {"kept": 1}
    assert (load().status.dkim_status, load().status.cname_status) == ("invalid", "valid")
    assert may_send()
    assert load().signing_key is None, "a key without a valid record does not sign"


@pytest.mark.spec("3-t13")
def test_a_domain_cannot_send_from_the_loss_of_its_records_until_they_are_back(
    zone: Zone,
) -> None:
    create(is_default_bounce_domain=True)
    zone.clear(RECORD)
    zone.set(NAME, ("CNAME", "elsewhere.test"))
    assert reverify_due(NOW) == {"lost": 1}
    assert not may_send()
    assert bounce_domain_for(1, None) == settings().system_domain
    assert load().unverified_since == NOW
    assert reverify_due(NOW + HOUR) == {"unverified": 1}
    zone.set(NAME, ("CNAME", SYSTEM))
    assert reverify_due(NOW + 2 * HOUR) == {"regained": 1}
    assert bounce_domain_for(1, None) == NAME, "it has been the default all the time"
    assert may_send()
    assert load().unverified_since == 0
    assert load().check_ms == int((NOW + 2 * HOUR + DAY) * 1000)


def test_without_an_answer_statuses_stay_and_the_domain_is_checked_again_soon(zone: Zone) -> None:
    create()
    zone.failing |= {RECORD, NAME}
    assert reverify_due(NOW) == {"kept": 1}
    assert load().status == BOTH
    assert load().check_ms == int((NOW + HOUR) * 1000)


def test_checks_that_were_never_requested_are_not_made(zone: Zone) -> None:
    create(status=DomainStatus(True, cname_status="valid"))
    zone.clear(RECORD)
    reverify_due(NOW)
    assert load().status.dkim_status == "unverified"
    assert RECORD not in zone.queries


def test_a_domain_that_is_never_verified_is_deleted_after_two_weeks_with_its_keys(
    zone: Zone,
) -> None:
    zone.clear(NAME)
    grace = settings().domain_grace
    create(status=DomainStatus(), unverified_since=NOW, at=NOW + grace)
    further_keys.add(load(), FurtherKey("k1", DkimKey("x", NAME, PUBLIC, b"s"), NOW))
    assert reverify_due(NOW + grace - 1) == {}
    assert reverify_due(NOW + grace) == {"dropped": 1}
    assert store.get(NAME) is None
    assert further_keys.of_domain(NAME) == []
    assert store.create(domain(account=2)), "another account can have it"
    assert reverify_due(NOW + 2 * grace) == {}


def test_a_domain_in_use_is_kept_for_another_two_weeks(zone: Zone) -> None:
    users = {(1, NAME): ["IP pool fast"]}
    finders = [lambda *domain: users.get(domain, [])]
    zone.clear(NAME)
    grace = settings().domain_grace
    create(status=DomainStatus(), unverified_since=NOW, at=NOW + grace)
    assert reverify_due(NOW + grace, finders) == {"unverified": 1}
    assert load().check_ms == int((NOW + 2 * grace) * 1000)
    users.clear()
    assert reverify_due(NOW + 2 * grace, finders) == {"dropped": 1}


def test_a_domain_is_deleted_two_weeks_after_it_lost_its_records(zone: Zone) -> None:
    create()
    zone.clear(RECORD)
    zone.clear(NAME)
    assert reverify_due(NOW) == {"lost": 1}
    grace = settings().domain_grace
    assert reverify_due(NOW + grace - 1) == {"unverified": 1}
    assert load().check_ms == int((NOW + grace) * 1000)
    assert reverify_due(NOW + grace) == {"dropped": 1}
    assert store.get(NAME) is None


def test_a_domain_verified_only_by_mailbox_is_not_checked_again() -> None:
    create(status=DomainStatus(True, abuse_at_status="valid"))
    assert reverify_due(NOW) == {"kept": 1}
    assert load().check_ms == 0
    assert reverify_due(NOW + 100 * DAY) == {}


def test_further_keys_are_checked_too(zone: Zone) -> None:
    create()
    for selector, status in (("gone", "valid"), ("back", "invalid"), ("new", "unverified")):
        key = FurtherKey(selector, DkimKey(selector, NAME, PUBLIC, b"s"), NOW, status)
        further_keys.add(load(), key)
    zone.set(f"back._domainkey.{NAME}", ("TXT", txt_record(PUBLIC)))
    zone.set(f"new._domainkey.{NAME}", ("TXT", txt_record(PUBLIC)))
    reverify_due(NOW)
    statuses = {key.id: key.status for key in further_keys.of_domain(NAME)}
    assert statuses == {"gone": "invalid", "back": "valid", "new": "unverified"}


def test_due_entries_that_match_no_domain_are_removed() -> None:
    create(at=NOW + DAY)
    due.add(due.Due(store.CONCERN, int(NOW * 1000), NAME))
    due.add(due.Due(store.CONCERN, int(NOW * 1000), "deleted.test"))
    assert reverify_due(NOW) == {"stale": 2}
    assert reverify_due(NOW) == {}
    assert reverify_due(NOW + DAY) == {"kept": 1}


def test_a_run_that_was_cut_off_can_be_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    create()
    monkeypatch.setattr(store, "_forget_due", lambda domain: None)
    assert reverify_due(NOW) == {"kept": 1}
    monkeypatch.undo()
    assert reverify_due(NOW) == {"stale": 1}
    assert load().check_ms == int((NOW + DAY) * 1000)


def test_a_domain_that_fails_does_not_delay_the_others(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Even if as many domains fail as one call checks."""
    monkeypatch.setattr(recheck, "_MAX_DOMAINS", 1)
    create("a.test")
    create()
    real = recheck._reverify

    def failing(sending_domain: SendingDomain, *arguments: Any) -> str:
        if sending_domain.domain == "a.test":
            raise RuntimeError("out of order")
        return real(sending_domain, *arguments)

    monkeypatch.setattr(recheck, "_reverify", failing)
    assert [reverify_due(NOW) for _ in range(3)] == [{"failed": 1}, {"kept": 1}, {}]
    assert "a.test" in caplog.text
    monkeypatch.undo()
    assert sum(reverify_due(NOW + 1).values()) == 1, "it is tried again"
