"""Operators add, list and remove sending IPs."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core import clock
from chalicelib.fleet import sending_ips, store
from chalicelib.fleet.model import SendingIp
from chalicelib.fleet.sending_ips import Unsuitable
from tests.unit.fleet.examples import DAY, NOON, add, an_ip, make_pool, warming

pytestmark = pytest.mark.usefixtures("cloud")


def test_ips_are_kept_by_their_address_in_one_spelling() -> None:
    add(SendingIp("2001:DB8:0::1", "MX.Example.Test"), an_ip(2), an_ip(1))
    ips = sending_ips.of_account(1)
    assert [ip.external_ip for ip in ips] == ["192.0.2.1", "192.0.2.2", "2001:db8::1"]
    assert ips[2].hostname == "mx.example.test"
    assert sending_ips.of_account(2) == ()


def test_an_ip_is_added_to_a_pool_of_the_account() -> None:
    make_pool("Fast")
    assert sending_ips.add(1, an_ip(1, "FAST")).ip_pool == "fast"
    with pytest.raises(Unsuitable, match="no pool fast"):
        sending_ips.add(2, an_ip(2, "fast"))


def test_the_warm_up_of_a_new_ip_advances_tomorrow() -> None:
    with clock.use(lambda: NOON):
        assert sending_ips.add(1, warming(1)).advance_ms == (NOON + DAY / 2) * 1000
        assert sending_ips.add(1, an_ip(2, advance_ms=7)).advance_ms == 0


@pytest.mark.parametrize("account", [1, 2])
def test_an_ip_that_an_account_already_has_is_refused(account: int) -> None:
    add(an_ip(1))
    with pytest.raises(store.IpTaken):
        sending_ips.add(account, an_ip(1, smarthost="other.test:25"))
    assert sending_ips.of_account(1) == (an_ip(1),)


@pytest.mark.parametrize(
    "fields",
    [
        {"external_ip": "192.0.2"},
        {"external_ip": ""},
        {"hostname": "nodot"},
        {"hostname": "a b.test"},
        {"hostname": "a.test\r\nX"},
        {"source_address": "localhost"},
        {"smarthost": "relay.test"},
        {"smarthost": "relay.test:x"},
        {"smarthost": "re lay.test:25"},
        {"smarthost": "2001:db8::1:25"},
        {"smarthost": "[2001:db8::1]"},
        {"ses_pool": "a b"},
        {"ses_pool": "set", "smarthost": "relay.test:25"},
    ],
)
def test_an_invalid_sending_ip_is_refused(fields: dict[str, Any]) -> None:
    ip_fields = {"external_ip": "192.0.2.1", "hostname": "mta.example.test"} | fields
    with pytest.raises(Unsuitable):
        sending_ips.add(1, SendingIp(**ip_fields))
    assert sending_ips.of_account(1) == ()


@pytest.mark.parametrize("smarthost", ["relay.test:587", "192.0.2.9:25", "[2001:db8::1]:25"])
def test_a_smarthost_is_a_name_or_an_address_with_a_port(smarthost: str) -> None:
    add(an_ip(1, smarthost=smarthost))
    assert sending_ips.of_account(1)[0].smarthost == smarthost


def test_an_account_has_a_bounded_number_of_ips(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending_ips, "MOST_IPS", 1)
    add(an_ip(1))
    with pytest.raises(Unsuitable, match="at most 1"):
        sending_ips.add(1, an_ip(2))


def test_an_ip_is_removed_once() -> None:
    add(SendingIp("2001:db8::1", "mx.example.test"))
    assert not sending_ips.remove(2, "2001:db8::1")
    assert sending_ips.remove(1, "2001:DB8::1")
    assert not sending_ips.remove(1, "2001:db8::1")
    assert sending_ips.of_account(1) == ()
    with pytest.raises(Unsuitable):
        sending_ips.remove(1, "nothing")
