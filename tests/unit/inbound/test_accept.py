"""Mail that comes back, from the address to the event on the queue."""

from __future__ import annotations

import logging

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from chalicelib.core import aws, ids
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.events import service as events
from chalicelib.events import stream
from chalicelib.events.model import Event, make_event
from chalicelib.inbound.accept import (
    NO_EVENT,
    NoSuchAddress,
    NotServed,
    UnknownMessage,
    accept,
    check_recipient,
)
from chalicelib.recording.suppression import suppress
from chalicelib.sending_domains import store as domains
from chalicelib.suppression.model import Entry
from chalicelib.suppression.store.items import entries_of
from tests.fake_cloud import aws_requests
from tests.unit.inbound.examples import (
    DOMAIN,
    MADE,
    MESSAGE,
    SHARED,
    TRANSMISSION,
    bounce_address,
    emitted,
    keep,
    own_fields,
    unsubscribe_address,
)
from tests.unit.inbound.samples import (
    AUTOMATIC,
    COPY,
    DELAYS,
    PEOPLE,
    RCPT,
    TEXTS,
    arf,
    dsn,
    group,
    mail,
)
from tests.unit.moving_clock import Clock
from tests.unit.sending_domains.examples import domain

pytestmark = pytest.mark.usefixtures("cloud", "time")

HARD = dsn(group(diagnostic="smtp; 550 5.1.1 no such user"))
FULL = dsn(group(status="5.2.2", diagnostic="smtp; 552 5.2.2 mailbox full"))
ABUSE = arf("Feedback-Type: abuse")
FBL = f"fbl@{DOMAIN}"


def send(message: str, *recipients: str, mail_from: str = "") -> str:
    data = message.replace("\n", "\r\n").encode()
    return accept(mail_from, recipients or (bounce_address(),), data)


def suppressed() -> list[Entry]:
    return entries_of(Scope(1, 7), RCPT)


class TestRecipients:
    def test_an_address_of_a_served_domain_is_taken(self) -> None:
        domains.create(domain(DOMAIN))
        for address in (bounce_address(), unsubscribe_address(), FBL):
            check_recipient(address)

    def test_a_genuine_address_at_another_domain_is_not_ours(self) -> None:
        with pytest.raises(NotServed):
            check_recipient(bounce_address(domain="elsewhere.test"))

    @pytest.mark.cost
    def test_guessing_reads_nothing(self) -> None:
        domains.create(domain(DOMAIN))
        with aws_requests() as made, pytest.raises(NoSuchAddress):
            check_recipient(bounce_address().replace(".", "a"))
        assert made == []

    def test_an_address_whose_time_is_over_is_refused(self, time: Clock) -> None:
        domains.create(domain(DOMAIN))
        time.passes(settings().messages_retention + 86_400)
        with pytest.raises(NoSuchAddress):
            check_recipient(bounce_address())


