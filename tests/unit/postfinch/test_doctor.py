"""Each fault of a machine, a service and an account is shown with what to do about it."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from chalicelib.accounts.store import accounts
from chalicelib.core import clock
from chalicelib.fleet import sending_ips
from chalicelib.fleet.model import SendingIp
from chalicelib.webhooks.model import WebhookBatch
from chalicelib.webhooks.store import batches
from postfinch import checkup
from postfinch.findings import OK, PROBLEM, SKIPPED, WARNING
from postfinch.http_api import Api, ApiError
from postfinch.local_service import LocalService
from tests.http_target import serving
from tests.unit.calling import Client
from tests.unit.people import make_key, make_subaccount
from tests.unit.postfinch.api_server import run
from tests.unit.zones import Zone, served_zone

DELIVERY = "/local/delivery"
NOW = 1_795_089_600.0


def findings(*arguments: str, code: int = 0) -> dict[str, dict[str, str]]:
    """Return what the command finds, by the name of the check."""
    return {
        each["check"]: each for each in json.loads(run("doctor", "--json", *arguments, code=code))
    }


def add_domain(account: Client, name: str) -> None:
    assert account.post("/api/v1/sending-domains", {"domain": name}).status == 200


def test_a_new_account_has_no_problem_and_is_told_to_add_a_domain(account: Client) -> None:
    results = findings()
    assert {each["status"] for each in results.values()} == {OK, WARNING}
    assert results["Sending domains"]["remedy"] == "add one: postfinch domains add DOMAIN"
    assert "ok\tAccount\tactive\t\n" in run("doctor")


@pytest.fixture
def zone(account: Client, monkeypatch: pytest.MonkeyPatch) -> Iterator[Zone]:
    """A DNS server whose records the test sets."""
    monkeypatch.setenv("TRANSPORT", "mx")
    yield from served_zone(monkeypatch)


def test_a_domain_without_dkim_is_a_problem_with_the_command_that_checks_it(
    account: Client, zone: Zone
) -> None:
    add_domain(account, "mail.example.test")
    finding = findings(code=1)["Domain mail.example.test"]
    assert finding["status"] == PROBLEM
    assert "postfinch domains check mail.example.test --wait" in finding["remedy"]


def test_status_and_record_of_a_key_are_judged_in_one_finding(account: Client, zone: Zone) -> None:
    domain = account.post(
        "/api/v1/sending-domains", {"domain": "mail.example.test", "dkim_key_length": 2048}
    ).results["dkim"]
    name = f"{domain['selector']}._domainkey.mail.example.test"
    zone.set(name, ("TXT", f"v=DKIM1; k=rsa; h=sha256; p={domain['public']}"))
    published = findings(code=1)
    assert "verify the domain" in published["Domain mail.example.test"]["remedy"]
    assert "publish" not in published["Domain mail.example.test"]["remedy"]
    account.post("/api/v1/sending-domains/mail.example.test/verify", {"dkim_verify": True})
    assert findings()["Domain mail.example.test"]["status"] == OK
    zone.records.clear()
    outdated = findings(code=1)
    assert "by the last check; now: " in outdated["Domain mail.example.test"]["detail"]
    assert f": TXT {name} v=DKIM1" in outdated["Domain mail.example.test"]["remedy"]
    assert [check for check in outdated if "signed with DKIM" in check] == []


def test_a_rule_of_mail_hosts_that_is_not_met_is_a_warning_with_the_record(
    account: Client, zone: Zone
) -> None:
    add_domain(account, "mail.example.test")
    sending_ips.add(1, SendingIp("192.0.2.1", "out.example.test"))
    results = findings(code=1)
    policy = results["mail.example.test: A DMARC record states a policy"]
    assert policy["status"] == WARNING
    assert ": TXT _dmarc.mail.example.test v=DMARC1; p=none;" in policy["remedy"]
    name = results["192.0.2.1: The address has a PTR record"]
    assert name["remedy"].endswith(": PTR 1.2.0.192.in-addr.arpa out.example.test")


def test_an_address_that_meets_the_rules_of_mail_hosts_is_fine(account: Client, zone: Zone) -> None:
    sending_ips.add(1, SendingIp("192.0.2.1", "out.example.test"))
    zone.set("1.2.0.192.in-addr.arpa", ("PTR", "out.example.test"))
    zone.set("out.example.test", ("A", "192.0.2.1"))
    finding = findings()["192.0.2.1: rules"]
    assert (finding["status"], finding["remedy"]) == (OK, "")
    assert finding["detail"] == "3 rules of large mail hosts are met"


def test_the_owner_of_a_shared_domain_sees_its_rules(
    account: Client, zone: Zone, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = {"domain": "mail.example.test", "shared_with_subaccounts": True}
    account.post("/api/v1/sending-domains", body)
    monkeypatch.setenv("POSTFINCH_API_KEY", make_key(1, make_subaccount(1).id).key)
    results = findings(code=1)
    assert "Domain mail.example.test" in results
    assert "Rules for domains" not in results
    assert [name for name in results if name.startswith("mail.example.test:")] == []


def test_a_suspended_account_is_a_problem(account: Client) -> None:
    accounts.change(1, lambda each: replace(each, status="suspended"))
    finding = findings(code=1)["Account"]
    assert (finding["status"], finding["detail"]) == (PROBLEM, "suspended")


def test_a_webhook_whose_newest_batch_failed_is_a_problem(account: Client) -> None:
    with serving() as target:
        body = {"name": "Shop", "target": target.url, "events": ["delivery"]}
        webhook = account.post("/api/v1/webhooks", body).results["id"]
    assert findings()["Webhook Shop"]["detail"] == "no batch yet"
    at_ms = clock.now_ms()
    batches.record(WebhookBatch(webhook, "b1", 1, at_ms - 5000, 1, 500), b"[]")
    assert "the newest batch got 500" in findings(code=1)["Webhook Shop"]["detail"]
    batches.record(WebhookBatch(webhook, "b2", 1, at_ms, 0, 200, delivered=True), b"[]")
    assert findings()["Webhook Shop"]["status"] == OK


def test_what_the_key_may_not_see_is_skipped(
    account: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = make_key(1, grants=("transmissions/modify",)).key
    monkeypatch.setenv("POSTFINCH_API_KEY", key)
    results = findings()
    assert results["API key"]["status"] == OK
    assert results["API key"]["detail"] == f"{key[:4]}… with transmissions/modify"
    assert results["Sending domains"]["status"] == results["Webhooks"]["status"] == SKIPPED


def test_a_wrong_key_ends_the_check(account: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTFINCH_API_KEY", "wrong")
    results = findings(code=1)
    assert list(results) == ["Service", "Clock", "API key"]
    assert "postfinch profiles add" in results["API key"]["remedy"]


def test_a_service_that_does_not_answer_ends_the_check(
    account: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTFINCH_URL", "http://127.0.0.1:1")
    results = findings(code=1)
    assert list(results) == ["Service"]
    assert "does not answer" in results["Service"]["detail"]


@pytest.mark.parametrize(
    ("seconds", "status"), [(0, OK), (-59, OK), (61, PROBLEM), (-3600, PROBLEM)]
)
def test_clocks_may_differ_by_a_minute(seconds: int, status: str) -> None:
    finding = checkup.check_clock(formatdate(NOW - seconds, usegmt=True), NOW)
    assert finding.status == status
    assert ("ahead of" if seconds > 0 else "behind") in finding.detail


def test_a_service_without_a_date_is_a_warning() -> None:
    assert checkup.check_clock(None, NOW).status == WARNING
    assert checkup.check_clock("yesterday", NOW).status == WARNING


@pytest.fixture
def no_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory that does not exist, without any service."""
    for name in ("POSTFINCH_URL", "POSTFINCH_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    folder = tmp_path / "new" / "data"
    monkeypatch.setenv("DATA_DIR", str(folder))
    return folder


def test_without_a_service_the_machine_is_checked_and_nothing_is_made(
    no_service: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(socket.socket()) as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        monkeypatch.setenv("API_PORT", str(port))
        results = findings(code=1)
    assert results[f"Port {port}"]["status"] == PROBLEM
    assert "API_PORT" in results[f"Port {port}"]["remedy"]
    assert results["Service"]["remedy"] == "start it: postfinch run"
    assert results["Data directory"]["status"] == OK
    assert not no_service.exists()
    assert "is not a port number" in _with_port("x", monkeypatch)


def _with_port(text: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("SMTP_PORT", text)
    return run("doctor", code=2)


def test_a_profile_that_does_not_exist_is_a_mistake_of_the_command_line(no_service: Path) -> None:
    assert "there is no profile 'stage'" in run("doctor", "--profile", "stage", code=2)


class _Usage(NamedTuple):
    free: int


def test_a_full_disk_an_old_python_and_a_foreign_folder_are_problems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert checkup.check_python((3, 10)).status == PROBLEM
    assert checkup.check_python((3, 11)).status == OK
    monkeypatch.setattr(checkup.shutil, "disk_usage", lambda _: _Usage(499_000_000))
    assert checkup.check_disk(tmp_path).status == PROBLEM
    monkeypatch.setattr(checkup.os, "access", lambda *_: False)
    assert checkup.check_folder(tmp_path).status == PROBLEM


def test_a_relay_that_does_not_answer_is_a_problem() -> None:
    service = LocalService("http://127.0.0.1:1", "key", "127.0.0.1", 1)
    finding = checkup.check_smtp(service)
    assert finding.status == PROBLEM
    assert finding.remedy.startswith("look into the log of the relay")


class LocalAnswers(Api):
    """Answers requests for ``/local``; others as a service that does not know the path."""

    def __init__(self, answers: dict[str, Any]) -> None:
        super().__init__("http://127.0.0.1:1", "key")
        self._answers = answers

    def get(self, path: str, **query: Any) -> Any:
        if path not in self._answers:
            raise ApiError(404, [])
        return self._answers[path]


def test_a_way_out_is_a_warning_and_its_smarthost_has_a_finding_of_its_own() -> None:
    finding = {"check": "Smarthost a:25", "status": "problem", "detail": "535", "remedy": "check"}
    api = LocalAnswers({DELIVERY: {"leaves_by": "a:25"}, f"{DELIVERY}/smarthost": finding})
    first, second = checkup.check_delivery(api)
    assert (first.status, first.detail) == (WARNING, "mail leaves this machine by a:25")
    assert second._asdict() == finding


def test_mail_that_stays_is_no_problem() -> None:
    api = LocalAnswers({DELIVERY: {"leaves_by": None}, f"{DELIVERY}/smarthost": None})
    (finding,) = checkup.check_delivery(api)
    assert finding.status == OK


def test_a_service_of_an_earlier_version_is_not_asked_how_mail_leaves() -> None:
    assert list(checkup.check_delivery(LocalAnswers({}))) == []
