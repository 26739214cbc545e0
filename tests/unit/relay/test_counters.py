from __future__ import annotations

import os

import pytest

from relay import replies
from relay.backend import SubmittedEnvelope
from relay.counters import Counters
from tests.unit.relay.fakes import fields_of


def envelope(recipients: int) -> SubmittedEnvelope:
    addresses = tuple(f"r{number}@x.test" for number in range(recipients))
    return SubmittedEnvelope("a@example.test", addresses, b"", "192.0.2.1", False)


def test_the_figures_are_fields_of_one_record(caplog: pytest.LogCaptureFixture) -> None:
    counters = Counters(connections=3)
    counters.accepted("1", envelope(recipients=2), octets=100, seconds=0.5)
    counters.accepted("2", envelope(recipients=1), octets=50, seconds=0.25)
    with caplog.at_level("INFO", "relay"):
        counters.write("submission", (2525,), connections_open=1)
    fields = fields_of(caplog.records, "relay counters")
    expected = {
        "Service": "submission",
        "Connections": 3,
        "ConnectionsOpen": 1,
        "ports": [2525],
        "process_id": os.getpid(),
        "MessagesAccepted": 2,
        "RecipientsAccepted": 3,
        "OctetsAccepted": 150,
        "MedianAcceptTime": 500.0,
        "SlowestAcceptTime": 500.0,
    }
    assert expected.items() <= fields.items()
    (metrics,) = fields["_aws"]["CloudWatchMetrics"]
    assert {"Name": "MessagesAccepted", "Unit": "Count"} in metrics["Metrics"]
    assert {"Name": "SlowAcceptTime", "Unit": "Milliseconds"} in metrics["Metrics"]


def test_a_record_holds_only_the_changes_since_the_last(caplog: pytest.LogCaptureFixture) -> None:
    counters = Counters(connections=3)
    counters.accepted("1", envelope(recipients=1), octets=10, seconds=0.5)
    with caplog.at_level("INFO", "relay"):
        counters.write("submission", (2525,), connections_open=2)
        counters.connections += 1
        counters.write("submission", (2525,), connections_open=2)
    second = vars(caplog.records[-1])
    assert (second["Connections"], second["ConnectionsOpen"]) == (1, 2)
    assert second["MessagesAccepted"] == 0
    assert "MedianAcceptTime" not in second
    assert counters.connections == 4


def test_a_message_is_a_record_without_addresses(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "relay"):
        Counters().accepted("7", envelope(recipients=2), octets=100, seconds=0.5)
    record = fields_of(caplog.records, "message accepted")
    expected = {"message_id": "7", "peer_ip": "192.0.2.1", "recipients": 2, "octets": 100}
    assert expected.items() <= record.items()
    assert "x.test" not in str(record)


def test_a_deferred_message_is_not_counted_as_refused(caplog: pytest.LogCaptureFixture) -> None:
    counters = Counters()
    with caplog.at_level("INFO", "relay"):
        counters.refused(replies.BARE_LINE_END, "192.0.2.1")
        counters.refused(replies.fault("1"), "192.0.2.1")
    assert (counters.messages_refused, counters.messages_deferred) == (1, 1)
    codes = [vars(record)["reply_code"] for record in caplog.records]
    assert codes == [554, 451]
