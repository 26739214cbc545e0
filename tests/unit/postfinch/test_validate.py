"""Addresses and recipient lists are validated from the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from postfinch.commands import validate
from postfinch.http_api import ApiError
from tests.unit.calling import Client
from tests.unit.postfinch.api_server import run
from tests.unit.zones import Zone, served_zone


@pytest.fixture(autouse=True)
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Zone]:
    for zone in served_zone(monkeypatch):
        zone.set("inbox.test", ("MX", "10 mx.inbox.test"))
        yield zone


def test_addresses_are_judged_and_a_bad_one_is_in_the_exit_code(account: Client) -> None:
    output = run("validate", "ann@inbox.test", "info@inbox.test")
    assert "ann@inbox.test\tvalid\t85" in output
    assert "info@inbox.test\trisky" in output
    output = run("validate", "ann@inbox.test", "a+b@hotmial.com", "--json", code=1)
    assert [each["result"] for each in json.loads(output)] == ["valid", "typo"]
    assert json.loads(output)[1]["did_you_mean"] == "a+b@hotmail.com"


def test_a_list_is_validated_and_its_good_recipients_are_copied(
    account: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(validate, "_POLL_SECONDS", 0)
    recipients = [{"address": f"{name}@{name}.test"} for name in ("inbox", "nowhere")]
    account.post("/api/v1/recipient-lists", {"id": "all", "recipients": recipients})
    output = run("validate", "--list", "all", "--copy-to", "good")
    assert "valid\t1" in output
    assert "undeliverable\t1" in output
    assert account.get("/api/v1/recipient-lists/good").results["total_accepted_recipients"] == 1
    with pytest.raises(ApiError, match="already exists"):
        run("validate", "--list", "all", "--copy-to", "good")
    counts = json.loads(run("validate", "--list", "all", "--json"))["counts"]
    assert counts["valid"] == counts["undeliverable"] == 1


@pytest.mark.parametrize(
    "arguments", [[], ["ann@inbox.test", "--list", "all"], ["ann@inbox.test", "--copy-to", "x"]]
)
def test_a_call_that_cannot_be_understood_is_refused(account: Client, arguments: list[str]) -> None:
    run("validate", *arguments, code=2)
