from __future__ import annotations

from collections.abc import Iterator

import pytest

from chalicelib.core import clock
from chalicelib.events import store
from tests.unit.events.examples import HOUR, NINE, event_at
from tests.unit.people import make_account, make_key, make_subaccount

MESSAGES = "/api/v1/events/message"


@pytest.fixture(autouse=True)
def _at_ten(cloud: None) -> Iterator[None]:
    with clock.use(lambda: (NINE + HOUR) / 1000):
        make_account()
        yield


@pytest.mark.spec("4.10-t1")
def test_a_search_answers_with_results_a_count_and_links() -> None:
    store.put_all([event_at(NINE + n, n) for n in range(3)])
    answer = make_key().get(f"{MESSAGES}?per_page=2&cursor=initial")
    assert answer.status == 200
    assert set(answer.body) == {"results", "total_count", "links"}
    assert (len(answer.results), answer.body["total_count"]) == (2, 3)
    assert set(answer.body["links"]) == {"next"}
    last = make_key().get(answer.body["links"]["next"])
    assert (len(last.results), last.body["total_count"], last.body["links"]) == (1, 3, {})


@pytest.mark.spec("5-r6")
def test_a_subaccounts_key_sees_the_events_of_its_subaccount_only() -> None:
    mine, other = make_subaccount(), make_subaccount()
    owners = [mine.id, other.id, None]
    for number, owner in enumerate(owners):
        fields = {} if owner is None else {"subaccount_id": str(owner)}
        store.put_all([event_at(NINE + number, number, **fields)])
    answer = make_key(subaccount=mine.id).get(MESSAGES)
    assert [event["subaccount_id"] for event in answer.results] == [str(mine.id)]
    assert answer.body["total_count"] == 1
    for_recipient = make_key(subaccount=mine.id).get(f"{MESSAGES}?recipients=ann@example.test")
    assert for_recipient.body["total_count"] == 1
    assert make_key().get(MESSAGES).body["total_count"] == 3


def test_a_key_without_the_grant_is_refused() -> None:
    assert make_key(grants=["transmissions/view"]).get(MESSAGES).status == 403
