"""A transmission that was not cut into chunks when it was accepted is started."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.accounts.store import accounts, usage
from chalicelib.core import queues
from chalicelib.core.dynamo import Table
from chalicelib.core.errors import Unavailable
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.delivery.store import work_units
from chalicelib.generation.chunk import Chunk, generate_chunk
from chalicelib.generation.worker import read_chunk
from chalicelib.recipient_lists.model import RecipientList
from chalicelib.recipient_lists.store import contents, lists
from chalicelib.recipient_lists.stored_form import encode
from chalicelib.subaccounts import store as subaccounts
from chalicelib.templates.model import Edit, Template, apply_edit, new_template
from chalicelib.templates.store import records as templates
from chalicelib.transmissions import start as starting
from chalicelib.transmissions import submit
from chalicelib.transmissions.leases import lease_list, lease_template, leases_on
from chalicelib.transmissions.model import CANCELLED, GENERATING, SUBMITTED, Transmission
from chalicelib.transmissions.recipients import ListRecipients
from chalicelib.transmissions.resolve import refuse
from chalicelib.transmissions.start import start
from chalicelib.transmissions.store import transmissions
from tests.fake_cloud import queued_work
from tests.unit.moving_clock import Clock, moving_clock
from tests.unit.people import make_account, make_subaccount
from tests.unit.recipient_lists.examples import saved
from tests.unit.transmissions.examples import (
    CREATED,
    DEFAULTS,
    OPTIONS,
    body,
    make_transmission,
    meter,
    recipients,
)

CONTENT = body()["content"]
OWNER = Scope(1, 0)
ID = make_transmission().id


@pytest.fixture(autouse=True)
def time(cloud: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    monkeypatch.setenv("CHUNK_RECIPIENTS", "2")
    settings.cache_clear()
    with moving_clock(CREATED / 1000) as moving:
        make_account()
        yield moving


def scheduled(**fields: Any) -> Transmission:
    """Return a scheduled transmission, which starts in an hour, in its form before it is stored."""
    details = {"resolved": False, "options": {}, "start_ms": CREATED + 3_600_000}
    return make_transmission(**(details | fields))


def keep(transmission: Transmission, to: Any = None) -> None:
    """Store a transmission that starts later, to three recipients or a list."""
    submit.submit(transmission, to or recipients(3), meter())


def chunks() -> list[Chunk]:
    """Take the chunks off the queue; return them in the order of their numbers."""
    chunk = [read_chunk(queues.read(each)) for each in queued_work()]
    return sorted(chunk, key=lambda each: each.unit.chunk)


def names(result: list[Chunk]) -> list[tuple[str, list[str]]]:
    return [(each.unit.name, [one["email"] for one in each.recipients]) for each in result]


def state() -> str:
    record = transmissions.get(ID)
    assert record is not None
    return record.state


def make_template(subject: str = "First") -> None:
    new = new_template(OWNER, "welcome", Edit(published=True, options={"open_tracking": False}))
    assert templates.create(new, CONTENT | {"subject": subject})


def change_template(subject: str) -> None:
    def change(template: Any, ref: str | None) -> Any:
        return apply_edit(template, Edit(content_ref=ref, published=True))

    assert templates.update(OWNER, "welcome", change, CONTENT | {"subject": subject})


def of_template() -> None:
    """Store a scheduled transmission of a template, with a lease on the template."""
    transmission = scheduled(content={"template_id": "welcome"})
    template = stored_template()
    lease_template(transmission, template)
    keep(replace(transmission, leases=leases_on(template, None)))


def stored_template() -> Template:
    template = templates.get(1, None, "welcome")
    assert template is not None
    return template


def of_list(count: int = 3, **fields: Any) -> None:
    """Store a scheduled transmission to a list, with a lease on the list."""
    recipients = ListRecipients(saved(count=count))
    transmission = scheduled(**fields)
    lease_list(transmission, recipients.list.id)
    keep(replace(transmission, leases=leases_on(None, recipients)), recipients)


def change_list(count: int, first: int = 100) -> None:
    """Replace the recipients of the list."""
    others = [{"email": f"r{first + number}@example.test"} for number in range(count)]
    version = contents.write(1, "friends", map(encode, others))

    def edit(old: RecipientList) -> RecipientList:
        return replace(old, version=version.name, count=version.count, parts=version.parts)

    changed = lists.change(1, "friends", edit)
    assert changed is not None
    contents.remove(contents.version_of(changed[0]))


@pytest.mark.spec("3-t9")
def test_a_scheduled_transmission_is_cut_into_the_chunks_of_its_recipients() -> None:
    keep(scheduled(campaign_id="spring"))
    start(ID)
    queued_chunks = chunks()
    assert names(queued_chunks) == [
        ("0", ["r0@example.test", "r1@example.test"]),
        ("1", ["r2@example.test"]),
    ]
    assert [each.first_index for each in queued_chunks] == [0, 2]
    assert state() == GENERATING
    for each in queued_chunks:
        assert each.transmission.options == OPTIONS
        assert (each.transmission.content, each.transmission.resolved) == (CONTENT, True)
        assert each.transmission.campaign_id == "spring"


@pytest.mark.spec("2.6-t3")
@pytest.mark.parametrize("of_subaccount", [True, False])
def test_a_sender_suspended_since_sends_nothing_and_each_recipient_gets_an_event(
    of_subaccount: bool,
) -> None:
    number = make_subaccount().id if of_subaccount else None
    keep(scheduled(subaccount_id=number))
    if number:
        subaccounts.change(1, number, lambda before: replace(before, status="suspended"))
    else:
        accounts.change(1, lambda before: replace(before, status="suspended"))
    start(ID)
    queued_chunks = chunks()
    assert sum(len(each.recipients) for each in queued_chunks) == 3
    for each in queued_chunks:
        refusal = each.transmission.refusal
        assert (refusal["type"], refusal["bounce_class"]) == ("generation_rejection", "25")
        who = f"subaccount {number}" if number else "the account"
        assert refusal["reason"] == f"550 5.7.1 [internal] {who} is suspended and cannot send"
        assert each.transmission.content == CONTENT


def test_the_options_follow_the_account_s_choices_at_acceptance() -> None:
    keep(scheduled(defaults=DEFAULTS | {"tracking": False}))
    start(ID)
    assert chunks()[0].transmission.options["click_tracking"] is False


def test_a_pre_built_message_is_stored_and_queued_as_bytes() -> None:
    raw = "From: a@mail.example.test\r\n\r\né"
    keep(scheduled(content={"email_rfc822": raw}))
    start(ID)
    transmission = chunks()[0].transmission
    assert (transmission.raw, transmission.substitute, transmission.content) == (
        raw.encode(),
        True,
        {},
    )


class TestTwice:
    def test_starting_again_makes_the_same_chunks(self) -> None:
        make_template()
        of_template()
        start(ID)
        first = chunks()
        change_template("Second")
        transmissions.get_submitted.cache_clear()
        start(ID)
        assert chunks() == first

    def test_an_interrupted_start_is_repeated(self, monkeypatch: pytest.MonkeyPatch) -> None:
        make_template()
        of_template()
        with monkeypatch.context() as broken:
            broken.setattr(starting, "queue_chunks", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                start(ID)
        change_template("Second")
        start(ID)
        queued_chunks = chunks()
        assert len(queued_chunks) == 2
        assert {each.transmission.content["subject"] for each in queued_chunks} == {"First"}

    def test_of_two_starts_at_once_one_fixes_the_content_for_both(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make_template()
        of_template()
        real: Callable[..., Any] = starting._resolve

        def overtaken(record: Any) -> Transmission:
            monkeypatch.undo()
            claim = real(record)
            change_template("Second")
            start(ID)  # the start of another worker
            return claim

        monkeypatch.setattr(starting, "_resolve", overtaken)
        start(ID)
        queued_chunks = chunks()
        assert len(queued_chunks) == 2 + 2
        assert {each.transmission.content["subject"] for each in queued_chunks} == {"Second"}

    def test_a_start_continues_when_the_aws_client_repeats_its_write(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        keep(scheduled())
        real = transmissions.start
        monkeypatch.setattr(transmissions, "start", lambda record: real(record) and real(record))
        start(ID)
        assert len(chunks()) == 2


class TestCancelled:
    def test_a_cancelled_transmission_is_not_started(self) -> None:
        transmission = scheduled()
        keep(transmission)
        assert transmissions.cancel(transmission, 3)
        start(ID)
        start("191930000000000009")  # there is no such transmission
        assert chunks() == []
        assert state() == CANCELLED

    def test_a_transmission_that_is_cancelled_meanwhile_is_not_started(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        transmission = scheduled()
        keep(transmission)
        real = transmissions.start

        def too_late(record: Any) -> bool:
            transmissions.cancel(transmission, 3)
            return real(record)

        monkeypatch.setattr(transmissions, "start", too_late)
        start(ID)
        assert chunks() == []
        assert state() == CANCELLED

    @pytest.mark.parametrize("to_list", [True, False])
    def test_each_recipient_of_a_cancelled_campaign_gets_an_event(self, to_list: bool) -> None:
        if to_list:
            of_list()
        else:
            keep(scheduled())
        record = transmissions.get(ID)
        assert record is not None
        assert transmissions.cancel(refuse(record, {"type": "bounce", "reason": "why"}), 3)
        for _ in range(2):
            start(ID)
            queued_chunks = chunks()
            assert [len(each.recipients) for each in queued_chunks] == [2, 1]
            assert {each.transmission.refusal["reason"] for each in queued_chunks} == {"why"}
        assert state() == CANCELLED


class TestTemplates:
    def test_the_template_is_read_at_the_start(self) -> None:
        make_template()
        of_template()
        change_template("Second")
        start(ID)
        transmission = chunks()[0].transmission
        assert transmission.content["subject"] == "Second"
        assert (transmission.template_id, transmission.template_version) == ("welcome", "2")
        assert transmission.options["open_tracking"] is False

    def test_the_events_of_a_refused_transmission_tell_its_template_and_from(self) -> None:
        make_template()
        of_template()
        accounts.change(1, lambda before: replace(before, status="suspended"))
        start(ID)
        events = [event for chunk in chunks() for event in generate_chunk(chunk, CREATED).events]
        assert len(events) == 3
        for event in events:
            assert event["type"] == "generation_rejection"
            assert (event["friendly_from"], event["subject"]) == ("a@mail.example.test", "First")
            assert (event["template_id"], event["template_version"]) == ("welcome", "1")

    def test_without_its_template_each_recipient_gets_a_failure(self) -> None:
        make_template()
        of_template()
        Table("config").delete(*templates.head(stored_template()))
        start(ID)
        queued_chunks = chunks()
        assert [len(each.recipients) for each in queued_chunks] == [2, 1]
        transmission = queued_chunks[0].transmission
        refusal = transmission.refusal
        assert (refusal["type"], refusal["error_code"]) == ("generation_failure", "554")
        assert refusal["reason"] == ("554 5.3.3 [internal] template 'welcome' does not exist")
        assert (transmission.template_id, transmission.template_version) == ("welcome", "")
        assert refusal["raw_reason"] == refusal["reason"]

    def test_a_start_without_an_answer_about_the_template_is_repeated(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def unavailable(*_: Any) -> Any:
            raise Unavailable

        make_template()
        of_template()
        with monkeypatch.context() as broken:
            broken.setattr(starting, "find_content", unavailable)
            with pytest.raises(Unavailable):
                start(ID)
        start(ID)
        assert chunks()[0].transmission.refusal == {}


@pytest.mark.spec("2.1-t3")
class TestLists:
    def test_the_list_is_read_at_the_start(self) -> None:
        of_list(count=3)
        change_list(5)
        start(ID)
        assert [len(each.recipients) for each in chunks()] == [2, 2, 1]
        record = transmissions.get(ID)
        assert record is not None
        assert (record.recipients, record.chunks) == (5, 3)

    def test_options_of_recipients_in_a_list_do_not_count(self) -> None:
        recipient = {"email": "r@example.test", "options": {"open_tracking": False}, "tags": ["t"]}
        of_list()
        version = contents.write(1, "friends", [encode(recipient)])

        def edit(old: RecipientList) -> RecipientList:
            return replace(old, version=version.name, count=1, parts=1)

        lists.change(1, "friends", edit)
        start(ID)
        (only,) = chunks()
        assert only.recipients == [{"email": "r@example.test", "tags": ["t"]}]

    def test_a_list_cannot_change_until_all_chunks_are_queued(
        self, time: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        of_list()
        time.now += 3600
        real = starting.queue_chunks

        def look(*data: Any) -> None:
            real(*data)
            with pytest.raises(Exception, match="in use"):
                lists.check_unused(1, "friends")

        monkeypatch.setattr(starting, "queue_chunks", look)
        start(ID)

    def test_a_repeated_start_after_the_list_changed_does_nothing(self) -> None:
        of_list(count=3)
        start(ID)
        queued_chunks = chunks()
        assert len(queued_chunks) == 2
        for chunk in queued_chunks:
            work_units.record_generation(chunk.unit, CREATED)
            work_units.acquire(chunk.unit, counts=(len(chunk.recipients), 0))
        change_list(5)
        start(ID)
        assert chunks() == []
        record = transmissions.get(ID)
        assert record is not None
        assert record.recipients == 3

    def test_an_interrupted_start_is_repeated_with_the_same_recipients(
        self, time: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        of_list(count=3)
        time.now += 3600
        with monkeypatch.context() as broken:
            broken.setattr(starting, "queue_chunks", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                start(ID)
        with pytest.raises(Exception, match="in use"):
            change_list(5)
        start(ID)
        assert names(chunks())[1] == ("1", ["r2@example.test"])

    @pytest.mark.parametrize("is_recreated", [True, False])
    def test_each_recipient_of_a_deleted_list_gets_an_event(self, is_recreated: bool) -> None:
        of_list(count=3)
        change_list(2)
        assert lists.delete(1, "friends")
        if is_recreated:
            saved(count=5)
        start(ID)
        (only,) = chunks()
        assert [one["email"] for one in only.recipients] == [
            "r100@example.test",
            "r101@example.test",
        ]
        refusal = only.transmission.refusal
        assert refusal["type"] == "generation_failure"
        assert "recipient list 'friends' does not exist" in refusal["reason"]
        record = transmissions.get(ID)
        assert record is not None
        assert (record.state, record.recipients) == (GENERATING, 2)
        start(ID)
        assert chunks() == []
        lists.check_unused(1, "friends")

    def test_a_cancelled_campaign_has_its_events_though_its_list_is_deleted(self) -> None:
        of_list()
        record = transmissions.get(ID)
        assert record is not None
        assert transmissions.cancel(refuse(record, {"type": "bounce", "reason": "why"}), 3)
        assert lists.delete(1, "friends")
        start(ID)
        assert [len(each.recipients) for each in chunks()] == [2, 1]
        assert state() == CANCELLED

    def test_a_transmission_whose_list_was_not_kept_is_cancelled(self) -> None:
        of_list()
        lists.release_lease(1, "friends", ID)
        assert lists.delete(1, "friends")
        assert usage.get(1)[0].day == 3
        for _ in range(2):
            start(ID)
        assert chunks() == []
        assert state() == CANCELLED
        assert usage.get(1)[0].day == 0

    def test_a_start_that_finds_the_service_unavailable_is_repeated(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def unavailable(*_: Any) -> Any:
            raise Unavailable

        of_list()
        with monkeypatch.context() as broken:
            broken.setattr(starting, "lease_list", unavailable)
            with pytest.raises(Unavailable):
                start(ID)
        assert state() == SUBMITTED
        start(ID)
        assert state() == GENERATING
        assert [len(each.recipients) for each in chunks()] == [2, 1]


def test_a_large_transmission_is_read_by_its_chunks() -> None:
    noise = random.Random(1).randbytes(40_000).hex()
    keep(scheduled(content=CONTENT | {"text": noise}))
    start(ID)
    queued_chunks = chunks()
    assert len(queued_chunks) == 2
    assert {each.transmission.content["text"] for each in queued_chunks} == {noise}
