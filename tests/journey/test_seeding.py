"""Send a campaign until its threshold is met, and receive the copy of a seed address."""

from __future__ import annotations

import email
import email.policy
from typing import Any

import pytest

from tests.journey.service import Service, eventually

CONFIG = {"threshold": 1000, "duration": 20, "reset": 24, "match": ["journey-*"]}
CAMPAIGN = "journey-spring"
ITEM = f"/api/v1/inline-seeds/status?id={CAMPAIGN}&sending_domain=example.test"


def send(service: Service, first: int, count: int) -> None:
    """Send the campaign to ``count`` readers, numbered from ``first``."""
    recipients = [
        {
            "address": {"email": f"seeded-{n}@inbox.test", "name": f"Reader {n}"},
            "substitution_data": {"n": n},
        }
        for n in range(first, first + count)
    ]
    body = {
        "campaign_id": CAMPAIGN,
        "recipients": recipients,
        "content": {"from": "news@example.test", "subject": "Spring", "text": "Reader {{n}}"},
    }
    assert service.request("POST", "/api/v1/transmissions", body).status == 200


def status(service: Service) -> Any:
    response = service.request("GET", ITEM)
    return response.json["results"] if response.status == 200 else None


def metrics(service: Service) -> dict[str, int]:
    path = "/api/v1/metrics/deliverability?from=2020-01-01T00:00&precision=day"
    path += f"&metrics=count_injected,count_delivered&campaigns={CAMPAIGN}"
    response = service.request("GET", path)
    assert response.status == 200, response.body
    return response.json["results"][0] if response.json["results"] else {}


@pytest.mark.spec("3-t19")
@pytest.mark.spec("4.12-t2")
@pytest.mark.spec("4.12-t5")
@pytest.mark.spec("4.12-t7")
def test_a_campaign_is_seeded_when_its_threshold_is_met(service: Service) -> None:
    seeds = service.request("GET", "/api/v1/seeds").json["results"]
    assert seeds
    assert service.request("POST", "/api/v1/inline-seeds/config", CONFIG).status == 200
    options = "/api/v1/inline-seeds/options"
    assert service.request("PUT", options, {"enabled": True}).status == 204
    assert status(service) is None
    send(service, 0, 600)
    eventually(lambda: (status(service) or {}).get("count") == 600)
    assert status(service)["seed_start"] is None
    send(service, 600, 400)
    seeding = eventually(lambda: (current := status(service))["seed_start"] and current)
    assert seeding["count"] == seeding["threshold"] == 1000
    assert seeding["duration"] == 20
    (raw,) = service.arrived(seeds[0])
    copy = email.message_from_bytes(raw, policy=email.policy.default)
    assert seeds[0] in copy["To"]
    assert copy["Subject"] == "Spring"
    assert copy.get_content().startswith("Reader ")
    assert service.mailbox(to=seeds[-1]) == []  # its seed send is due a quarter of an hour later
    eventually(lambda: metrics(service).get("count_delivered") == 1000)
    assert metrics(service)["count_injected"] == 1000
    assert service.events(recipients=seeds[0]) == []
    assert service.request("PUT", options, {"enabled": False}).status == 204
