"""Test the operator's commands of compliance, and what customers notice of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infrastructure.admin import cli
from tests.unit.calling import Client
from tests.unit.people import make_account, make_domain, make_key, make_subaccount, transmission

pytestmark = pytest.mark.usefixtures("cloud")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    make_account()

    def command(*arguments: str, status: int = 0) -> str:
        capsys.readouterr()
        assert cli.main(arguments) == status
        output = capsys.readouterr()
        return output.err if status else output.out

    return command


def refusal(client: Client, sender: str = "me@example.test", **content: Any) -> tuple[int, str]:
    response = client.post("/api/v1/transmissions", transmission(sender) | content)
    return response.status, response.error["description"]


def names_with(client: Client, status: str) -> list[str]:
    views = client.get(f"/api/v1/sending-domains?compliance_status={status}").results
    return [view["domain"] for view in views]


@pytest.mark.spec("4.4-t1")
@pytest.mark.spec("7-t25")
def test_a_blocked_domain_is_shown_as_blocked_and_cannot_send_until_it_is_unblocked(
    run: Any,
) -> None:
    client = make_key()
    make_domain("example.test")
    make_domain("other.test")
    assert (
        run("block-domain", "Example.test") == "blocked Example.test\nsending domain example.test\n"
    )
    assert run("list-blocked-domains") == "example.test\n"
    assert refusal(client) == (400, "Blocked Sending Domain <example.test>")
    assert (names_with(client, "blocked"), names_with(client, "valid")) == (
        ["example.test"],
        ["other.test"],
    )
    path = "/api/v1/sending-domains/example.test"
    assert client.get(path).results["status"]["compliance_status"] == "blocked"
    verified = client.post(f"{path}/verify", {"cname_verify": True}).results
    assert verified["compliance_status"] == "blocked"
    assert client.delete(path).status == 204
    for name in ("example.test", "sub.example.test"):
        response = client.post("/api/v1/sending-domains", {"domain": name})
        assert (response.status, response.error["code"]) == (400, "7000")
    run("unblock-domain", "example.test")
    assert run("list-blocked-domains") == ""
    assert client.post("/api/v1/sending-domains", {"domain": "example.test"}).status == 200


def test_the_inbound_domains_that_a_block_stops_are_shown(run: Any) -> None:
    client = make_key(1, grants=["inbound_domains/manage"])
    for name in ("in.bad.test", "in.good.test"):
        assert client.post("/api/v1/inbound-domains", {"domain": name}).status == 200
    assert run("block-domain", "bad.test") == "blocked bad.test\ninbound domain in.bad.test\n"
    assert client.get("/api/v1/inbound-domains/in.bad.test").results["status"] == "blocked"
    assert run("block-domain", "in.bad.test") == "blocked in.bad.test\n"
    assert run("unblock-domain", "bad.test") == "unblocked bad.test\n"
    output = run("unblock-domain", "in.bad.test")
    assert output == "unblocked in.bad.test\ninbound domain in.bad.test\n"


def test_a_blocked_tracking_domain_cannot_be_used_or_registered(run: Any) -> None:
    client = make_key()
    make_domain("example.test")
    path = "/api/v1/tracking-domains"
    assert client.post(path, {"domain": "track.bad.test"}).status == 200
    output = run("block-domain", "bad.test")
    assert output == "blocked bad.test\ntracking domain track.bad.test\n"
    status = client.get(f"{path}/track.bad.test").results["status"]
    assert status["compliance_status"] == "blocked"
    assert (
        client.post(f"{path}/track.bad.test/verify", {}).results["compliance_status"] == "blocked"
    )
    code, text = refusal(client, tracking_domain="track.bad.test")
    assert (code, text) == (400, "Tracking domain 'track.bad.test' is not a verified one")
    response = client.post(path, {"domain": "other.bad.test"})
    assert (response.status, response.error["code"]) == (400, "7000")
    assert response.error["value"] == "other.bad.test"
    output = run("unblock-domain", "bad.test")
    assert output == "unblocked bad.test\ntracking domain track.bad.test\n"
    assert client.post(path, {"domain": "other.bad.test"}).status == 200


@pytest.mark.spec("2.6-t4")
def test_a_subaccount_that_compliance_suspends_cannot_send_whatever_the_account_sets(
    run: Any,
) -> None:
    client = make_key()
    number = make_subaccount().id
    make_domain("example.test", subaccount=number)
    sender = make_key(subaccount=number)
    view = json.loads(run("set-subaccount-compliance", "1", str(number), "suspended"))
    assert (view["status"], view["compliance_status"]) == ("active", "suspended")
    path = f"/api/v1/subaccounts/{number}"
    assert client.put(path, {"status": "active"}).status == 200
    assert client.get(path).results["compliance_status"] == "suspended"
    assert refusal(sender) == (
        403,
        f"compliance has suspended subaccount {number}: it cannot send",
    )
    assert sender.get("/api/v1/sending-domains").status == 200
    run("set-subaccount-compliance", "1", str(number), "active")
    assert client.get(path).results["compliance_status"] == "active"
    assert sender.post("/api/v1/transmissions", transmission()).status == 200


def test_a_status_of_the_account_is_mirrored_as_the_compliance_status(run: Any) -> None:
    client = make_key()
    number = make_subaccount().id
    client.put(f"/api/v1/subaccounts/{number}", {"status": "suspended"})
    view = client.get(f"/api/v1/subaccounts/{number}").results
    assert (view["status"], view["compliance_status"]) == ("suspended", "suspended")


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (("block-domain", "nodot"), "'nodot' is not a domain name"),
        (("unblock-domain", "good.test"), "good.test is not blocked itself"),
        (("set-subaccount-compliance", "1", "9", "active"), "account 1 has no subaccount 9"),
    ],
)
def test_an_impossible_command_is_refused_with_the_reason(
    run: Any, arguments: tuple[str, ...], output: str
) -> None:
    assert output in run(*arguments, status=1)
