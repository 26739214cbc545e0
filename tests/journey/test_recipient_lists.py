"""A list of recipients is stored once, read back whole, replaced and removed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.journey.service import Answer, Service

LISTS = "/api/v1/recipient-lists"


def recipients(count: int) -> list[dict[str, Any]]:
    return [
        {
            "address": {"email": f"reader-{number}@inbox.test", "name": f"Reader {number}"},
            "tags": ["readers"],
            "substitution_data": {"number": number},
        }
        for number in range(count)
    ]


def code(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.json["errors"][0]["code"]


@pytest.mark.spec("2.1-t3")
def test_a_list_lives_from_its_creation_to_its_deletion(service: Service) -> None:
    given = recipients(2500)
    body = {"id": "readers", "name": "Readers", "attributes": {"of": 7}, "recipients": given}
    answer = service.request("POST", LISTS, body)
    assert answer.status == 200, answer.body
    assert answer.json["results"]["total_accepted_recipients"] == 2500

    summary = service.request("GET", f"{LISTS}/readers").json["results"]
    assert "recipients" not in summary
    assert summary in service.request("GET", LISTS).json["results"]
    whole = service.request("GET", f"{LISTS}/readers?show_recipients=true").json["results"]
    assert whole == summary | {"recipients": given}

    answer = service.request("PUT", f"{LISTS}/readers", {"recipients": given[:3]})
    assert answer.json["results"]["total_accepted_recipients"] == 3
    whole = service.request("GET", f"{LISTS}/readers?show_recipients=true").json["results"]
    assert whole["recipients"] == given[:3]
    assert whole["name"] == "Readers"

    assert service.request("DELETE", f"{LISTS}/readers").status == 200
    assert code(service.request("GET", f"{LISTS}/readers")) == (404, "1600")


def test_bad_recipients_stop_only_themselves(service: Service) -> None:
    mixed = [*recipients(2), {"address": "nobody"}, {}]
    answer = service.request("POST", LISTS, {"id": "mixed", "recipients": mixed})
    assert answer.status == 200
    assert answer.json["errors"][0]["code"] == "5000"
    results = answer.json["results"]
    assert (results["total_accepted_recipients"], results["total_rejected_recipients"]) == (2, 2)
    assert [error["code"] for error in results["rcpt_to_errors"]] == ["1300", "1400"]

    again = service.request("POST", LISTS, {"id": "mixed", "recipients": recipients(1)})
    assert code(again) == (400, "5001")
    nobody = service.request("POST", LISTS, {"id": "none", "recipients": [{}]})
    assert code(nobody) == (400, "5002")
