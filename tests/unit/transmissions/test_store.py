from __future__ import annotations

import random

import pytest

from chalicelib.core import blobs, clock, dynamo
from chalicelib.core.dynamo import Table, TransactionFailed
from chalicelib.core.settings import settings
from chalicelib.transmissions import store
from chalicelib.transmissions.model import ACCEPTING, SUBMITTED, Transmission
from chalicelib.transmissions.store import New
from tests.fake_cloud import aws_requests, stored_objects
from tests.unit.transmissions.examples import CREATED, meter, transmission

pytestmark = pytest.mark.usefixtures("cloud")


def put(sent: Transmission, state: str = SUBMITTED) -> None:
    store.put(New(sent, sent.packed(), state, recipients=3, chunk_size=2), meter())


def large() -> Transmission:
    noise = random.Random(1).randbytes(settings().item_inline_bytes + 1)
    return transmission(raw=noise, content={})


def test_a_submitted_transmission_comes_back() -> None:
    put(transmission(metadata={"k": "é"}))
    assert store.get_submitted(transmission().id) == transmission(metadata={"k": "é"})


def test_a_small_one_costs_one_request_to_store_and_one_to_get() -> None:
    with aws_requests() as made:
        put(transmission())
        for _ in range(3):
            store.get_submitted(transmission().id)
    assert [request.operation for request in made] == ["TransactWriteItems", "GetItem"]


def test_a_large_one_lies_in_the_bucket() -> None:
    put(large())
    assert stored_objects("transmissions/") == [f"transmissions/{large().id}/body"]
    assert store.get_submitted(large().id) == large()


def test_the_content_of_a_large_one_that_is_lost_is_no_missing_transmission() -> None:
    put(large())
    blobs.delete(f"transmissions/{large().id}/body")
    with pytest.raises(blobs.BlobMissing):
        store.get_submitted(large().id)


def test_one_that_is_being_accepted_is_not_submitted_until_it_is_committed() -> None:
    put(transmission(), ACCEPTING)
    for _ in range(2):
        with pytest.raises(store.NotSubmitted):
            store.get_submitted(transmission().id)
    store.commit(transmission().id)
    assert store.get_submitted(transmission().id) == transmission()


def test_one_that_nobody_knows_is_not_submitted() -> None:
    with pytest.raises(store.NotSubmitted, match="77"):
        store.get_submitted("77")


@pytest.mark.parametrize("state", [SUBMITTED, ACCEPTING])
def test_what_is_stored_again_changes_nothing_and_is_counted_once(state: str) -> None:
    put(transmission(), state)
    with clock.use(lambda: CREATED / 1000):
        put(transmission(campaign_id="other"), state)
    item = Table("transmissions").get(f"transmission#{transmission().id}", "transmission")
    assert item is not None
    assert (item["state"], item["campaign_id"]) == (state, "")
    counter = Table("config").get(*meter().key)
    assert counter is not None
    assert counter["used"] == 3


def test_what_belongs_to_it_is_stored_with_it_or_neither_is() -> None:
    new = New(transmission(), transmission().packed(), SUBMITTED, recipients=3, chunk_size=2)
    other = Table("config")
    other.put({"pk": "taken", "sk": "x"})
    along = dynamo.put(other, {"pk": "taken", "sk": "x"}, condition="attribute_not_exists(#pk)")
    with pytest.raises(TransactionFailed):
        store.put(new, meter(), along=[along])
    assert store.get(transmission().id) is None
    assert other.get(*meter().key) is None
    along = dynamo.put(other, {"pk": "free", "sk": "x"})
    store.put(new, meter(), along=[along])
    assert store.get(transmission().id) is not None
    assert other.get("free", "x") is not None


def test_one_whose_content_is_not_final_is_not_generated() -> None:
    put(transmission(resolved=False))
    with pytest.raises(store.NotSubmitted):
        store.get_submitted(transmission().id)


def test_the_record_tells_what_lists_and_clean_up_need() -> None:
    with clock.use(lambda: CREATED / 1000):
        put(transmission(campaign_id="spring", subaccount_id=7))
    item = Table("transmissions").get(f"transmission#{transmission().id}", "transmission")
    assert item is not None
    known = {name: item[name] for name in ("account_id", "subaccount_id", "campaign_id", "state")}
    assert known == {
        "account_id": 1,
        "subaccount_id": 7,
        "campaign_id": "spring",
        "state": SUBMITTED,
    }
    assert (item["recipients"], item["chunks"], item["created_ms"]) == (3, 2, CREATED)
    assert item["expires"] == CREATED // 1000 + 30 * 86_400
