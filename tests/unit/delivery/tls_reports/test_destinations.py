"""Domains say in the DNS where their TLS reports go."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chalicelib.core import dns
from chalicelib.delivery.tls_reports.destinations import (
    address_in,
    destinations_of,
    wants_reports,
)
from tests.unit.moving_clock import moving_clock
from tests.unit.zones import Zone, served_zone

NAME = "_smtp._tls.example.test"


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Zone]:
    yield from served_zone(monkeypatch)


def publish(zone: Zone, *texts: str) -> None:
    zone.set(NAME, *(("TXT", text) for text in texts))


@pytest.mark.parametrize(
    ("texts", "destinations"),
    [
        (["v=TLSRPTv1; rua=mailto:a@x.test"], ["mailto:a@x.test"]),
        (
            ["v=TLSRPTv1;rua=mailto:a@x.test,https://x.test/r;"],
            ["mailto:a@x.test", "https://x.test/r"],
        ),
        (["v=TLSRPTv1; rua=MAILTO:a@x.test"], ["MAILTO:a@x.test"]),
        (["v=spf1 -all", "v=TLSRPTv1; rua=https://x.test/"], ["https://x.test/"]),
        (["v=TLSRPTv1; rua=http://x.test/,ftp://x.test/,mailto:nobody"], []),
        (["v=TLSRPTv1; rua=" + ",".join(f"mailto:{n}@x.test" for n in range(9))], None),
        (["v=TLSRPTv1; rua=mailto:a@x.test", "v=TLSRPTv1; rua=mailto:b@x.test"], []),
        (["v=TLSRPTv2; rua=mailto:a@x.test"], []),
        (["v=TLSRPTv1;"], []),
        ([f"v=TLSRPTv1; rua=https://x.test/{'a' * 600}"], []),
        ([], []),
    ],
)
def test_only_usable_destinations_of_a_single_record_count(
    zone: Zone, texts: list[str], destinations: list[str] | None
) -> None:
    publish(zone, *texts)
    result = destinations_of("example.test")
    assert len(result) == 3 if destinations is None else result == destinations


def test_the_address_is_that_of_the_uri() -> None:
    assert address_in("mailto:tls%2Breports@x.test?subject=x") == "tls+reports@x.test"


def test_a_domain_is_looked_up_once_an_hour(zone: Zone) -> None:
    publish(zone, "v=TLSRPTv1; rua=mailto:a@x.test")
    with moving_clock(1_769_850_000) as time:
        assert wants_reports("example.test")
        zone.clear(NAME)
        assert wants_reports("example.test")
        time.passes(3_601)
        assert not wants_reports("example.test")


def test_a_domain_whose_dns_does_not_answer_gets_none(zone: Zone) -> None:
    zone.failing.add(NAME)
    assert not wants_reports("example.test")
    with pytest.raises(dns.LookupFailed):
        destinations_of("example.test")
