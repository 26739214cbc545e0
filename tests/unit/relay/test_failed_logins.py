"""Count failed logins, and make clients wait for the reply to them."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable

import pytest

from relay.config import RelayConfig
from relay.failed_logins import MEMORY_SECONDS, FailedLogins
from tests.unit.moving_clock import moving_clock
from tests.unit.relay.conftest import RunningRelay
from tests.unit.relay.fakes import PASSWORD, TIMEOUT, Waits, Wire, plain

FAILED = "535 5.7.8 Authentication failed"
CLOSED = "421 4.7.0 Too many failed logins, closing"


def open_session(relay: RunningRelay) -> Wire:
    client = relay.client()
    client.ask(b"EHLO client.test\r\n")
    return client


def log_in(client: Wire, password: str = "wrong", username: str = "SMTP_Injection") -> str:
    return client.ask(b"AUTH PLAIN " + plain(username, password) + b"\r\n")


# The counts.


def test_an_address_is_counted_by_itself() -> None:
    failed_logins = FailedLogins()
    assert [failed_logins.add("192.0.2.1", None) for _ in range(3)] == [1, 2, 3]
    assert failed_logins.add("192.0.2.2", None) == 1
    assert failed_logins.add("", None) == 1


def test_an_ipv6_network_counts_as_one_address() -> None:
    failed_logins = FailedLogins()
    assert failed_logins.add("2001:db8::1", None) == 1
    assert failed_logins.add("2001:db8::2:3:4:5", None) == 2
    assert failed_logins.add("2001:db8:0:1::1", None) == 1


def test_a_subaccount_is_counted_over_all_addresses() -> None:
    failed_logins = FailedLogins()
    assert [failed_logins.add(f"192.0.2.{last}", 7) for last in range(3)] == [1, 2, 3]
    assert failed_logins.add("192.0.2.9", 8) == 1
    assert failed_logins.add("192.0.2.9", None) == 2
    assert failed_logins.add("192.0.2.9", 7) == 4


def test_a_count_starts_again_when_there_was_no_failure_for_a_while() -> None:
    failed_logins = FailedLogins()
    with moving_clock(1_700_000_000.0) as clock:
        assert failed_logins.add("192.0.2.1", None) == 1
        clock.passes(MEMORY_SECONDS - 1)
        assert failed_logins.add("192.0.2.1", None) == 2
        clock.passes(MEMORY_SECONDS)
        assert failed_logins.add("192.0.2.1", None) == 1


def test_any_number_of_addresses_takes_the_same_memory() -> None:
    failed_logins = FailedLogins()
    tracemalloc.start()
    for number in range(20_000):
        failed_logins.add(f"10.{number >> 8}.{number & 255}.1", number)
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert size < 10_000


def test_processes_forked_later_share_the_counts() -> None:
    failed_logins = FailedLogins()
    failed_logins.add("192.0.2.1", 7)
    child = os.fork()
    if not child:
        os._exit(failed_logins.add("192.0.2.1", 7))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    assert failed_logins.add("192.0.2.1", 7) == 3


@pytest.mark.parametrize(
    ("count", "seconds"), [(1, 1.0), (2, 2.0), (5, 16.0), (6, 16.0), (10**12, 16.0)]
)
def test_the_wait_doubles_up_to_a_limit(count: int, seconds: float) -> None:
    assert RelayConfig().failed_login_wait(count) == seconds


# A client.


def test_wrong_passwords_wait_longer_and_longer_and_then_end_the_connection(
    clear_relay: RunningRelay, waits: Waits
) -> None:
    client = open_session(clear_relay)
    for _ in range(8):
        client.say(b"AUTH PLAIN " + plain("SMTP_Injection", "wrong") + b"\r\n")
    assert client.replies(7) == [FAILED] * 5 + [CLOSED, ""]
    assert waits.seconds == [1, 2, 4, 8, 16]
    assert clear_relay.server.counters.logins_refused == 5


def test_another_connection_of_the_address_goes_on_where_the_last_one_ended(
    clear_relay: RunningRelay, waits: Waits
) -> None:
    client = open_session(clear_relay)
    assert [log_in(client) for _ in range(5)] == [FAILED] * 5
    client = open_session(clear_relay)
    assert [log_in(client) for _ in range(3)] == [FAILED] * 3
    assert client.replies(2) == [CLOSED, ""]
    assert waits.seconds[5:] == [16, 16, 16]


def test_the_right_password_is_taken_at_once_whatever_failed_before(
    clear_relay: RunningRelay, waits: Waits
) -> None:
    guesser = open_session(clear_relay)
    user = "SMTP_Injection:X-SVC-SUBACCOUNT=7"
    assert [log_in(guesser, username=user) for _ in range(5)] == [FAILED] * 5
    owner = open_session(clear_relay)
    assert log_in(owner, PASSWORD, user).startswith("235 ")
    assert len(waits.seconds) == 5


def test_a_login_that_names_no_account_counts_as_well(
    clear_relay: RunningRelay, waits: Waits
) -> None:
    client = open_session(clear_relay)
    assert log_in(client, username="admin") == FAILED
    assert client.ask(b"AUTH PLAIN AAAA\r\n") == FAILED
    assert waits.seconds == [1, 2]


def test_a_cancelled_login_or_one_that_is_no_base64_does_not_count(
    clear_relay: RunningRelay, waits: Waits
) -> None:
    client = open_session(clear_relay)
    client.ask(b"AUTH PLAIN\r\n")
    assert client.ask(b"*\r\n").startswith("501 ")
    assert client.ask(b"AUTH PLAIN !\r\n").startswith("501 ")
    assert waits.seconds == []


def test_a_wait_holds_no_thread(
    start_submission: Callable[..., RunningRelay], waits: Waits
) -> None:
    relay = start_submission(require_tls=False, workers=1)
    waits.close_gate()
    client = open_session(relay)
    client.say(b"AUTH PLAIN " + plain("SMTP_Injection", "wrong") + b"\r\n")
    waits.until_reached()
    assert open_session(relay).log_in().startswith("235 ")
    relay.call(waits.open_gate()).result(TIMEOUT)
    assert client.reply() == FAILED


def test_draining_ends_a_client_that_waits(clear_relay: RunningRelay, waits: Waits) -> None:
    waits.close_gate()
    client = open_session(clear_relay)
    client.say(b"AUTH PLAIN " + plain("SMTP_Injection", "wrong") + b"\r\n")
    waits.until_reached()
    clear_relay.call(clear_relay.server.drain()).result(TIMEOUT)
    assert client.reply().startswith("421 4.3.2 ")
    assert client.reply() == ""
