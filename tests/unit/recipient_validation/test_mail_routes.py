from __future__ import annotations

import pytest

from chalicelib.recipient_validation import mail_routes
from chalicelib.recipient_validation.model import MailRoute
from tests.unit.moving_clock import moving_clock
from tests.unit.zones import Zone

START = 1_769_850_000


@pytest.mark.parametrize(
    ("domain", "route"),
    [
        ("inbox.test", MailRoute.HOSTS),
        ("plain.test", MailRoute.ADDRESS),
        ("plain6.test", MailRoute.ADDRESS),
        ("null.test", MailRoute.REFUSED),
        ("nowhere.test", MailRoute.NONE),
        ("broken.test", MailRoute.UNKNOWN),
    ],
)
def test_the_dns_tells_how_mail_comes_to_a_domain(
    domain: str, route: MailRoute, zone: Zone
) -> None:
    assert mail_routes.route_of(domain) is route
    assert mail_routes.routes_of([domain], within=2) == {domain: route}


def test_a_domain_without_an_address_record_but_with_other_records_takes_no_mail(
    zone: Zone,
) -> None:
    zone.set("texts.test", ("TXT", "v=spf1 -all"))
    assert mail_routes.route_of("texts.test") is MailRoute.NONE


def test_each_domain_of_many_is_looked_up_once(zone: Zone) -> None:
    domains = [f"d{number}.test" for number in range(40)] * 3
    for domain in domains:
        zone.set(domain, ("MX", "10 mx.inbox.test"))
    routes = mail_routes.routes_of(domains, within=2)
    assert set(routes.values()) == {MailRoute.HOSTS}
    assert mail_routes.routes_of(domains, within=2) == routes
    assert sorted(zone.queries) == sorted(set(domains))


def test_an_answer_is_cached_for_an_hour_and_a_failure_for_less(zone: Zone) -> None:
    domains = ["inbox.test", "broken.test"]
    with moving_clock(START) as time:
        for seconds, queries in (
            (0.0, {"inbox.test", "broken.test"}),
            (mail_routes.FAILURE_CACHE_SECONDS - 1, set[str]()),
            (2.0, {"broken.test"}),
            (mail_routes.CACHE_SECONDS, {"inbox.test", "broken.test"}),
        ):
            time.passes(seconds)
            zone.queries.clear()
            mail_routes.routes_of(domains, within=2)
            assert set(zone.queries) == queries


def test_who_asks_for_one_address_after_a_failure_gets_a_new_answer(zone: Zone) -> None:
    assert mail_routes.route_of("broken.test") is MailRoute.UNKNOWN
    zone.failing.clear()
    zone.set("broken.test", ("MX", "10 mx.inbox.test"))
    assert mail_routes.route_of("broken.test") is MailRoute.HOSTS
