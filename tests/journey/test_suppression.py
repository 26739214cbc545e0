"""Use the suppression list over HTTP as a customer, and on the command line as the operator."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from tests.http_response import Response
from tests.journey.service import ROOT, Service

PATH = "/api/v1/suppression-list"
IN_SUBACCOUNT = "X-SVC-SUBACCOUNT"


@pytest.fixture
def domain(request: pytest.FixtureRequest) -> str:
    """A different domain for each test, so that tests do not see each other's entries."""
    return f"{abs(hash(request.node.name)) % 10**8}.test"


def search(service: Service, **query: Any) -> Any:
    response = service.request("GET", f"{PATH}?{urlencode(query)}")
    assert response.status == 200, response.body
    return response.json


def load(service: Service, *recipients: dict[str, Any], **options: Any) -> Response:
    return service.request("PUT", f"{PATH}/", {"recipients": list(recipients)}, **options)


def admin(service: Service, *arguments: str, stdin: str = "") -> str:
    process = subprocess.run(
        [
            *(sys.executable, "-m", "infrastructure.admin.suppression"),
            *("--local", str(service.data_dir), *arguments),
        ],
        cwd=ROOT,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


@pytest.mark.spec("4.8-t1")
@pytest.mark.spec("4.8-t3")
@pytest.mark.spec("4.8-t4")
@pytest.mark.spec("1-r1")
def test_an_address_is_suppressed_found_and_removed(service: Service, domain: str) -> None:
    plus = f"Ann+News@{domain}"
    response = load(service, {"recipient": plus, "type": "transactional", "description": "asked"})
    assert response.status == 200
    assert response.json == {"results": {"message": "Suppression List successfully updated"}}
    path = f"{PATH}/{quote(plus.lower())}"
    response = service.request("GET", path + "/").json
    (entry,) = response["results"]
    assert (entry["recipient"], entry["description"]) == (plus.lower(), "asked")
    assert (response["links"], response["total_count"]) == ([], 1)
    deletion = service.request("DELETE", path)
    assert (deletion.status, deletion.body) == (204, b"")
    response = service.request("GET", path)
    assert response.status == 404
    assert response.json == {"errors": [{"message": "Recipient could not be found"}]}


@pytest.mark.spec("4.8-t4")
@pytest.mark.spec("4.8-r4")
@pytest.mark.spec("4.8-r5")
def test_a_removal_takes_a_body_and_a_list_id(service: Service, domain: str) -> None:
    ann = f"{PATH}/ann@{domain}"
    for body in (
        {"type": "transactional"},
        {"type": "non_transactional", "list_id": "news.example"},
        {"type": "open_tracking"},
    ):
        assert service.request("PUT", ann, body).status == 200
    assert service.request("DELETE", ann, {"type": "open_tracking"}).status == 204
    assert service.request("DELETE", f"{ann}?list_id=").status == 204
    (remaining,) = service.request("GET", ann).json["results"]
    assert remaining["list_id"] == "news.example"
    assert service.request("DELETE", f"{ann}?list_id=").status == 404
    assert service.request("DELETE", f"{ann}?list_id=news.example").status == 204


@pytest.mark.spec("4.8-t5")
@pytest.mark.spec("8-t10")
def test_ten_thousand_entries_are_loaded_and_read_page_by_page(
    service: Service, domain: str
) -> None:
    many = [
        {"recipient": f"u{n}@{domain}", "type": "non_transactional", "description": f"row {n}"}
        for n in range(10_000)
    ]
    assert load(service, *many).status == 200
    assert service.request("PUT", PATH, {"recipients": [*many, many[0]]}).status == 400
    href, seen = f"{PATH}?domain={domain}&cursor=initial&per_page=4000", set()
    while href:
        page = service.request("GET", href).json
        assert page["total_count"] == 10_000
        seen |= {each["recipient"] for each in page["results"]}
        href = next((each["href"] for each in page["links"] if each["rel"] == "next"), "")
    assert len(seen) == 10_000
    page = search(service, domain=domain, description="ROW 77", per_page=5, page=2)
    assert page["total_count"] == sum("77" in str(n) for n in range(10_000))
    assert len(page["results"]) == 5


@pytest.mark.spec("4.8-t1")
def test_a_load_with_a_malformed_entry_stores_no_entry(service: Service, domain: str) -> None:
    good = {"recipient": f"good@{domain}", "type": "transactional"}
    response = load(service, good, {"recipient": "bad address", "type": "transactional"})
    assert response.status == 400
    assert (
        "1 invalid or malformed recipient(s): bad address" in response.json["errors"][0]["message"]
    )
    assert search(service, domain=domain)["total_count"] == 0


@pytest.mark.spec("4.8-t6")
def test_the_summary_counts_new_entries(service: Service, domain: str) -> None:
    before = service.request("GET", f"{PATH}/summary").json["results"]
    entries = [
        {"recipient": f"u{n}@{domain}", "type": "transactional", "non_transactional": True}
        for n in range(3)
    ]
    assert load(service, *entries).status == 200
    after = service.request("GET", f"{PATH}/summary").json["results"]
    assert after["manually_added"] - before["manually_added"] == 3
    assert after["total"] - before["total"] == 3


@pytest.mark.spec("4.8-r6")
def test_a_subaccount_has_its_own_suppression_list(service: Service, domain: str) -> None:
    response = service.request(
        "POST", "/api/v1/subaccounts", {"name": domain, "setup_api_key": False}
    )
    assert response.status == 200, response.body
    number = str(response.json["results"]["subaccount_id"])
    entry = {"recipient": f"ann@{domain}", "type": "transactional"}
    assert load(service, entry, headers={IN_SUBACCOUNT: number}).status == 200
    assert load(service, entry).status == 200
    (first, second) = search(service, domain=domain)["results"]
    assert {first.get("subaccount_id"), second.get("subaccount_id")} == {None, int(number)}
    for header, owner in (("0", None), (number, int(number))):
        response = service.request(
            "GET", f"{PATH}?domain={domain}", headers={IN_SUBACCOUNT: header}
        ).json
        assert [each.get("subaccount_id") for each in response["results"]] == [owner]
    assert service.request("DELETE", f"{PATH}/ann@{domain}").status == 204
    (remaining,) = search(service, domain=domain)["results"]
    assert remaining["subaccount_id"] == int(number)


@pytest.mark.spec("4.8-r1")
def test_customers_cannot_change_compliance_entries_of_the_operator(
    service: Service, domain: str
) -> None:
    admin(service, "add-compliance", f"ann@{domain}", "--type", "transactional")
    path = f"{PATH}/ann@{domain}"
    for response in (
        service.request("DELETE", path),
        service.request("PUT", path, {"type": "transactional"}),
        load(service, {"recipient": f"ann@{domain}", "type": "transactional"}),
    ):
        assert response.status == 403
        assert response.json["errors"][0]["message"].endswith(" - Compliance")
    assert search(service, domain=domain, sources="Compliance")["total_count"] == 1
    assert "2 entries" not in admin(service, "erase", f"ann@{domain}")
    assert service.request("GET", path).status == 404


def test_the_operator_imports_and_exports_a_list(service: Service, domain: str) -> None:
    csv_text = f"email,type,source\nann@{domain},non_transactional,Bounce Rule\n"
    assert "1 entries written" in admin(service, "import", "-", stdin=csv_text)
    assert search(service, domain=domain, sources="Bounce Rule")["total_count"] == 1
    exported = list(csv.DictReader(io.StringIO(admin(service, "export", "-"))))
    (row,) = [each for each in exported if each["recipient"].endswith(domain)]
    assert (row["type"], row["source"]) == ("non_transactional", "Bounce Rule")


def test_privacy_requests_change_the_suppression_list(service: Service, domain: str) -> None:
    recipient = f"ann@{domain}"
    body: dict[str, Any] = {"recipients": [recipient]}
    saved = {"results": {"message": "Request saved."}}
    response = service.request("POST", "/api/v1/data-privacy/opt-out-request", body)
    assert (response.status, response.json) == (200, saved)
    assert search(service, domain=domain)["total_count"] == 1
    body["include_subaccounts"] = True
    response = service.request("POST", "/api/v1/data-privacy/rtbf-request", body)
    assert (response.status, response.json) == (200, saved)
    assert search(service, domain=domain)["total_count"] == 0


def test_the_suppression_list_needs_a_key(service: Service) -> None:
    assert service.request("GET", PATH, key=None).status == 401
    assert service.request("GET", f"{PATH}/summary", key="nobody").status == 401
