"""Search message events page by page, and ingest events of other systems."""

from __future__ import annotations

import gzip
import json
import time
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.journey.service import Service, eventually

MESSAGES = "/api/v1/events/message"
COPIES = 7


@pytest.fixture(scope="module")
def transmission(service: Service) -> str:
    """A transmission of a campaign to several recipients, whose events are all recorded."""
    recipients = [f"search-{n}@inbox.test" for n in range(COPIES - 1)]
    response = service.request(
        "POST",
        "/api/v1/transmissions",
        {
            "campaign_id": "winter-sale_2026",
            "recipients": [{"address": each} for each in [*recipients, "bounce-hard+s@inbox.test"]],
            "content": {"from": "hello@example.test", "subject": "Winter Sale", "text": "Hello"},
        },
    )
    transmission_id: str = response.json["results"]["id"]
    eventually(lambda: search(service, transmissions=transmission_id)["total_count"] == 2 * COPIES)
    return transmission_id


def search(service: Service, **query: str) -> Any:
    response = service.request("GET", f"{MESSAGES}?{urlencode(query)}")
    assert response.status == 200, response.body
    return response.json


@pytest.mark.spec("4.10-t1")
def test_each_filter_finds_the_matching_events(service: Service, transmission: str) -> None:
    expected: dict[str, int] = {
        "campaigns=winter": 2 * COPIES,
        "campaigns=wint": 0,
        "campaigns=sale&events=injection": COPIES,
        "subjects=winter sale&events=bounce": 1,
        "recipients=SEARCH-1@inbox.test": 2,
        "recipient_domains=inbox&events=delivery": COPIES - 1,
        "sending_domains=example": 2 * COPIES,
        "from_addresses=hello@example.test": 2 * COPIES,
        "bounce_classes=10": 1,
        "reasons=550": 1,
        "ip_pools=default&events=bounce,delivery": COPIES,
        "subaccounts=0": 2 * COPIES,
        "subaccounts=17": 0,
    }
    for text, count in expected.items():
        query = dict(pair.split("=", 1) for pair in text.split("&"))
        page = search(service, transmissions=transmission, **query)
        assert (len(page["results"]), page["total_count"]) == (count, count), text


@pytest.mark.spec("4.10-t1")
@pytest.mark.parametrize("name", ["transmissions", "campaigns"])
def test_next_links_lead_through_all_events_newest_first(
    service: Service, transmission: str, name: str
) -> None:
    value = transmission if name == "transmissions" else "winter"
    page = search(service, cursor="initial", per_page="4", **{name: value})
    events = list(page["results"])
    while "next" in page["links"]:
        assert (len(page["results"]), page["total_count"]) == (4, 2 * COPIES)
        page = service.request("GET", page["links"]["next"]).json
        events += page["results"]
    assert len({event["event_id"] for event in events}) == len(events) == 2 * COPIES
    stamps = [event["timestamp"] for event in events]
    assert stamps == sorted(stamps, reverse=True)
    assert {event["display_name"] for event in events} == {"Injection", "Delivery", "Bounce"}


def test_the_total_count_of_an_unfiltered_search_equals_its_results(
    service: Service, transmission: str
) -> None:
    def is_counted() -> bool:  # other journeys may add events meanwhile
        every = search(service, per_page="10000")
        assert len(every["results"]) == every["total_count"] >= 2 * COPIES
        return bool(search(service, per_page="1")["total_count"] == every["total_count"])

    eventually(is_counted)


def test_an_invalid_search_is_refused_with_the_name_of_the_parameter(service: Service) -> None:
    for query in ("from=yesterday", "per_page=0", "cursor=x", "events=opened", "bounce_classes=a"):
        response = service.request("GET", f"{MESSAGES}?{query}")
        assert response.status == 400, query
        assert query.split("=")[0] in response.json["errors"][0]["description"]
    assert service.request("GET", f"{MESSAGES}?subjects={'x' * 4100}").status == 413


@pytest.mark.spec("4.10-t3")
@pytest.mark.spec("4.10-t4")
def test_documentation_and_samples_of_events_need_no_key(service: Service) -> None:
    described = service.request("GET", f"{MESSAGES}/documentation", key=None).json["results"]
    assert {"description", "sampleValue"} == set(described[0]["rcpt_to"])
    samples = service.request("GET", f"{MESSAGES}/samples?events=open,click", key=None).json
    assert {sample["type"] for sample in samples["results"]} == {"open", "click"}


@pytest.mark.spec("4.10-t2")
def test_ingested_events_are_found_like_recorded_events(service: Service) -> None:
    now = str(int(time.time()))
    events = [
        {
            "type": "delivery",
            "timestamp": now,
            "event_id": f"e-{n}",
            "message_id": f"elsewhere-{n}",
            "rcpt_to": f"elsewhere-{n}@inbox.test",
            "campaign_id": "from elsewhere",
        }
        for n in range(3)
    ]
    lines = "\n".join(json.dumps({"svc": {"message_event": each}}) for each in [*events, events[0]])
    body = gzip.compress(f"{lines}\nno event\n".encode())
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/x-ndjson"}
    response = service.request("POST", "/api/v1/ingest/events", body, headers=headers)
    assert response.status == 200, response.body
    name = response.json["results"]["id"]

    def outcomes() -> list[Any]:
        page = service.request("GET", f"/api/v1/events/ingest?batch_ids={name}").json
        return list(page["results"])

    (outcome,) = eventually(outcomes)
    assert outcome["type"] == "error"
    assert (outcome["number_succeeded"], outcome["number_failed"]) == (3, 1)
    assert outcome["number_duplicates"] == 1
    path = outcome["href"].removeprefix(f"http://localhost:{service.api_port}")
    (failure,) = service.request("GET", path, key=None).body.splitlines()
    assert json.loads(failure)["line"] == 5
    # Another worker may record them after the outcome
    eventually(lambda: search(service, campaigns="elsewhere")["total_count"] == 3)
    assert search(service, messages="elsewhere-1")["results"][0]["rcpt_to"] == events[1]["rcpt_to"]
