"""Scheduled transmissions are started when they are due, or cancelled before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.accounts.store import usage
from chalicelib.accounts.store.allowance import Unlimited
from chalicelib.accounts.store.sandbox import SandboxAllowance
from chalicelib.core import due, queues
from chalicelib.core.errors import ServiceError
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.delivery.store import work_units
from chalicelib.delivery.store.work_units import WorkUnit
from chalicelib.generation.chunk import generate_chunk
from chalicelib.generation.worker import read_chunk
from chalicelib.recipient_lists.store import lists
from chalicelib.transmissions import scheduling
from chalicelib.transmissions.leases import lease_list, leases_on
from chalicelib.transmissions.model import CANCELLED, GENERATING, SUBMITTED, Transmission
from chalicelib.transmissions.recipients import ListRecipients
from chalicelib.transmissions.scheduling import cancel, cancel_campaign, get_in_scope, start_due
from chalicelib.transmissions.start import start as start_transmission
from chalicelib.transmissions.store import transmissions
from chalicelib.transmissions.submit import submit
from tests.fake_cloud import aws_requests, queued_work
from tests.unit.moving_clock import Clock, moving_clock
from tests.unit.recipient_lists.examples import saved
from tests.unit.refusals import refusal_code
from tests.unit.transmissions.examples import CREATED, make_transmission, meter, recipients

ACCOUNT = Scope(1, None)
HOUR = 3600.0
FIRST = make_transmission().id


@pytest.fixture(autouse=True)
def time(cloud: None) -> Iterator[Clock]:
    with moving_clock(CREATED / 1000) as moving:
        yield moving


def schedule(number: int = 1, seconds: float = HOUR, **fields: Any) -> Transmission:
    """Store a transmission that starts some time after the first moment of the test."""
    transmission = make_transmission(
        id=str(191930000000000000 + number),
        start_ms=CREATED + int(seconds * 1000),
        resolved=False,
        **fields,
    )
    submit(transmission, recipients(3), meter())
    return transmission


def start(transmission_id: str = FIRST) -> bool:
    """Let generation start a transmission."""
    record = transmissions.get(transmission_id)
    assert record is not None
    return transmissions.start(record)


def starts() -> list[str]:
    """Return which transmissions the queue asks to start."""
    heads = [queues.read(each).head for each in queued_work()]
    assert {head["kind"] for head in heads} <= {"start"}
    return [head["transmission"] for head in heads]


def state(transmission_id: str = FIRST) -> str:
    record = transmissions.get(transmission_id)
    assert record is not None
    return record.state


def refusal_text(transmission_id: str = FIRST) -> str:
    """Return what the refusal of a cancellation says."""
    with pytest.raises(ServiceError) as refusal:
        cancel(ACCOUNT, transmission_id)
    return refusal.value.text


def generate_first_chunk(transmission_id: str) -> None:
    """Record that the first chunk of a transmission was generated."""
    unit = WorkUnit(transmission_id, "0")
    work_units.record_generation(unit, CREATED)
    work_units.acquire(unit, counts=(3, 0))


def refused_cancel(transmission_id: str = FIRST, scope: Scope = ACCOUNT) -> tuple[int, str | None]:
    return refusal_code(cancel, scope, transmission_id)


@pytest.mark.spec("3-t9")
class TestStarting:
    def test_due_transmissions_are_started_once_the_longest_due_first(self, time: Clock) -> None:
        for number, seconds in ((1, 30.0), (2, 10.0), (3, HOUR)):
            schedule(number, seconds)
        time.now += 9.999
        start_due()
        assert starts() == []
        time.now += 50
        start_due()
        assert starts() == ["191930000000000002", "191930000000000001"]
        start_due()
        assert starts() == []

    def test_a_transmission_that_became_due_while_no_scheduler_ran_is_started(
        self, time: Clock
    ) -> None:
        schedule(1, 10.0)
        time.now += 5 * 86_400
        start_due()
        assert starts() == [FIRST]

    def test_all_that_is_due_at_one_time_is_started_then(self, time: Clock) -> None:
        for number in range(230):
            due.add(due.Due("transmissions", CREATED, str(number)))
        start_due()
        assert len(starts()) == 230

    def test_an_interrupted_start_is_queued_again(
        self, time: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        schedule(1, 10.0)
        time.now += 60
        with monkeypatch.context() as broken:
            broken.setattr(due, "remove", lambda _: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                start_due()
        start_due()
        assert starts() == [FIRST, FIRST]

    @pytest.mark.cost
    def test_a_tick_when_nothing_is_due_costs_one_request(self, time: Clock) -> None:
        schedule()
        with aws_requests() as requests:
            start_due()
        assert [each.operation for each in requests] == ["Query"]


class TestCancelling:
    def test_a_scheduled_transmission_is_cancelled_for_good(self, time: Clock) -> None:
        schedule()
        cancel(ACCOUNT, FIRST)
        assert state() == CANCELLED
        assert starts() == [FIRST]  # it starts to tell its recipients' events
        time.now += 2 * HOUR
        start_due()
        assert starts() == []
        assert refused_cancel() == (409, "2006")

    @pytest.mark.parametrize("by_campaign", [True, False])
    def test_each_recipient_gets_a_bounce_event_of_class_25(self, by_campaign: bool) -> None:
        schedule(1, campaign_id="spring")
        if by_campaign:
            cancel_campaign(ACCOUNT, "spring")
        else:
            cancel(ACCOUNT, FIRST)
        assert starts() == [FIRST]
        start_transmission(FIRST)
        (work,) = queued_work()
        events = generate_chunk(read_chunk(queues.read(work)), CREATED).events
        assert [event["rcpt_to"] for event in events] == [
            f"r{number}@example.test" for number in range(3)
        ]
        for event in events:
            assert (event["type"], event["bounce_class"]) == ("bounce", "25")
            assert event["reason"] == "554 5.7.1 [internal] campaign cancelled"
            assert event["sending_domain"] == "mail.example.test"
            assert (event["subject"], event["campaign_id"]) == ("Hi", "spring")

    @pytest.mark.parametrize("by_campaign", [True, False])
    def test_its_recipients_leave_the_usage(self, time: Clock, by_campaign: bool) -> None:
        schedule(1, campaign_id="spring")
        schedule(2)
        time.now += HOUR / 2
        assert usage.get(1)[0].day == 6
        for _ in range(2):
            if by_campaign:
                cancel_campaign(ACCOUNT, "spring")
            else:
                with suppress(ServiceError):
                    cancel(ACCOUNT, FIRST)
            assert usage.get(1)[0].day == 3

    def test_recipients_that_were_not_counted_are_not_given_back(self) -> None:
        transmission = make_transmission(start_ms=CREATED + 3_600_000, resolved=False)
        submit(transmission, recipients(3), Unlimited())
        usage.count(1, 1, {CREATED // 60_000: 5})
        cancel(ACCOUNT, FIRST)
        assert usage.get(1)[0].day == 5
        record = transmissions.get(FIRST)
        assert record is not None
        assert record.state == "Canceled"

    def test_the_messages_of_a_sandbox_send_can_be_used_again(self) -> None:
        transmission = make_transmission(
            start_ms=CREATED + 3_600_000, resolved=False, options={"sandbox": True}
        )
        submit(transmission, recipients(3), SandboxAllowance(1))
        assert usage.get(1)[1] == 3
        cancel(ACCOUNT, FIRST)
        assert usage.get(1)[1] == 0

    def test_a_refusal_names_the_state_that_is_shown(self, time: Clock) -> None:
        schedule()
        cancel(ACCOUNT, FIRST)
        assert refusal_text() == "a transmission in state 'Canceled' cannot be cancelled"
        transmission = make_transmission(id="191930000000000002")
        submit(transmission, recipients(3), meter())
        text = "a transmission that was not scheduled cannot be cancelled"
        assert refusal_text(transmission.id) == text
        generate_first_chunk(transmission.id)
        text = "a transmission in state 'Success' cannot be cancelled"
        assert refusal_text(transmission.id) == text
        later = schedule(3)
        assert start(later.id)
        text = "a transmission in state 'Generating' cannot be cancelled"
        assert refusal_text(later.id) == text

    def test_of_two_cancellations_at_once_one_is_refused_with_the_true_state(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        schedule()
        real = transmissions.cancel

        def after_another(*arguments: Any) -> bool:
            monkeypatch.undo()
            cancel(ACCOUNT, FIRST)
            return real(*arguments)

        monkeypatch.setattr(transmissions, "cancel", after_another)
        assert refusal_text() == "a transmission in state 'Canceled' cannot be cancelled"
        assert usage.get(1)[0].day == 0

    def test_an_interrupted_cancellation_makes_its_events_at_the_start_time(
        self, time: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        schedule()
        with monkeypatch.context() as broken:
            broken.setattr(scheduling, "queue_start", lambda _: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                cancel(ACCOUNT, FIRST)
        time.now += 2 * HOUR
        start_due()
        assert starts() == [FIRST]

    @pytest.mark.parametrize(("remaining", "cancelled"), [(660.0, True), (659.999, False)])
    def test_a_transmission_can_be_cancelled_until_eleven_minutes_before_its_start(
        self, time: Clock, remaining: float, cancelled: bool
    ) -> None:
        assert settings().cancel_margin == 660
        schedule()
        time.now += HOUR - remaining
        if cancelled:
            cancel(ACCOUNT, FIRST)
        else:
            assert refused_cancel() == (409, "2003")
            assert state() == SUBMITTED

    def test_a_transmission_that_has_started_is_not_cancelled(self) -> None:
        transmission = make_transmission()
        submit(transmission, recipients(1), meter())
        assert refused_cancel() == (409, "2006")
        later = schedule(2)
        assert start(later.id)
        assert refused_cancel(later.id) == (409, "2006")

    def test_of_a_start_and_a_cancellation_at_once_the_first_counts(
        self, time: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        schedule()
        real = transmissions.cancel

        def after_a_start(*arguments: Any) -> bool:
            assert start()
            return real(*arguments)

        monkeypatch.setattr(transmissions, "cancel", after_a_start)
        assert refused_cancel() == (409, "2006")
        assert state() == GENERATING
        monkeypatch.undo()
        other = schedule(2)
        cancel(ACCOUNT, other.id)
        assert not start(other.id)
        assert state(other.id) == CANCELLED

    @pytest.mark.parametrize("name", ["191930000000000009", "abc", "", "²", "1" * 4000, "../x"])
    def test_cancelling_an_unknown_transmission_gives_404(self, name: str) -> None:
        schedule()
        assert refused_cancel(name) == (404, "1600")

    @pytest.mark.cost
    def test_an_impossible_id_is_not_looked_up(self) -> None:
        with aws_requests() as requests:
            for name in ("abc", "", "²", "1" * 4000):
                assert refused_cancel(name) == (404, "1600")
        assert requests == []

    def test_only_its_own_part_of_its_own_account_cancels_a_transmission(self) -> None:
        schedule(1, subaccount_id=7)
        schedule(2)
        for scope in (Scope(2, None), Scope(1, 0), Scope(1, 8)):
            assert refused_cancel(FIRST, scope) == (404, "1600")
        assert refused_cancel("191930000000000002", Scope(1, 7)) == (404, "1600")
        cancel(Scope(1, 7), FIRST)
        cancel(Scope(1, 0), "191930000000000002")

    def test_a_cancelled_transmission_releases_its_list_with_its_events(self, time: Clock) -> None:
        recipients = ListRecipients(saved())
        transmission = make_transmission(start_ms=CREATED + 3_600_000, resolved=False)
        lease_list(transmission, "friends")
        submit(replace(transmission, leases=leases_on(None, recipients)), recipients, meter())
        time.now += HOUR - 661
        cancel(ACCOUNT, FIRST)
        start_transmission(FIRST)
        time.now += 600
        lists.check_unused(1, "friends")


class TestCancellingACampaign:
    def test_each_recipient_of_the_campaign_gets_an_event_and_other_campaigns_stay_scheduled(
        self, time: Clock
    ) -> None:
        schedule(1, campaign_id="spring")
        schedule(2, campaign_id="summer")
        schedule(3, campaign_id="spring", subaccount_id=7)
        submit(
            make_transmission(id="191930000000000004", campaign_id="spring"), recipients(1), meter()
        )
        queued_work()
        cancel_campaign(Scope(1, 0), "spring")
        assert starts() == [FIRST]
        record = transmissions.get(FIRST)
        assert record is not None
        assert (record.state, record.transmission.resolved) == (CANCELLED, True)
        refusal = record.transmission.refusal
        assert (refusal["type"], refusal["bounce_class"]) == ("bounce", "25")
        time.now += 2 * HOUR
        start_due()
        assert sorted(starts()) == ["191930000000000002", "191930000000000003"]

    def test_a_transmission_that_starts_soon_is_cancelled_with_its_campaign(self) -> None:
        schedule(1, 10.0, campaign_id="spring")
        cancel_campaign(ACCOUNT, "spring")
        assert state() == CANCELLED

    def test_a_transmission_that_starts_meanwhile_is_not_cancelled(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        schedule(1, campaign_id="spring")
        real = transmissions.get

        def after_a_start(name: str) -> Any:
            record = real(name)
            assert record is not None
            transmissions.start(record)
            return record

        monkeypatch.setattr(transmissions, "get", after_a_start)
        cancel_campaign(ACCOUNT, "spring")
        monkeypatch.undo()
        assert state() == GENERATING
        assert starts() == []

    def test_cancelling_a_campaign_again_does_no_harm(self) -> None:
        schedule(1, campaign_id="spring")
        cancel_campaign(ACCOUNT, "spring")
        cancel_campaign(ACCOUNT, "spring")
        assert set(starts()) == {FIRST}
        cancel_campaign(ACCOUNT, "unknown")
        assert starts() == []


def test_a_transmission_is_owned_by_its_part_of_the_account() -> None:
    schedule(1, subaccount_id=7)
    for scope in (ACCOUNT, Scope(1, 7)):
        assert get_in_scope(scope, FIRST).transmission.subaccount_id == 7
    for scope in (Scope(1, 0), Scope(1, 8), Scope(2, None)):
        with pytest.raises(ServiceError, match="does not exist"):
            get_in_scope(scope, FIRST)
