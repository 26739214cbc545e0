from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from chalicelib.core import clock, dns
from chalicelib.core.dns import LookupFailed
from chalicelib.core.settings import settings
from chalicelib.tracking import mailbox_hosts
from chalicelib.tracking.mailbox_hosts import of_hosts, provider_by_mx
from chalicelib.tracking.mailbox_providers import mailbox_provider
from chalicelib.tracking.providers import OTHER


class Dns:
    """A DNS that answers when it is let."""

    def __init__(self) -> None:
        self.records: dict[str, list[str]] = {}
        self.domains: list[str] = []
        self.may_answer = threading.Event()
        self.may_answer.set()

    def mail_hosts(self, name: str) -> list[str]:
        self.domains.append(name)
        self.may_answer.wait(5)
        if name not in self.records:
            raise LookupFailed(name, "SERVFAIL")
        return self.records[name]


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch) -> Iterator[Dns]:
    fake = Dns()
    monkeypatch.setattr(dns, "mail_hosts", fake.mail_hosts)
    monkeypatch.setattr(mailbox_hosts, "_cache", {})
    monkeypatch.setenv("PROVIDERS_BY_MX", "true")
    settings.cache_clear()
    yield fake
    settled()


def settled() -> None:
    eventually(lambda: not mailbox_hosts._pending)


def eventually(question: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not question():
        assert time.monotonic() < deadline


@pytest.mark.parametrize(
    ("host", "provider"),
    [
        ("aspmx.l.google.com", "Google Workspace"),
        ("smtp.google.com", "Google Workspace"),
        ("shop-example.mail.protection.outlook.com", "Microsoft 365"),
        ("outlook-com.olc.protection.outlook.com", "Hotmail / Outlook"),
        ("mx01.mail.icloud.com", "Apple"),
        ("mx00.kundenserver.de", "1&1 IONOS"),
        ("mx.notgoogle.com", "Other"),
        ("google.com.evil.example", "Other"),
        ("", "Other"),
    ],
)
def test_the_end_of_a_mail_hosts_name_identifies_the_provider(host: str, provider: str) -> None:
    assert of_hosts([host]).provider == provider
    assert of_hosts(["mx.unknown.example", host]).provider == provider


def test_nobody_waits_for_the_dns_and_later_messages_have_the_provider(records: Dns) -> None:
    records.records["shop.example"] = ["aspmx.l.google.com"]
    records.may_answer.clear()
    assert [mailbox_provider("shop.example") for _ in range(3)] == [OTHER] * 3
    records.may_answer.set()
    settled()
    assert mailbox_provider("shop.example") == ("Google Workspace", "Global")
    assert records.domains == ["shop.example"]


def test_a_provider_is_looked_up_again_after_a_day(records: Dns) -> None:
    records.records["shop.example"] = ["aspmx.l.google.com"]
    mailbox_provider("shop.example")
    settled()
    records.records["shop.example"] = ["mx.zoho.com"]
    began = clock.now()
    with clock.use(lambda: began + 86_500):
        assert mailbox_provider("shop.example").provider == "Google Workspace"
        settled()
        assert mailbox_provider("shop.example").provider == "Zoho"


def test_a_failed_lookup_is_repeated_soon(records: Dns) -> None:
    assert provider_by_mx("shop.example") == OTHER
    settled()
    assert provider_by_mx("shop.example") == OTHER
    assert len(records.domains) == 1
    began = clock.now()
    with clock.use(lambda: began + 700):
        provider_by_mx("shop.example")
        settled()
    assert len(records.domains) == 2


def test_large_providers_are_known_without_the_dns(records: Dns) -> None:
    assert mailbox_provider("gmail.com").provider == "Gmail"
    assert records.domains == []


def test_nothing_is_looked_up_unless_the_setting_is_on(
    records: Dns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PROVIDERS_BY_MX")
    settings.cache_clear()
    assert mailbox_provider("shop.example") == OTHER
    assert records.domains == []
