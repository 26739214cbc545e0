"""Read notifications of Amazon SES, also those that are none."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.inbound.dsn import RecipientStatus
from chalicelib.inbound.ses_notifications.model import Kind, MalformedNotification, read
from tests.unit.inbound.examples import INJECTED_MS, MESSAGE
from tests.unit.inbound.samples import RCPT
from tests.unit.inbound.ses_notifications import records
from tests.unit.moving_clock import moving_clock

pytestmark = pytest.mark.usefixtures("time")


def test_a_bounce_is_read_as_the_report_of_a_host() -> None:
    notification = read(records.bounce())
    assert notification.kind is Kind.BOUNCE
    assert (notification.message_id, notification.is_awaited) == (MESSAGE, True)
    assert notification.at_ms == records.AT_MS
    assert (notification.main_type, notification.sub_type) == ("Permanent", "General")
    status = RecipientStatus((RCPT,), "failed", "5.1.1", "550 5.1.1 user unknown")
    assert notification.statuses == (status,)
    assert notification.reporting_host == "a48-30.smtp-out.amazonses.com"
    assert notification.remote_ip == "192.0.2.25"


@pytest.mark.parametrize("make", records.ALL)
def test_the_envelope_of_sns_changes_nothing(make: Callable[[], str]) -> None:
    assert read(records.in_envelope(make())) == read(make())


def test_a_record_without_the_tag_names_its_message_by_a_header() -> None:
    notification = read(records.bounce(tagged=False))
    assert (notification.message_id, notification.is_awaited) == (MESSAGE, False)


def test_a_notification_of_an_identity_is_read_like_one_of_a_configuration_set() -> None:
    old = records.bounce(tagged=False).replace('"eventType"', '"notificationType"')
    assert read(old) == read(records.bounce(tagged=False))


def test_a_forged_name_is_that_of_no_message() -> None:
    genuine = records.report_id()
    forged = genuine[:-1] + ("a" if genuine[-1] != "a" else "b")
    body = records.bounce().replace(genuine, forged)
    assert read(body.replace(genuine.replace(".", "_"), forged.replace(".", "_"))).message_id == ""


@pytest.mark.parametrize("body", records.others())
def test_other_types_are_read_without_their_details(body: str) -> None:
    assert read(body).kind is Kind.OTHER


@pytest.mark.parametrize(
    "body",
    [
        "",
        "no JSON",
        "[]",
        "7",
        "null",
        "{}",
        '{"eventType": 3, "mail": {}}',
        '{"eventType": "Bounce"}',
        '{"eventType": "Bounce", "mail": []}',
        '{"Type": "Notification", "Message": "no JSON"}',
        '{"Type": "Notification", "Message": {"eventType": "Bounce"}}',
        "[" * 100_000,
        records.record("Bounce", "other", {}),
        records.delay(at="yesterday"),
        records.delay(at="0001-01-01T00:00:00Z"),
        records.record("Delivery", "delivery", {"timestamp": 12}),
    ],
)
def test_a_malformed_record_is_refused(body: str) -> None:
    with pytest.raises(MalformedNotification):
        read(body)


_VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=30),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["emailAddress", "status", "diagnosticCode", "name", "value", "x"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)
_FIELDS = (
    *("timestamp", "bounceType", "bounceSubType", "bouncedRecipients", "delayedRecipients"),
    *("reportingMTA", "remoteMtaIp", "complaintFeedbackType", "delayType", "smtpResponse"),
)


@given(
    make=st.sampled_from(records.ALL),
    where=st.sampled_from(["mail", "details", "record"]),
    name=st.sampled_from([*_FIELDS, "tags", "headers", "mail", "eventType"]),
    value=_VALUES,
)
def test_a_record_with_anything_in_it_is_read_or_refused(
    make: Callable[[], str], where: str, name: str, value: Any
) -> None:
    with moving_clock(INJECTED_MS / 1000 + 60):
        record = json.loads(make())
        details = next(key for key in record if key not in ("eventType", "mail"))
        part = record if where == "record" else record["mail" if where == "mail" else details]
        part[name] = value
        try:
            notification = read(json.dumps(record))
        except MalformedNotification:
            return
        assert 0 <= notification.at_ms < 2**53
        texts = (notification.reply, notification.reporter, notification.remote_ip)
        assert all(isinstance(text, str) and len(text) <= 1000 for text in texts)


@given(body=st.text() | _VALUES.map(json.dumps))
def test_any_text_is_read_or_refused(body: str) -> None:
    with suppress(MalformedNotification):
        read(body)
