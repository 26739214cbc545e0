"""Fail on purpose at each step of SMTP."""

from __future__ import annotations

import smtplib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.sink.failure_rules import FailureRule, FailureRules
from infrastructure.local.sink.server import Sink
from tests.unit.infrastructure.local.running import RunningSink, running_sink


def rule(**values: Any) -> FailureRule:
    fields: dict[str, Any] = {
        "id": 0,
        "pattern": "*",
        "step": "rcpt",
        "code": 451,
        "text": "4.3.0 Later",
        "delay": 0.0,
        "times": None,
        "percent": 100,
        "enabled": True,
    }
    return FailureRule(**fields | values)


@pytest.fixture
def rules(tmp_path: Path) -> Iterator[FailureRules]:
    rules = FailureRules(tmp_path / "rules.sqlite3")
    yield rules
    rules.close()


@pytest.fixture
def sink(tmp_path: Path, rules: FailureRules) -> Iterator[RunningSink]:
    # The sink's own connection to the file, as in a process of its own
    own_rules = FailureRules(tmp_path / "rules.sqlite3")
    with running_sink(tmp_path / "mail") as running:
        running.sink._failure_rules = own_rules
        yield running
    own_rules.close()


def send(sink: RunningSink, recipient: str = "ann@b.test", sender: str = "v@bounce.test") -> None:
    with smtplib.SMTP("127.0.0.1", sink.port, "client.test", timeout=120) as client:
        client.sendmail(sender, [recipient], b"Subject: x\r\n\r\nx\r\n")


@pytest.mark.parametrize(
    ("step", "error"),
    [
        ("connect", smtplib.SMTPConnectError),
        ("mail", smtplib.SMTPSenderRefused),
        ("rcpt", smtplib.SMTPRecipientsRefused),
        ("data", smtplib.SMTPDataError),
        ("dot", smtplib.SMTPDataError),
    ],
)
def test_each_step_can_fail(
    sink: RunningSink, rules: FailureRules, step: str, error: type[Exception]
) -> None:
    rules.add(rule(step=step, code=554, text="5.7.1 Never", times=1))
    with pytest.raises(error, match=r"5\.7\.1 Never"):
        send(sink)
    assert sink.mailbox.list() == []
    send(sink)  # it applied as often as it should
    assert len(sink.mailbox.list()) == 1
    assert [each.applied for each in rules.all()] == [1]


def test_a_pattern_chooses_recipients_and_senders(sink: RunningSink, rules: FailureRules) -> None:
    rules.add(rule(pattern="*@FULL.test"))
    rules.add(rule(pattern="*@bounce.test", step="mail", code=550, text="5.1.8 No", enabled=False))
    rules.add(rule(pattern="bad*@bounce.test", step="mail", code=550, text="5.1.8 No"))
    send(sink)
    with pytest.raises(smtplib.SMTPRecipientsRefused):
        send(sink, "ann@full.test")
    with pytest.raises(smtplib.SMTPSenderRefused):
        send(sink, sender="bad-1@bounce.test")


def test_a_change_is_in_force_at_once(sink: RunningSink, rules: FailureRules) -> None:
    send(sink)
    added = rules.add(rule())
    with pytest.raises(smtplib.SMTPRecipientsRefused):
        send(sink)
    rules.replace(rule(id=added.id, enabled=False))
    send(sink)
    rules.replace(rule(id=added.id))
    with pytest.raises(smtplib.SMTPRecipientsRefused):
        send(sink)
    assert rules.delete(added.id) == 1
    send(sink)


def test_a_connection_can_be_dropped_without_a_reply(
    sink: RunningSink, rules: FailureRules
) -> None:
    rules.add(rule(step="dot", code=None, times=1))
    with pytest.raises(smtplib.SMTPServerDisconnected):
        send(sink)
    assert sink.mailbox.list() == []


def test_421_closes_the_connection(sink: RunningSink, rules: FailureRules) -> None:
    rules.add(rule(code=421, text="4.3.2 Bye"))
    with smtplib.SMTP("127.0.0.1", sink.port, "client.test", timeout=120) as client:
        client.ehlo()
        client.mail("v@bounce.test")
        assert client.rcpt("ann@b.test")[0] == 421
        with pytest.raises(smtplib.SMTPServerDisconnected):
            client.noop()


def test_code_250_only_delays(sink: RunningSink, rules: FailureRules) -> None:
    rules.add(rule(code=250, delay=0.01))
    send(sink)
    assert [each.applied for each in rules.all()] == [1]


def test_a_rule_applies_with_its_chance(tmp_path: Path) -> None:
    chances = iter([0.29, 0.30, 0.99])
    rules = FailureRules(tmp_path / "rules.sqlite3", lambda: next(chances))
    rules.add(rule(percent=30))
    results = [rules.apply("rcpt", ["ann@b.test"]) is not None for _ in range(3)]
    assert results == [True, False, False]
    rules.close()


def test_rules_and_their_counts_outlive_a_restart(tmp_path: Path) -> None:
    rules = FailureRules(tmp_path / "rules.sqlite3")
    rules.add(rule(times=2))
    assert rules.apply("rcpt", ["ann@b.test"])
    rules.close()
    rules = FailureRules(tmp_path / "rules.sqlite3")
    assert [(each.times, each.applied, each.enabled) for each in rules.all()] == [(2, 1, True)]
    assert rules.apply("rcpt", ["ann@b.test"])
    assert rules.apply("rcpt", ["ann@b.test"]) is None
    rules.close()


def test_a_sink_without_rules_accepts(tmp_path: Path) -> None:
    assert Sink(SinkMailbox(tmp_path)).failure("rcpt", ["ann@b.test"]) is None
