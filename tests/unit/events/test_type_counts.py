from __future__ import annotations

from collections.abc import Iterator

import pytest

from chalicelib.core import clock
from tests.fake_cloud import aws_requests
from tests.unit.calling import Client
from tests.unit.events.examples import HOUR, NINE, TRANSMISSION, event_at, record
from tests.unit.people import make_account, make_key, make_subaccount

NOW = NINE + HOUR
COUNTS = "/api/v1/events/message/counts"


@pytest.fixture(autouse=True)
def _at_ten(cloud: None) -> Iterator[None]:
    with clock.use(lambda: NOW / 1000):
        yield


@pytest.fixture
def client() -> Client:
    make_account()
    return make_key()


def test_events_of_a_transmission_are_counted_by_type(client: Client) -> None:
    record(
        [
            *(event_at(NINE + n, n) for n in range(3)),
            event_at(NINE, 7, "bounce", "nobody@example.test"),
            event_at(NINE, 8, transmission_id="191930000000000002"),
        ]
    )
    counts = client.get(f"{COUNTS}?transmissions={TRANSMISSION}").results
    assert counts == {"delivery": 3, "bounce": 1}
    assert client.get(f"{COUNTS}?recipients=nobody@example.test").results == {"bounce": 1}
    assert client.get(f"{COUNTS}?transmissions=1").results == {}


def test_the_filters_and_the_window_of_the_search_apply(client: Client) -> None:
    record([event_at(NINE + n * 60_000, n) for n in range(4)])
    query = f"{COUNTS}?transmissions={TRANSMISSION}"
    window = "&from=2026-01-31T09:01:00Z&to=2026-01-31T09:03:00Z"
    assert client.get(f"{query}{window}").results == {"delivery": 2}
    assert client.get(f"{query}&events=bounce").results == {}
    assert client.get(f"{query}&events=nonsense").status == 400


@pytest.mark.cost
def test_a_search_through_a_whole_account_is_refused_before_anything_is_read(
    client: Client,
) -> None:
    client.get("/api/v1/events/message/samples")
    with aws_requests() as requests:
        response = client.get(f"{COUNTS}?campaigns=spring")
    assert (response.status, response.body["errors"][0]["code"]) == (400, "1401")
    assert not [each for each in requests if "Query" in str(each)]


def test_a_key_of_a_subaccount_counts_its_own_events_only(client: Client) -> None:
    owner = make_subaccount()
    record([event_at(NINE), event_at(NINE, 1, subaccount_id=str(owner.id))])
    query = f"{COUNTS}?transmissions={TRANSMISSION}"
    assert client.get(query).results == {"delivery": 2}
    assert client.get(f"{query}&subaccounts={owner.id}").results == {"delivery": 1}
    assert make_key(1, owner.id).get(query).results == {"delivery": 1}
    assert make_key(1, owner.id).get(f"{query}&subaccounts=0").results == {}
