from __future__ import annotations

from collections.abc import Iterator

import pytest

from chalicelib.core import clock
from chalicelib.events.documentation import SEARCHED, TYPES
from chalicelib.events.fields import FIELDS
from tests.unit.calling import Client
from tests.unit.events.examples import HOUR, NINE, event_at, record
from tests.unit.people import make_account, make_key, make_subaccount

NOW = NINE + HOUR
MESSAGES = "/api/v1/events/message"
INGESTED = "/api/v1/events/ingest"
NOBODY = Client("")


@pytest.fixture(autouse=True)
def _at_ten(cloud: None) -> Iterator[None]:
    with clock.use(lambda: NOW / 1000):
        yield


@pytest.fixture
def client() -> Client:
    make_account()
    return make_key()


@pytest.mark.spec("4.10-t1")
def test_each_page_has_results_and_a_count_and_all_but_the_last_a_link(client: Client) -> None:
    record([event_at(NINE + n, n) for n in range(3)])
    first = client.get(f"{MESSAGES}?per_page=2&cursor=initial&events=delivery").body
    assert (len(first["results"]), first["total_count"]) == (2, 3)
    assert first["links"]["next"].startswith(f"{MESSAGES}?per_page=2&events=delivery&cursor=")
    last = client.get(first["links"]["next"]).body
    assert (len(last["results"]), last["total_count"], last["links"]) == (1, 3, {})


@pytest.mark.spec("5-r6")
def test_searches_ignore_the_subaccount_header_whatever_it_holds(client: Client) -> None:
    owner = make_subaccount()
    record([event_at(NINE), event_at(NINE, 1, subaccount_id=str(owner.id))])
    assert client.on_behalf_of(owner.id).get(MESSAGES).body["total_count"] == 2
    assert client.get(f"{MESSAGES}?subaccounts={owner.id}").body["total_count"] == 1
    assert client.get(f"{MESSAGES}?subaccounts=0").body["total_count"] == 1
    own = make_key(1, owner.id)
    assert own.get(MESSAGES).body["total_count"] == 1
    assert own.get(f"{MESSAGES}?subaccounts=0").body["total_count"] == 0
    for text in ("0", "99", "nonsense", ""):
        assert client.on_behalf_of(text).get(MESSAGES).body["total_count"] == 2
        assert own.on_behalf_of(text).get(MESSAGES).body["total_count"] == 1
        assert client.on_behalf_of(text).get("/api/v1/events/ingest").status == 200


def test_a_repeated_filter_is_one_list_on_every_page(client: Client) -> None:
    record([event_at(NINE), event_at(NINE, 1, subaccount_id="7"), event_at(NINE, 2)])
    query = "subaccounts=0&subaccounts=7&per_page=2"
    first = client.get(f"{MESSAGES}?{query}").body
    assert (len(first["results"]), first["total_count"]) == (2, 3)
    assert first["links"]["next"].startswith(f"{MESSAGES}?{query}&cursor=")
    assert len(client.get(first["links"]["next"]).results) == 1


@pytest.mark.spec("7-t1")
@pytest.mark.parametrize(
    "query",
    [
        "from=yesterday",
        "to=2026-13-01",
        "per_page=0",
        "per_page=10001",
        "cursor=made-up",
        "events=opened",
        "bounce_classes=hard",
        "subaccounts=x",
        "sending_ips=host",
        "ab_test_versions=1",
    ],
)
def test_the_error_names_the_invalid_parameter(client: Client, query: str) -> None:
    response = client.get(f"{MESSAGES}?{query}")
    assert response.status == 400
    assert response.error["code"] == "1200"
    assert query.split("=")[0] in response.error["description"]


@pytest.mark.spec("7-t7")
@pytest.mark.spec("8-t12")
@pytest.mark.parametrize("path", [MESSAGES, INGESTED])
def test_a_uri_that_is_too_long_is_refused_with_an_error_body(client: Client, path: str) -> None:
    response = client.get(f"{path}?events=success&batch_ids={'x' * 4096}&subjects={'x' * 10}")
    assert response.status == 413
    assert response.error["message"] == "Request URI too large"
    assert "4096" in response.error["description"]


@pytest.mark.spec("4.10-t2")
def test_ingest_events_have_a_search_of_their_own(client: Client) -> None:
    outcome = {
        "type": "success",
        "customer_id": "1",
        "timestamp": NINE,
        "event_id": "17",
        "batch_id": "b",
    }
    record([event_at(NINE), outcome])
    body = client.get(INGESTED).body
    assert [event["batch_id"] for event in body["results"]] == ["b"]
    assert (body["total_count"], body["links"]) == (1, {})
    assert client.get(f"{MESSAGES}?events=success").body["total_count"] == 0


@pytest.mark.spec("4.10-t3")
def test_the_documentation_describes_each_field_of_each_type_without_a_key() -> None:
    views = NOBODY.get(f"{MESSAGES}/documentation").results
    # The 18 types of spec 4.10, and the five of received mail
    assert len(views) == len(SEARCHED) == 23
    for kind, described in zip(SEARCHED, views, strict=True):
        assert described.pop("display_name") == TYPES[kind].label
        assert described.pop("event_description") == TYPES[kind].description
        assert set(described) == set(TYPES[kind].fields)
        for name, field in described.items():
            assert field["description"] == FIELDS[name].description
            assert set(field) == {"description", "sampleValue"}
        assert described["type"]["sampleValue"] == kind
        assert described["timestamp"]["sampleValue"].endswith("Z")


@pytest.mark.spec("4.10-t4")
def test_samples_are_of_all_types_or_of_the_requested_ones() -> None:
    every = NOBODY.get(f"{MESSAGES}/samples").results
    assert [sample["type"] for sample in every] == list(SEARCHED)
    assert all(sample["display_name"] for sample in every)
    some = NOBODY.get(f"{MESSAGES}/samples?events=open,Bounce,OPEN").results
    assert [sample["type"] for sample in some] == ["bounce", "open"]
    assert some == [sample for sample in every if sample["type"] in ("bounce", "open")]


@pytest.mark.parametrize("kind", ["opened", "ab_test_completed", "success"])
def test_a_sample_of_a_type_that_is_no_message_event_is_refused(kind: str) -> None:
    response = NOBODY.get(f"{MESSAGES}/samples?events=open,{kind}")
    assert response.status == 400
    assert kind in response.error["description"]


@pytest.mark.spec("7-t2")
@pytest.mark.spec("7-t3")
def test_searches_need_a_key_with_their_grant(client: Client) -> None:
    other = make_key(grants=["templates/view"])
    for path in (MESSAGES, INGESTED):
        assert NOBODY.get(path).status == 401
        assert other.get(path).status == 403
        assert make_key(grants=["message_events/view"]).get(path).status == 200
