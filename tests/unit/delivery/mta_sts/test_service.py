"""Policies are fetched when they change, kept until they expire, and cannot be switched off."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from chalicelib.core import web_fetch
from chalicelib.core.web_fetch import CertificateRefused, FetchFailed, Response
from chalicelib.delivery.mta_sts import service
from chalicelib.delivery.mta_sts.policy import Mode, Policy, PolicyUnavailable
from tests.unit.moving_clock import Clock, moving_clock
from tests.unit.zones import Zone, served_zone

pytestmark = pytest.mark.usefixtures("cloud")

NAME = "_mta-sts.example.net"
URL = "https://mta-sts.example.net/.well-known/mta-sts.txt"
WEEK = 604_800
_TEXT = "version: STSv1\nmode: {}\nmx: mx.example.net\nmax_age: {}\n"
_ENFORCED = _TEXT.format("enforce", WEEK).encode()
_PLAIN = {"content-type": "text/plain; charset=utf-8"}


@dataclass
class Website:
    """The site of a policy. ``response`` ``None`` means that it does not answer."""

    response: Response | FetchFailed | None = None
    urls: list[str] = field(default_factory=list)

    def set(self, mode: str, max_age: int = WEEK) -> None:
        """Publish a policy."""
        self.response = Response(200, _TEXT.format(mode, max_age).encode(), _PLAIN)

    def get(self, url: str) -> Response:
        """Answer as :func:`web_fetch.get`."""
        self.urls.append(url)
        if self.response is None:
            raise FetchFailed("ECONNREFUSED", "refused")
        if isinstance(self.response, FetchFailed):
            raise self.response
        return self.response


@pytest.fixture
def website(monkeypatch: pytest.MonkeyPatch) -> Website:
    site = Website()
    monkeypatch.setattr(web_fetch, "get", site.get)
    return site


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Zone]:
    service.clear_cache()
    yield from served_zone(monkeypatch)
    service.clear_cache()


@pytest.fixture
def moves() -> Iterator[Clock]:
    with moving_clock(1_900_000_000.0) as clock:
        yield clock


def announce(zone: Zone, policy_id: str = "1") -> None:
    zone.set(NAME, ("TXT", f"v=STSv1; id={policy_id};"))


def mode() -> Mode | None:
    """Return the mode of the policy that a new process finds."""
    service.clear_cache()
    policy = service.policy_of("example.net")
    return policy.mode if isinstance(policy, Policy) else None


def test_a_domain_without_record_has_no_policy(zone: Zone, website: Website) -> None:
    assert mode() is None
    assert zone.queries == [NAME]
    assert website.urls == []


def test_an_announced_policy_is_fetched_once_for_all_processes(
    zone: Zone, website: Website
) -> None:
    announce(zone)
    website.set("enforce")
    assert [mode(), mode()] == [Mode.ENFORCE, Mode.ENFORCE]
    assert website.urls == [URL]


def test_a_process_looks_a_domain_up_once_an_hour(
    zone: Zone, website: Website, moves: Clock
) -> None:
    announce(zone)
    website.set("enforce")
    for seconds, queries in [(0, 1), (3_599, 1), (2, 2)]:
        moves.passes(seconds)
        assert service.policy_of("example.net")
        assert len(zone.queries) == queries


def test_a_new_id_replaces_the_policy(zone: Zone, website: Website) -> None:
    announce(zone)
    website.set("enforce")
    assert mode() is Mode.ENFORCE
    website.set("none")
    assert mode() is Mode.ENFORCE
    announce(zone, "2")
    assert mode() is Mode.NONE


def test_a_policy_outlives_its_announcement_and_its_website_until_it_expires(
    zone: Zone, website: Website, moves: Clock
) -> None:
    announce(zone)
    website.set("enforce")
    assert mode() is Mode.ENFORCE
    website.response = None
    announce(zone, "2")
    assert mode() is Mode.ENFORCE
    zone.clear(NAME)
    assert mode() is Mode.ENFORCE
    zone.failing.add(NAME)
    moves.passes(WEEK - 1)
    assert mode() is Mode.ENFORCE
    moves.passes(2)
    assert mode() is None


def test_a_policy_is_fetched_again_each_day_so_that_it_does_not_expire(
    zone: Zone, website: Website, moves: Clock
) -> None:
    announce(zone)
    website.set("enforce", 100_000)
    for _ in range(3):
        assert mode() is Mode.ENFORCE
        moves.passes(90_000)
    assert len(website.urls) == 3


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (None, "sts-policy-fetch-error"),
        (CertificateRefused("EPROTO", "expired"), "sts-webpki-invalid"),
        (Response(301, b"", {"location": URL}), "sts-policy-fetch-error"),
        (Response(404, _ENFORCED, _PLAIN), "sts-policy-fetch-error"),
        (Response(200, _ENFORCED, _PLAIN, is_whole=False), "sts-policy-fetch-error"),
        (Response(200, _ENFORCED, {"content-type": "text/html"}), "sts-policy-invalid"),
        (Response(200, _TEXT.format("strict", WEEK).encode(), _PLAIN), "sts-policy-invalid"),
        (Response(200, b"\xff", _PLAIN), "sts-policy-invalid"),
    ],
)
def test_what_is_no_policy_does_not_count_and_is_asked_again_after_five_minutes(
    zone: Zone,
    website: Website,
    response: Response | FetchFailed | None,
    reason: str,
    moves: Clock,
) -> None:
    announce(zone)
    website.response = response
    for seconds, fetches in [(0, 1), (299, 1), (2, 2)]:
        moves.passes(seconds)
        assert service.policy_of("example.net") == PolicyUnavailable(reason)
        assert len(website.urls) == fetches


def test_it_is_not_known_whether_a_domain_has_a_policy_while_the_dns_does_not_answer(
    zone: Zone, website: Website
) -> None:
    zone.failing.add(NAME)
    assert service.policy_of("example.net") is None
    assert website.urls == []


def test_a_policy_without_age_is_not_fetched_for_each_message(zone: Zone, website: Website) -> None:
    announce(zone)
    website.set("enforce", 0)
    for _ in range(2):
        policy = service.policy_of("example.net")
        assert isinstance(policy, Policy)
        assert policy.is_enforced
    assert website.urls == [URL]
