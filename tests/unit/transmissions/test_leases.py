"""A transmission keeps its template and list from being changed or deleted until it has started."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from chalicelib.core.errors import ServiceError
from chalicelib.core.scope import Scope
from chalicelib.recipient_lists.store import lists
from chalicelib.recipient_lists.store.lists import PROTECTED_SECONDS
from chalicelib.templates.model import Edit, Template, new_template
from chalicelib.templates.store import leases as template_leases
from chalicelib.templates.store import records as templates
from chalicelib.transmissions.leases import (
    AFTER_START_SECONDS,
    lease_list,
    lease_template,
    leases_on,
    release,
)
from chalicelib.transmissions.model import Transmission
from chalicelib.transmissions.recipients import ListRecipients
from tests.fake_cloud import aws_requests
from tests.unit.moving_clock import Clock, moving_clock
from tests.unit.recipient_lists.examples import saved
from tests.unit.transmissions.examples import CREATED, body, make_transmission

NOW = CREATED / 1000
HOUR = 3600.0


@pytest.fixture(autouse=True)
def time(cloud: None) -> Iterator[Clock]:
    with moving_clock(NOW) as moving:
        yield moving


def scheduled(seconds: float = HOUR, **fields: object) -> Transmission:
    return replace(make_transmission(**fields), start_ms=CREATED + int(seconds * 1000))


def list_is_in_use() -> bool:
    try:
        lists.check_unused(1, "friends")
    except ServiceError:
        return True
    return False


class TestLists:
    def test_a_list_that_is_sent_to_at_once_is_in_use_until_some_time_after(
        self, time: Clock
    ) -> None:
        recipient_list = saved()
        assert lease_list(make_transmission(), "friends").version == recipient_list.version
        assert list_is_in_use()
        time.now += AFTER_START_SECONDS
        assert not list_is_in_use()

    def test_a_list_may_change_until_ten_minutes_before_its_scheduled_use(
        self, time: Clock
    ) -> None:
        saved()
        lease_list(scheduled(), "friends")
        time.now += HOUR - PROTECTED_SECONDS - 1
        assert not list_is_in_use()
        time.now += 1
        assert list_is_in_use()
        time.now += PROTECTED_SECONDS + AFTER_START_SECONDS - 1
        assert list_is_in_use()

    def test_a_late_start_has_the_full_time_of_the_lease(self, time: Clock) -> None:
        saved()
        lease_list(scheduled(), "friends")
        time.now += 5 * HOUR  # the service was down
        lease_list(scheduled(), "friends")
        assert list_is_in_use()
        time.now += AFTER_START_SECONDS - 1
        assert list_is_in_use()

    @pytest.mark.spec("2.1-t3")
    @pytest.mark.parametrize("name", ["enemies", "", "é", "x" * 5000])
    def test_a_list_that_does_not_exist_is_refused(self, name: str) -> None:
        saved()
        with pytest.raises(ServiceError) as refusal:
            lease_list(make_transmission(), name)
        assert (refusal.value.status, refusal.value.errors[0]["code"]) == (422, "1603")

    @pytest.mark.cost
    def test_a_name_that_no_list_can_have_is_not_looked_up(self) -> None:
        with aws_requests() as requests, pytest.raises(ServiceError):
            lease_list(make_transmission(), "x" * 5000)
        assert requests == []

    def test_subaccounts_have_no_lists(self) -> None:
        saved()
        with pytest.raises(ServiceError, match="does not exist"):
            lease_list(make_transmission(subaccount_id=7), "friends")


class TestTemplates:
    def make(self, subaccount: int | None = None) -> Template:
        owner = Scope(1, subaccount or 0)
        assert templates.create(new_template(owner, "welcome", Edit()), body()["content"])
        template = templates.get(1, subaccount, "welcome")
        assert template is not None
        return template

    @pytest.mark.spec("3-t5")
    def test_a_template_cannot_be_deleted_until_its_scheduled_transmission_has_started(
        self, time: Clock
    ) -> None:
        lease_template(scheduled(), self.make())
        time.now += HOUR + AFTER_START_SECONDS - 1
        with pytest.raises(ServiceError) as refusal:
            template_leases.delete(Scope(1, 0), "welcome")
        assert (refusal.value.status, refusal.value.errors[0]["code"]) == (409, "1602")
        time.now += 1
        assert template_leases.delete(Scope(1, 0), "welcome")


class TestRelease:
    @pytest.mark.parametrize("subaccount", [None, 7])
    def test_release_ends_the_leases_and_may_be_repeated(self, subaccount: int | None) -> None:
        template = TestTemplates().make(subaccount)
        transmission = scheduled(30.0)
        lease_template(transmission, template)
        recipients = ListRecipients(saved())
        lease_list(transmission, "friends")
        leases = leases_on(template, recipients)
        for _ in range(2):
            release(transmission, leases)
        assert not list_is_in_use()
        assert template_leases.delete(Scope(1, subaccount or 0), "welcome")

    def test_the_lease_of_another_transmission_stays(self) -> None:
        recipients = ListRecipients(saved())
        lease_list(make_transmission(), "friends")
        lease_list(make_transmission(id="191930000000000002"), "friends")
        release(make_transmission(), leases_on(None, recipients))
        assert list_is_in_use()

    @pytest.mark.cost
    def test_release_reads_nothing_without_leases(self) -> None:
        assert leases_on(None, None) == {}
        with aws_requests() as requests:
            release(make_transmission(), {})
        assert requests == []
