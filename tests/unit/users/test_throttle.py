"""Guessing is delayed, and whoever knows the password gets in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import pytest

from chalicelib.core.errors import TooManyRequests
from chalicelib.users import throttle
from chalicelib.users.store import attempts
from chalicelib.users.store.attempts import Failures
from tests.fake_cloud import aws_requests
from tests.unit.moving_clock import Clock, moving_clock

pytestmark = pytest.mark.usefixtures("cloud")

ANN = "ann@acme.example"
DAY = 86_400


@pytest.fixture
def clock() -> Iterator[Clock]:
    with moving_clock(1_700_000_000.0) as moving:
        yield moving


def wait(source_ip: str = "192.0.2.1", email: str = ANN, device: str = "") -> int:
    """Make an attempt that fails; return the seconds of the delay if it was not allowed."""
    try:
        throttle.begin(source_ip, email, device)
    except TooManyRequests as refusal:
        return int(refusal.headers["Retry-After"])
    return 0


def test_delays_of_a_network_double_up_to_fifteen_minutes(clock: Clock) -> None:
    waits = []
    for number in range(18):
        while seconds := wait(email=f"{number}@acme.example"):
            waits.append(seconds)
            clock.passes(seconds)
    assert waits[:6] == [2, 4, 8, 16, 32, 64]
    assert max(waits) == 900


def test_an_attempt_during_a_delay_is_not_counted(clock: Clock) -> None:
    for _ in range(6):
        assert wait() == 0
    assert [wait() for _ in range(50)] == [2] * 50
    clock.passes(2)
    assert wait() == 0
    assert wait() == 4


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("192.0.2.1", "192.0.2.2", False),
        ("192.0.2.1", "::ffff:192.0.2.1", True),
        ("2001:db8:0:1::1", "2001:db8:0:1:ffff::2", True),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
    ],
)
def test_a_network_is_an_ipv4_address_or_64_bits_of_ipv6(
    clock: Clock, one: str, other: str, is_same: bool
) -> None:
    for number in range(6):
        wait(one, f"{number}@acme.example")
    assert bool(wait(other)) == is_same


def test_an_address_is_delayed_for_a_minute_at_most_and_in_any_case(clock: Clock) -> None:
    for number in range(40):
        network = f"198.51.100.{number}"
        wait(network)  # the first attempt of a network passes
        while seconds := wait(network, ANN.upper()):
            assert seconds <= 60
            clock.passes(seconds)
    wait("203.0.113.1")
    assert wait("203.0.113.1") > 30


def test_the_first_attempt_of_a_network_and_a_known_device_pass_the_delay_of_an_address(
    clock: Clock,
) -> None:
    for number in range(30):
        wait(f"198.51.100.{number}")
    assert wait("203.0.113.1") == 0
    assert wait("203.0.113.1") > 0
    assert wait("198.51.100.1", device="a") == 0
    assert wait("198.51.100.1", device="a") == 0


def test_guesses_with_a_known_device_are_delayed_too(clock: Clock) -> None:
    waits = [wait(f"198.51.100.{number}", device="a") for number in range(10)]
    assert waits == [0] * 6 + [2] * 4


def test_an_attempt_that_succeeds_does_not_count(clock: Clock) -> None:
    for _ in range(50):
        throttle.succeed(throttle.begin("192.0.2.1", ANN, ""))
    for _ in range(6):
        assert wait() == 0
    clock.passes(2)
    throttle.succeed(throttle.begin("192.0.2.1", ANN, ""))
    assert wait() == 0


def test_one_of_simultaneous_attempts_during_the_last_free_one_is_not_forgotten(
    clock: Clock,
) -> None:
    """An attempt counts before it is checked, so parallel ones see each other."""
    starts = [throttle.begin("192.0.2.1", ANN, "") for _ in range(6)]
    assert len(starts) == 6
    with pytest.raises(TooManyRequests):
        throttle.begin("192.0.2.1", ANN, "")


def test_failures_are_forgotten_after_a_day(clock: Clock) -> None:
    for _ in range(6):
        wait()
    clock.passes(DAY)
    assert [wait() for _ in range(6)] == [0] * 6


def test_guesses_of_a_day_are_bounded(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty networks that guess one address as often as they may; the store is a dictionary."""
    store: dict[str, Failures] = {}
    nothing = Failures(revision=None)

    def read(names: Iterable[str]) -> dict[str, Failures]:
        return {name: store.get(name, nothing) for name in names}

    def replace(failures: Mapping[str, Failures], _: Mapping[str, Failures]) -> bool:
        store.update(failures)
        return True

    monkeypatch.setattr(attempts, "read", read)
    monkeypatch.setattr(attempts, "replace", replace)
    networks, end = [f"198.51.100.{number}" for number in range(50)], clock.now + DAY
    tried, allowed_at = 0, dict.fromkeys(networks, clock.now)
    while clock.now < end:
        for network in networks:
            if allowed_at[network] > clock.now:
                continue
            if seconds := wait(network):
                allowed_at[network] = clock.now + min(seconds, 300)
            else:
                tried += 1
        clock.passes(60)
    # An address alone: one a minute and what is free; and once an hour each network
    assert tried <= 24 * 60 + 20 + 24 * len(networks)


@pytest.mark.cost
def test_attempts_cost_as_much_with_and_without_a_history(clock: Clock) -> None:
    costs = []
    for device in ("", "", "a", "a"):
        with aws_requests() as requests:
            throttle.begin("192.0.2.1", ANN, device)
        costs.append([each.operation for each in requests])
    assert costs == [["BatchGetItem", "TransactWriteItems"]] * 4


def test_all_spellings_of_an_address_are_delayed_together(clock: Clock) -> None:
    quoted = ['"ann"@acme.example', '"\\ann"@acme.example', '"a\\nn"@acme.example']
    for number, email in enumerate([*quoted, *quoted, ANN]):
        wait(f"198.51.100.{number}", email)
    wait("203.0.113.1", "bob@acme.example")  # no longer a quiet network
    assert wait("203.0.113.1", ANN)


def test_a_site_has_one_attempt_that_passes_the_delay_of_an_address(clock: Clock) -> None:
    for number in range(30):
        wait(f"198.51.100.{number}")
    assert wait("2001:db8:1:1::1") == 0
    assert [wait(f"2001:db8:1:{number}::1") > 0 for number in range(2, 20)] == [True] * 18
    assert wait("2001:db8:2:1::1") == 0
    clock.passes(3600)
    for number in range(30):
        wait(f"198.51.100.{number}")
    assert wait("2001:db8:1:2::1") == 0
