from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.accounts.store import usage
from chalicelib.core import blobs, clock, dynamo
from chalicelib.core.dynamo import ConditionFailed, Table, TransactionFailed
from chalicelib.core.settings import settings
from chalicelib.recipient_lists.stored_form import decode, encode
from chalicelib.transmissions.model import ACCEPTING, CANCELLED, GENERATING, SUBMITTED, Transmission
from chalicelib.transmissions.store import transmissions
from chalicelib.transmissions.store.transmissions import NewRecord, Record
from tests.fake_cloud import aws_requests, stored_objects
from tests.unit.transmissions.examples import CREATED, make_transmission, meter

pytestmark = pytest.mark.usefixtures("cloud")


def put(transmission: Transmission, state: str = SUBMITTED) -> None:
    transmissions.put(
        NewRecord(transmission, transmission.pieces(), state, recipients=3, chunk_size=2), meter()
    )


def large() -> Transmission:
    noise = random.Random(1).randbytes(settings().item_inline_bytes + 1)
    return make_transmission(raw=noise, content={})


def test_a_submitted_transmission_is_read_back() -> None:
    put(make_transmission(metadata={"k": "é"}))
    assert transmissions.get_submitted(make_transmission().id) == make_transmission(
        metadata={"k": "é"}
    )


@pytest.mark.cost
def test_a_small_transmission_costs_one_request_to_store_and_one_to_get() -> None:
    with aws_requests() as requests:
        put(make_transmission())
        for _ in range(3):
            transmissions.get_submitted(make_transmission().id)
    assert [request.operation for request in requests] == ["TransactWriteItems", "GetItem"]


def test_a_large_transmission_is_stored_in_the_bucket() -> None:
    put(large())
    (key,) = stored_objects()
    assert key.startswith(f"transmissions/{large().id}/body-")
    assert transmissions.get_submitted(large().id) == large()


def test_a_transmission_whose_content_is_lost_does_not_count_as_missing() -> None:
    put(large())
    (key,) = stored_objects()
    blobs.delete(key)
    with pytest.raises(blobs.BlobMissing):
        transmissions.get_submitted(large().id)


def test_an_accepting_transmission_is_not_submitted_until_it_is_committed() -> None:
    put(make_transmission(), ACCEPTING)
    for _ in range(2):
        with pytest.raises(transmissions.NotSubmitted):
            transmissions.get_submitted(make_transmission().id)
    transmissions.commit(make_transmission().id)
    assert transmissions.get_submitted(make_transmission().id) == make_transmission()


def test_an_unknown_transmission_is_not_submitted() -> None:
    with pytest.raises(transmissions.NotSubmitted, match="77"):
        transmissions.get_submitted("77")


@pytest.mark.parametrize("state", [SUBMITTED, ACCEPTING])
def test_storing_a_transmission_again_changes_nothing_and_counts_it_once(state: str) -> None:
    put(make_transmission(), state)
    with clock.use(lambda: CREATED / 1000):
        put(make_transmission(campaign_id="other"), state)
    item = Table("transmissions").get(f"transmission#{make_transmission().id}", "transmission")
    assert item is not None
    assert (item["state"], item["campaign_id"]) == (state, "")
    assert usage.get(1)[0].day == 3


def test_writes_along_are_stored_with_the_transmission_or_not_at_all() -> None:
    new = NewRecord(
        make_transmission(), make_transmission().pieces(), SUBMITTED, recipients=3, chunk_size=2
    )
    other = Table("config")
    other.put({"pk": "taken", "sk": "x"})
    along = dynamo.put(other, {"pk": "taken", "sk": "x"}, condition="attribute_not_exists(#pk)")
    with pytest.raises(TransactionFailed):
        transmissions.put(new, meter(), along=[along])
    assert transmissions.get(make_transmission().id) is None
    assert usage.get(1)[0].day == 0
    along = dynamo.put(other, {"pk": "free", "sk": "x"})
    transmissions.put(new, meter(), along=[along])
    assert transmissions.get(make_transmission().id) is not None
    assert other.get("free", "x") is not None


