"""Sending domains: added, listed, checked against the DNS and removed."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.domain_reports import store
from chalicelib.domain_reports.model import DMARC, DmarcRow, Period
from chalicelib.domain_reports.store import DomainReport
from tests.unit.calling import Client
from tests.unit.postfinch.api_server import run
from tests.unit.zones import Zone, served_zone

NAME = "mail.example.test"


@pytest.fixture
def zone(account: Client, monkeypatch: pytest.MonkeyPatch) -> Iterator[Zone]:
    """A DNS server whose records the test sets."""
    yield from served_zone(monkeypatch)


def add(*arguments: str) -> dict[str, Any]:
    """Add the domain; return its records by purpose."""
    result = json.loads(run("domains", "add", NAME, "--json", *arguments))
    return {each["purpose"]: each for each in result["records"]}


def publish(zone: Zone, record: dict[str, Any]) -> None:
    zone.set(record["name"], (record["type"], record["value"]))


def test_adding_a_domain_shows_the_records_to_publish(account: Client) -> None:
    lines = run("domains", "add", NAME).splitlines()
    records = [line.split("\t") for line in lines if "\t" in line]
    assert [record[:2] for record in records] == [
        ["signature", "TXT"],
        ["bounces", "CNAME"],
        ["policy", "TXT"],
    ]
    assert records[0][2].endswith(f"._domainkey.{NAME}")
    assert records[0][3].startswith("v=DKIM1")
    assert f"postfinch domains check {NAME} --wait" in lines[-1]


def test_a_key_has_2048_bits_unless_another_length_is_chosen(account: Client) -> None:
    values = [add()["dkim"]["value"]]
    run("domains", "remove", NAME, "--yes")
    values.append(add("--key-length", "1024")["dkim"]["value"])
    assert len(values[0]) > 390 > 250 > len(values[1])


def test_the_record_of_the_tracking_domain_is_shown_and_checked_as_well(
    account: Client, zone: Zone
) -> None:
    body = {"domain": "track.example.test"}
    assert account.post("/api/v1/tracking-domains", body).status == 200
    records = add("--tracking-domain", "track.example.test")
    assert records["tracking"]["name"] == "track.example.test"
    for purpose in ("dkim", "cname"):
        publish(zone, records[purpose])
    output = run("domains", "check", NAME, "--all", code=1)
    assert f"{NAME}: CNAME track.example.test is " in output
    run("domains", "check", NAME)


def test_check_names_the_record_that_is_missing(zone: Zone) -> None:
    records = add()
    output = run("domains", "check", NAME, code=1)
    assert f"{NAME}: TXT {records['dkim']['name']} is invalid (" in output
    publish(zone, records["dkim"])
    assert run("domains", "check", NAME).startswith("dkim: valid\n")
    output = run("domains", "check", NAME, "--all", code=1)
    assert f"{NAME}: CNAME {NAME} is invalid (" in output
    publish(zone, records["cname"])
    result = json.loads(run("domains", "check", NAME, "--all", "--json"))
    assert result["verified"] is True
    assert [each.get("status") for each in result["records"]] == ["valid", "valid", None]
    assert run("domains", "list") == f"{NAME}\tyes\tvalid\tvalid\t\t\n"


def test_check_waits_until_the_record_is_there(zone: Zone) -> None:
    record = add()["dkim"]
    timer = threading.Timer(0.5, lambda: publish(zone, record))
    timer.start()
    output = run("domains", "check", NAME, "--wait", "--interval", "0.05")
    timer.join()
    assert f"waiting for TXT {record['name']} is invalid" in output
    assert "dkim: valid" in output


def test_waiting_ends_at_its_deadline(zone: Zone) -> None:
    add()
    arguments = ("--wait", "--interval", "0.05", "--timeout", "0.3")
    assert "is invalid" in run("domains", "check", NAME, *arguments, code=1)


def test_requirements_shows_what_mail_hosts_require_and_the_record_to_publish(zone: Zone) -> None:
    publish(zone, add()["dkim"])
    lines = run("domains", "requirements", NAME, code=1).splitlines()
    rules = {line.split("\t")[1]: line.split("\t") for line in lines}
    rule = rules["A DMARC record states a policy"]
    assert rule[0] == "unmet"
    assert f": TXT _dmarc.{NAME} v=DMARC1; p=none;" in rule[3]
    rules = json.loads(run("domains", "requirements", NAME, "--json", code=1))
    assert len(rules) == len(lines)


def test_dmarc_shows_the_addresses_that_send_in_the_name_of_a_domain(zone: Zone) -> None:
    add()
    assert run("domains", "dmarc", NAME) == ""
    row = DmarcRow("192.0.2.1", NAME, 7, True, False, "none")
    hour_ago = int(time.time()) - 3600
    period = Period(hour_ago - 86_399, hour_ago)
    store.save(1, NAME, DomainReport(DMARC, "reporter.test", "1", "Reporter", period, [row]))
    assert run("domains", "dmarc", NAME).split("\t")[:5] == ["192.0.2.1", NAME, "7", "7", "7"]
    assert json.loads(run("domains", "dmarc", NAME, "--json"))["messages"] == 7
    assert run("domains", "dmarc", NAME, "--to", "2026-01-30") == ""


def test_remove_asks_first(account: Client) -> None:
    add()
    run("domains", "remove", NAME, answer="n\n", code=1)
    assert run("domains", "list").startswith(NAME)
    run("domains", "remove", NAME, answer="y\n")
    assert run("domains", "list") == ""
