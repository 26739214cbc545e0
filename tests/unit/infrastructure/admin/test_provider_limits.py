"""Test the commands of the operator's tool for limits of mailbox providers."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from chalicelib.delivery.outcome import Retry
from chalicelib.delivery.shaping import store
from chalicelib.delivery.shaping.limits import limits_of
from chalicelib.delivery.shaping.providers import Limits
from chalicelib.delivery.shaping.shaper import shaper
from chalicelib.delivery.shaping.store import Backlog
from infrastructure.admin import cli

pytestmark = pytest.mark.usefixtures("cloud")

Run = Callable[..., str]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def command(*arguments: str, status: int = 0) -> str:
        capsys.readouterr()
        assert cli.main(arguments) == status
        output = capsys.readouterr()
        return output.err if status else output.out

    return command


def test_limits_that_are_not_named_stay_as_they_are(run: Run) -> None:
    built_in = limits_of("google.com")
    run("set-provider-limits", "Google.com", "--per-second", "20", "--shared")
    run("set-provider-limits", "google.com", "--connections", "7")
    limits = Limits(7, built_in.messages_per_connection, per_second=20.0, is_shared=True)
    assert limits_of("google.com") == limits
    run("set-provider-limits", "google.com", "--no-shared")
    assert not limits_of("google.com").is_shared
    assert run("remove-provider-limits", "google.com") == "removed the limits of google.com\n"
    assert limits_of("google.com") == built_in


def test_the_list_has_built_in_limits_and_those_of_the_operator(run: Run) -> None:
    run("set-provider-limits", "example.net", "--per-minute", "60")
    rows = map(json.loads, run("list-provider-limits").splitlines())
    limits = {row["group"]: row for row in rows}
    assert limits["example.net"]["per_minute"] == 60
    assert [name for name, each in limits.items() if each["is_set"]] == ["example.net"]
    assert limits["google.com"]["connections"] == limits_of("google.com").connections


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("set-provider-limits", "example.net"), "name at least one limit"),
        (
            ("set-provider-limits", "example.net", "--connections", "0"),
            "--connections must be 1 or more, not 0",
        ),
        (
            ("set-provider-limits", "example.net", "--per-second", "-1"),
            "--per-second must be 0 or more, not -1",
        ),
        (
            ("set-provider-limits", "example.net", "--per-second", "nan"),
            "--per-second must be 0 or more, not nan",
        ),
        (
            ("set-provider-limits", "example.net", "--per-minute", "inf"),
            "--per-minute must be from 0.001 to 1,000,000, not inf",
        ),
        (
            ("set-provider-limits", "example.net", "--per-second", "1e-300"),
            "--per-second must be from 0.001 to 1,000,000, not 1e-300",
        ),
        (("set-provider-limits", "a|b", "--per-second", "1"), "'a|b' is no domain"),
        (("remove-provider-limits", "example.net"), "no limits are set for example.net"),
    ],
)
def test_what_makes_no_sense_is_refused(run: Run, arguments: tuple[str, ...], error: str) -> None:
    assert error in run(*arguments, status=1)
    assert store.cached_overrides() == {}


def test_the_queue_shows_mail_of_all_accounts_and_the_last_answers(run: Run) -> None:
    path = store.path_of("example.net", "192.0.2.1")
    store.hold(path, Backlog("1", "7#0", 100, 1_800_000_000_000, "too fast"))
    store.hold(path, Backlog("2", "8#0", 20, 1_790_000_000_000, "too fast"))
    shaper().learn(path, Retry(421, "4.7.0 Try again later: rate limit exceeded", 20))
    (entry,) = map(json.loads, run("delivery-queue").splitlines())
    assert (entry["group"], entry["source_address"]) == ("example.net", "192.0.2.1")
    assert entry["waiting"] == 120
    assert entry["waiting_since"].startswith("2026-09")
    assert entry["messages_per_second"] == 0.0
    assert entry["last_answers"] == ["421 4.7.0 Try again later: rate limit exceeded"]
