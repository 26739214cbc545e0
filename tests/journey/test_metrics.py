"""Send a campaign and read its metrics."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.journey.service import Service, eventually

PATH = "/api/v1/metrics"


def ask(service: Service, path: str, **query: str) -> Any:
    since = f"{datetime.now(UTC) - timedelta(hours=1):%Y-%m-%dT%H:%M}"
    response = service.request("GET", f"{PATH}{path}?{urlencode({'from': since} | query)}")
    assert response.status == 200, response.body
    return response.json["results"]


def send(service: Service, campaign: str, *recipients: str) -> None:
    body = {
        "campaign_id": campaign,
        "recipients": [{"address": each} for each in recipients],
        "content": {"from": "news@example.test", "subject": "News", "html": "<p>Hello</p>"},
    }
    assert service.request("POST", "/api/v1/transmissions", body).status == 200


@pytest.mark.spec("4.11-t12")
def test_the_metrics_of_a_campaign_count_its_events_within_seconds(service: Service) -> None:
    campaign = f"spring-{time.monotonic_ns()}"
    recipients = ["ann@one.test", "bob@one.test", "bounce-hard@two.test", "defer@three.test"]
    send(service, campaign, *recipients)
    expected = {
        "count_targeted": 4,
        "count_injected": 4,
        "count_sent": 4,
        "count_accepted": 3,
        "count_delivered_first": 2,
        "count_delivered_subsequent": 1,
        "count_hard_bounce": 1,
        "count_delayed": 2,
        "count_delayed_first": 1,
    }
    names = ",".join(expected)
    eventually(
        lambda: ask(service, "/deliverability", campaigns=campaign, metrics=names) == [expected]
    )

    domains = ask(
        service, "/deliverability/domain", campaigns=campaign, metrics="count_sent,count_bounce"
    )
    assert domains == [
        {"domain": "one.test", "count_sent": 2, "count_bounce": 0},
        {"domain": "three.test", "count_sent": 1, "count_bounce": 0},
        {"domain": "two.test", "count_sent": 1, "count_bounce": 1},
    ]
    filters = {"groupings": [{"AND": {"campaigns": {"eq": [campaign]}}}]}
    (reason,) = ask(
        service,
        "/deliverability/bounce-reason",
        query_filters=json.dumps(filters),
        metrics="count_bounce,count_inband_bounce",
    )
    assert reason["reason"].startswith("550 5.1.1")
    assert (reason["bounce_class_name"], reason["count_bounce"]) == ("Invalid Recipient", 1)
    series = ask(
        service,
        "/deliverability/time-series",
        campaigns=campaign,
        metrics="count_injected",
        precision="5min",
    )
    assert sum(row["count_injected"] for row in series) == 4
    assert campaign in ask(service, "/campaigns", match=campaign[:8])["campaigns"]
