"""Store, read, replace and delete a recipient list."""

from __future__ import annotations

from typing import Any

import pytest

from tests.http_response import Response
from tests.journey.service import Service

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


def code(response: Response) -> tuple[int, str]:
    return response.status, response.json["errors"][0]["code"]


@pytest.mark.spec("2.1-t3")
def test_a_list_is_created_read_replaced_and_deleted(service: Service) -> None:
    new_recipients = recipients(2500)
    body = {
        "id": "readers",
        "name": "Readers",
        "attributes": {"of": 7},
        "recipients": new_recipients,
    }
    response = service.request("POST", LISTS, body)
    assert response.status == 200, response.body
    assert response.json["results"]["total_accepted_recipients"] == 2500

    summary = service.request("GET", f"{LISTS}/readers").json["results"]
    assert "recipients" not in summary
    assert summary in service.request("GET", LISTS).json["results"]
    recipient_list = service.request("GET", f"{LISTS}/readers?show_recipients=true").json["results"]
    assert recipient_list == summary | {"recipients": new_recipients}

    response = service.request("PUT", f"{LISTS}/readers", {"recipients": new_recipients[:3]})
    assert response.json["results"]["total_accepted_recipients"] == 3
    recipient_list = service.request("GET", f"{LISTS}/readers?show_recipients=true").json["results"]
    assert recipient_list["recipients"] == new_recipients[:3]
    assert recipient_list["name"] == "Readers"

    assert service.request("DELETE", f"{LISTS}/readers").status == 200
    assert code(service.request("GET", f"{LISTS}/readers")) == (404, "1600")


def test_invalid_recipients_are_rejected_and_the_others_stored(service: Service) -> None:
    mixed = [*recipients(2), {"address": "nobody"}, {}]
    response = service.request("POST", LISTS, {"id": "mixed", "recipients": mixed})
    assert response.status == 200
    assert response.json["errors"][0]["code"] == "5000"
    results = response.json["results"]
    assert (results["total_accepted_recipients"], results["total_rejected_recipients"]) == (2, 2)
    assert [error["code"] for error in results["rcpt_to_errors"]] == ["1300", "1400"]

    again = service.request("POST", LISTS, {"id": "mixed", "recipients": recipients(1)})
    assert code(again) == (400, "5001")
    nobody = service.request("POST", LISTS, {"id": "none", "recipients": [{}]})
    assert code(nobody) == (400, "5002")