class TestBounces:
    def test_a_late_bounce_is_told_with_all_that_is_known_of_its_message(self, time: Clock) -> None:
        keep()
        given_id = send(HARD)
        (event,) = emitted()
        whole = SHARED | own_fields()
        del whole["rcpt_type"]
        assert event == {
            **whole,
            "type": "out_of_band",
            "timestamp": time.now_ms,
            "event_id": given_id,
            "delv_method": "esmtp",
            "bounce_class": "10",
            "error_code": "550",
            "reason": "550 5.1.1 no such user",
            "raw_reason": "550 5.1.1 no such user",
            "num_retries": "0",
            "queue_time": "60000",
        }

    def test_how_it_was_delivered_is_told_where_that_is_recorded(self, time: Clock) -> None:
        keep()
        told: Event = {
            "num_retries": "2",
            "queue_time": "812",
            "sending_ip": "192.0.2.9",
            "ip_pool": "warm",
        }
        base = SHARED | own_fields()
        other = SHARED | own_fields(4) | {"message_id": ids.message_id(TRANSMISSION, 4)}
        events.put_all(
            [
                make_event("delivery", base, MADE + 812, **told),
                make_event("delivery", other, MADE + 900, num_retries="7", queue_time="900"),
                make_event("open", base, MADE + 1000),
            ]
        )
        send(HARD)
        (event,) = emitted()
        assert {name: event[name] for name in told} == told

    @pytest.mark.spec("2.9-t3")
    def test_a_hard_one_suppresses_the_recipient(self) -> None:
        keep()
        send(HARD)
        suppress(emitted())
        assert {entry.source for entry in suppressed()} == {"Bounce Rule"}

    @pytest.mark.parametrize("message", [FULL, AUTOMATIC[0]])
    def test_another_does_not(self, message: str) -> None:
        keep()
        send(message)
        suppress(emitted())
        assert suppressed() == []

    def test_an_automatic_answer_does_not_hide_a_bounce(self) -> None:
        keep()
        for message in (AUTOMATIC[0], HARD):
            send(message)
        assert [event["bounce_class"] for event in emitted()] == ["60", "10"]

    def test_a_text_will_do(self) -> None:
        keep()
        send(TEXTS[0].message)
        (event,) = emitted()
        assert (event["type"], event["bounce_class"]) == ("out_of_band", "10")

    @pytest.mark.parametrize("message", [*DELAYS, *PEOPLE])
    def test_what_says_nothing_that_counts_is_taken_and_dropped(
        self, message: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        keep()
        with caplog.at_level(logging.INFO):
            assert send(message) == NO_EVENT
        assert emitted() == []
        assert "dropped" in caplog.text
        assert RCPT not in caplog.text


class TestComplaints:
    def test_a_complaint_is_told_with_who_reports_it(self, time: Clock) -> None:
        keep()
        given_id = send(ABUSE)
        (event,) = emitted()
        assert event == {
            **SHARED,
            **own_fields(),
            "type": "spam_complaint",
            "timestamp": time.now_ms,
            "event_id": given_id,
            "delv_method": "esmtp",
            "fbtype": "abuse",
            "report_by": "inbox.test",
            "report_to": bounce_address(),
            "queue_time": "60000",
        }

    @pytest.mark.spec("2.9-t3")
    def test_it_suppresses_the_recipient(self) -> None:
        keep()
        send(ABUSE)
        suppress(emitted())
        (entry,) = suppressed()
        assert (entry.source, entry.type) == ("Spam Complaint", "non_transactional")

    def test_a_report_to_the_address_for_all_is_matched_by_what_it_holds(self) -> None:
        keep()
        fields = [
            f"Original-Mail-From: <{bounce_address()}>",
            f"Removal-Recipient: {unsubscribe_address()}",
        ]
        originals = [
            f"Return-Path: <{bounce_address()}>\n{COPY}",
            f"List-Unsubscribe: <https://x>,\n <mailto:{unsubscribe_address()}?subject=u>\n{COPY}",
            # Of one that had every address blanked out
            f"Return-Path: <redacted>\nX-SVC-Report-ID: {bounce_address().split('@')[0]}\n{COPY}",
        ]
        for field in fields:
            send(arf("Feedback-Type: abuse", field), FBL)
        for original in originals:
            assert send(arf("Feedback-Type: abuse", original=original), FBL) != NO_EVENT
        assert [event["message_id"] for event in emitted()] == [MESSAGE]

    def test_a_report_to_the_address_for_all_that_names_nothing_of_ours_is_dropped(self) -> None:
        keep()
        forged = bounce_address().replace(MESSAGE, ids.message_id(TRANSMISSION, 4))
        unknown = bounce_address(ids.message_id(TRANSMISSION, 4))
        for original in (COPY, f"Return-Path: <{forged}>\n", f"Return-Path: <{unknown}>\n"):
            assert send(arf("Feedback-Type: abuse", original=original), FBL) == NO_EVENT
        assert send(HARD.replace("--=_b--", ""), FBL) == NO_EVENT
        assert emitted() == []


class TestUnsubscriptions:
    def test_mail_to_the_address_unsubscribes(self, time: Clock) -> None:
        keep()
        send(mail("", sender="Ann"), unsubscribe_address(), mail_from="ann@home.test")
        (event,) = emitted()
        assert event["type"] == "list_unsubscribe"
        assert event["mailfrom"] == "ann@home.test"
        assert (event["rcpt_to"], event["timestamp"]) == (RCPT, time.now_ms)
        suppress([event])
        (entry,) = suppressed()
        assert entry.source == "List Unsubscribe"

    def test_mail_without_a_sender_is_the_recipients(self) -> None:
        keep()
        send(mail(""), unsubscribe_address())
        assert [event["mailfrom"] for event in emitted()] == [RCPT]

    def test_who_is_on_the_list_again_may_unsubscribe_again(self) -> None:
        keep()
        for number in (1, 1, 2):
            send(mail("", Message_ID=f"<{number}@x>"), unsubscribe_address())
        assert len({event["event_id"] for event in emitted()}) == 2

    @pytest.mark.parametrize("message", [HARD, ABUSE])
    def test_a_report_unsubscribes_nobody(self, message: str) -> None:
        keep()
        assert send(message, unsubscribe_address()) == NO_EVENT
        assert emitted() == []


class TestAgain:
    def test_a_report_that_comes_again_tells_nothing_more(self, time: Clock) -> None:
        keep()
        first = send(HARD)
        time.passes(3600)
        assert send(HARD) == first
        assert len(emitted()) == 1

    def test_a_report_whose_event_was_not_queued_has_the_time_of_the_first(
        self, time: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        keep()
        began = time.now_ms
        with monkeypatch.context() as patch:
            patch.setattr(stream, "emit", unreachable)
            with pytest.raises(EndpointConnectionError):
                send(HARD)
        time.passes(3600)
        send(HARD)
        assert [event["timestamp"] for event in emitted()] == [began]

    def test_another_way_to_complain_tells_nothing_more(self) -> None:
        keep()
        for kind in ("abuse", "fraud"):
            send(arf(f"Feedback-Type: {kind}"))
        assert len(emitted()) == 1

    def test_a_report_to_an_address_twice_counts_once(self) -> None:
        keep()
        send(HARD, bounce_address(), bounce_address())
        assert len(emitted()) == 1


class TestUnknown:
    @pytest.mark.parametrize("address", [bounce_address(), unsubscribe_address()])
    def test_a_message_of_which_nothing_is_known_is_refused(
        self, address: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.INFO), pytest.raises(UnknownMessage):
            send(HARD, address)
        assert "refused" in caplog.text

    def test_one_that_is_known_is_told_all_the_same(self) -> None:
        keep()
        send(HARD, bounce_address(ids.message_id(TRANSMISSION, 4)), bounce_address())
        assert len(emitted()) == 1

    def test_a_message_that_cannot_be_read_now_is_no_unknown_one(self) -> None:
        keep()
        aws.dynamodb().delete_table(TableName=settings().table("messages"))
        with pytest.raises(ClientError):
            send(HARD)


def unreachable(*_: object) -> None:
    raise EndpointConnectionError(endpoint_url="http://cloud.test")