class TestStates:
    """A record moves from submitted to generating or canceled, and never between these."""

    @pytest.fixture
    def transmission(self) -> Transmission:
        transmission = make_transmission(resolved=False, start_ms=CREATED)
        put(transmission)
        return transmission

    def start(self, transmission: Transmission, **changes: Any) -> bool:
        fields: dict[str, Any] = {"recipients": 3, "chunks": 2, "chunk_size": 2, "list_ref": {}}
        return transmissions.start(Record(transmission, SUBMITTED, **(fields | changes)))

    def state(self) -> str:
        record = transmissions.get(make_transmission().id)
        assert record is not None
        return record.state

    def test_starting_stores_the_final_content(self, transmission: Transmission) -> None:
        final = replace(transmission, resolved=True, content={"subject": "final"})
        assert self.start(final)
        assert self.state() == GENERATING
        assert transmissions.get_submitted(transmission.id) == final

    def test_starting_stores_the_final_recipients(self, transmission: Transmission) -> None:
        ref = {"id": "friends", "version": "v2"}
        assert self.start(transmission, recipients=7, chunks=4, list_ref=ref)
        record = transmissions.get(transmission.id)
        assert record == Record(transmission, GENERATING, 7, 4, 2, ref)
        (summaries,) = transmissions.in_account(1)
        assert (summaries.recipients, summaries.chunks) == (7, 4)

    def test_only_the_first_start_counts(self, transmission: Transmission) -> None:
        assert self.start(replace(transmission, resolved=True))
        assert not self.start(
            replace(transmission, resolved=True, campaign_id="other"), recipients=9
        )
        assert transmissions.get_submitted(transmission.id).campaign_id == ""

    def test_starting_and_cancelling_exclude_each_other(self, transmission: Transmission) -> None:
        assert transmissions.cancel(transmission, 3)
        assert not self.start(transmission)
        assert self.state() == CANCELLED
        other = replace(transmission, id="191930000000000002")
        put(other)
        assert self.start(other)
        assert not transmissions.cancel(other, 3)

    @pytest.mark.parametrize("late", ["start", "cancel", "put"])
    def test_a_late_write_does_not_replace_another_large_body(self, late: str) -> None:
        transmission = replace(large(), start_ms=CREATED)
        put(transmission)
        self.start(transmission)
        other = replace(transmission, resolved=False, refusal={"reason": "late"})
        if late == "start":
            assert not self.start(other)
        elif late == "cancel":
            assert not transmissions.cancel(other, 3)
        else:
            put(other)
        assert transmissions.get_submitted(transmission.id) == transmission

    def test_an_accepting_transmission_is_not_started_cancelled_or_shown(self) -> None:
        put(make_transmission(), ACCEPTING)
        assert not self.start(make_transmission())
        assert not transmissions.cancel(make_transmission(), 3)
        assert transmissions.get(make_transmission().id) is None
        assert list(transmissions.in_account(1)) == []

    def test_a_large_transmission_is_replaced_as_well(self, transmission: Transmission) -> None:
        final = replace(large(), start_ms=CREATED)
        assert self.start(final)
        assert transmissions.get_submitted(transmission.id) == final

    def test_committing_a_started_or_cancelled_transmission_changes_nothing(
        self, transmission: Transmission
    ) -> None:
        transmissions.cancel(transmission, 3)
        with pytest.raises(ConditionFailed):
            transmissions.commit(transmission.id)
        assert self.state() == CANCELLED


class TestListing:
    def put(self, number: int, **fields: Any) -> None:
        put(make_transmission(id=str(191930000000000000 + number), **fields))

    def ids(self, account: int = 1) -> list[int]:
        return [int(each.id) - 191930000000000000 for each in transmissions.in_account(account)]

    def test_scheduled_transmissions_are_listed_first_then_the_newest(self) -> None:
        self.put(2, start_ms=CREATED)
        for number in (1, 3, 5):
            self.put(number)
        self.put(4, account_id=2)
        self.put(6, start_ms=CREATED)
        assert self.ids() == [6, 2, 5, 3, 1]
        assert self.ids(2) == [4]
        assert [int(each.id) % 10 for each in transmissions.scheduled(1)] == [6, 2]

    @pytest.mark.parametrize("starts_later", [True, False])
    def test_a_started_transmission_to_one_recipient_is_not_listed(
        self, starts_later: bool
    ) -> None:
        transmission = make_transmission(start_ms=CREATED if starts_later else 0)
        new = NewRecord(transmission, transmission.pieces(), SUBMITTED, recipients=1, chunk_size=2)
        transmissions.put(new, meter())
        assert len(list(transmissions.in_account(1))) == int(starts_later)
        if starts_later:
            assert transmissions.start(Record(transmission, SUBMITTED, 1, 1, 2, {}))
            assert list(transmissions.in_account(1)) == []
        record = transmissions.get(transmission.id)
        assert record is not None
        assert record.recipients == 1

    @pytest.mark.parametrize("cancelled", [True, False])
    def test_a_started_or_cancelled_transmission_is_not_scheduled(self, cancelled: bool) -> None:
        self.put(2, start_ms=CREATED)
        self.put(3)
        transmission = make_transmission(id="191930000000000002", start_ms=CREATED)
        assert (
            transmissions.cancel(transmission, 3) if cancelled else TestStates().start(transmission)
        )
        assert list(transmissions.scheduled(1)) == []
        assert self.ids() == [3, 2]

    @pytest.mark.cost
    def test_a_list_reads_no_bodies(self) -> None:
        put(large())
        with aws_requests() as requests:
            (summaries,) = transmissions.in_account(1)
        assert {each.operation for each in requests} == {"Query"}
        assert (summaries.recipients, summaries.chunks, summaries.state) == (3, 2, SUBMITTED)
        assert not summaries.draft


@pytest.mark.parametrize("email", ["é@b.test", "x" * 100_000])
def test_the_recipients_of_a_scheduled_transmission_are_read_back(email: str) -> None:
    bulk_recipients = [{"email": email, "metadata": {"k": [1, None]}}, {"email": "r@example.test"}]
    transmissions.put_recipients("77", map(encode, bulk_recipients))
    assert [*map(decode, transmissions.get_recipients("77"))] == bulk_recipients
    assert stored_objects() == ["transmissions/77/recipients"]


def test_a_transmission_whose_content_is_not_final_is_not_generated() -> None:
    put(make_transmission(resolved=False))
    with pytest.raises(transmissions.NotSubmitted):
        transmissions.get_submitted(make_transmission().id)


def test_the_record_has_the_attributes_of_lists_and_of_expiry() -> None:
    with clock.use(lambda: CREATED / 1000):
        put(make_transmission(campaign_id="spring", subaccount_id=7))
    item = Table("transmissions").get(f"transmission#{make_transmission().id}", "transmission")
    assert item is not None
    fields = {name: item[name] for name in ("account_id", "subaccount_id", "campaign_id", "state")}
    assert fields == {
        "account_id": 1,
        "subaccount_id": 7,
        "campaign_id": "spring",
        "state": SUBMITTED,
    }
    assert (item["recipients"], item["chunks"], item["created_ms"]) == (3, 2, CREATED)
    assert item["expires"] == CREATED // 1000 + 30 * 86_400
