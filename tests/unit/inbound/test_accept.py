"""Accept inbound mail, from the recipient's address to the event on the queue."""

from __future__ import annotations

import logging

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from chalicelib.core import aws, ids
from chalicelib.core.message_event import Event
from chalicelib.core.request import Request
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.delivery.outcome import Delivered, to_dict
from chalicelib.delivery.store.journal import open_journal
from chalicelib.delivery.store.work_units import WorkUnit
from chalicelib.events import service as events
from chalicelib.events import stream
from chalicelib.events.model import make_event
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
from chalicelib.sending_domains.model import DomainStatus
from chalicelib.suppression.model import SuppressionEntry
from chalicelib.tracking.engagement import OBSERVED, observe
from chalicelib.tracking.model import Message
from tests.fake_cloud import aws_requests
from tests.unit.inbound.examples import (
    COMMON_FIELDS,
    DOMAIN,
    INJECTED_MS,
    MESSAGE,
    TRANSMISSION,
    bounce_address,
    emitted,
    own_fields,
    store_context,
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
from tests.unit.people import make_account
from tests.unit.sending_domains.examples import domain
from tests.unit.suppression.examples import entries_of

pytestmark = pytest.mark.usefixtures("cloud", "time")

HARD = dsn(group(diagnostic="smtp; 550 5.1.1 no such user"))
FULL = dsn(group(status="5.2.2", diagnostic="smtp; 552 5.2.2 mailbox full"))
ABUSE = arf("Feedback-Type: abuse")
FBL = f"fbl@{DOMAIN}"


def send(message: str, *recipients: str, mail_from: str = "") -> str:
    data = message.replace("\n", "\r\n").encode()
    return accept(mail_from, recipients or (bounce_address(),), data)


def suppressed() -> list[SuppressionEntry]:
    return entries_of(Scope(1, 7), RCPT)


class TestRecipients:
    def test_an_address_of_a_served_domain_is_accepted(self) -> None:
        domains.create(domain(DOMAIN))
        for address in (bounce_address(), unsubscribe_address(), FBL):
            check_recipient(address)

    @pytest.mark.parametrize("address", [bounce_address(), unsubscribe_address()])
    def test_a_signed_address_is_accepted_whatever_became_of_its_domain(self, address: str) -> None:
        store_context()
        check_recipient(address)  # it was deleted
        domains.create(domain(DOMAIN, status=DomainStatus(cname_status="invalid")))
        check_recipient(address)
        domains.delete(domains.get(DOMAIN) or domain(DOMAIN))
        make_account(2)
        domains.create(domain(DOMAIN, account=2))
        check_recipient(address.upper())

    def test_mail_to_a_domain_of_another_account_belongs_to_the_old_message(self) -> None:
        store_context()
        make_account(2)
        domains.create(domain(DOMAIN, account=2))
        send(HARD)
        send(mail("", sender="Ann"), unsubscribe_address())
        events_of_both = emitted()
        suppress(events_of_both)
        assert {(e["customer_id"], e["subaccount_id"]) for e in events_of_both} == {("1", "7")}
        assert {entry.source for entry in suppressed()} == {"Bounce Rule", "List Unsubscribe"}
        assert entries_of(Scope(2, None), RCPT) == []

    def test_a_signed_address_at_another_domain_is_refused(self) -> None:
        for stores in (lambda: None, store_context):
            stores()
            for address in (bounce_address, unsubscribe_address):
                with pytest.raises(NotServed):
                    check_recipient(address(domain="elsewhere.test"))

    def test_other_addresses_are_refused_where_no_mail_is_taken(self) -> None:
        store_context()
        for name in ("fbl", "dmarc", "tlsrpt"):
            with pytest.raises(NotServed):
                check_recipient(f"{name}@{DOMAIN}")

    @pytest.mark.cost
    def test_a_served_domain_costs_no_read_of_the_message(self) -> None:
        domains.create(domain(DOMAIN))
        check_recipient(bounce_address())
        with aws_requests() as requests:
            check_recipient(bounce_address())
            check_recipient(unsubscribe_address())
        assert requests == []

    @pytest.mark.cost
    def test_a_guessed_address_is_refused_without_a_request(self) -> None:
        domains.create(domain(DOMAIN))
        with aws_requests() as requests, pytest.raises(NoSuchAddress):
            check_recipient(bounce_address().replace(".", "a"))
        assert requests == []

    def test_an_expired_address_is_refused(self, time: Clock) -> None:
        domains.create(domain(DOMAIN))
        time.passes(settings().messages_retention + 86_400)
        with pytest.raises(NoSuchAddress):
            check_recipient(bounce_address())


class TestBounces:
    def test_the_event_of_a_late_bounce_has_all_fields_of_its_message(self, time: Clock) -> None:
        store_context()
        event_id = send(HARD)
        (event,) = emitted()
        message_fields = COMMON_FIELDS | own_fields()
        del message_fields["rcpt_type"]
        assert event == {
            **message_fields,
            "type": "out_of_band",
            "timestamp": time.now_ms,
            "event_id": event_id,
            "delv_method": "esmtp",
            "bounce_class": "10",
            "error_code": "550",
            "reason": "550 5.1.1 no such user",
            "raw_reason": "550 5.1.1 no such user",
            "num_retries": "0",
            "queue_time": "60000",
            OBSERVED: {"unit": 3},
        }

    def test_the_event_has_the_recorded_details_of_the_delivery(self, time: Clock) -> None:
        store_context()
        delivery_fields: Event = {
            "num_retries": "2",
            "queue_time": "812",
            "sending_ip": "192.0.2.9",
            "ip_pool": "warm",
        }
        base = COMMON_FIELDS | own_fields()
        other = COMMON_FIELDS | own_fields(4) | {"message_id": ids.message_id(TRANSMISSION, 4)}
        events.put_all(
            [
                make_event("delivery", base, INJECTED_MS + 812, **delivery_fields),
                make_event("delivery", other, INJECTED_MS + 900, num_retries="7", queue_time="900"),
                make_event("open", base, INJECTED_MS + 1000),
            ]
        )
        send(HARD)
        (event,) = emitted()
        assert {name: event[name] for name in delivery_fields} == delivery_fields
        assert OBSERVED not in event

    def test_while_the_delivery_is_not_recorded_the_journal_tells_of_it(self) -> None:
        store_context(unit="2")
        entry = {
            "at": INJECTED_MS + 812,
            "outcome": to_dict(Delivered(250, "ok", sending_ip="10.0.0.1")),
            "route": {"ip_pool": "warm", "sending_ip": "192.0.2.9"},
        }
        open_journal(WorkUnit(TRANSMISSION, "2dd")).record(3, entry)
        send(HARD)
        (event,) = emitted()
        assert (event["num_retries"], event["queue_time"]) == ("2", "812")
        assert (event["sending_ip"], event["ip_pool"]) == ("192.0.2.9", "warm")
        assert OBSERVED not in event

    @pytest.mark.spec("2.9-t3")
    def test_a_hard_bounce_suppresses_the_recipient(self) -> None:
        store_context()
        send(HARD)
        suppress(emitted())
        assert {entry.source for entry in suppressed()} == {"Bounce Rule"}

    @pytest.mark.parametrize("message", [FULL, AUTOMATIC[0]])
    def test_other_bounces_do_not_suppress_the_recipient(self, message: str) -> None:
        store_context()
        send(message)
        suppress(emitted())
        assert suppressed() == []

    def test_a_bounce_after_an_automatic_reply_makes_its_own_event(self) -> None:
        store_context()
        for message in (AUTOMATIC[0], HARD):
            send(message)
        assert [event["bounce_class"] for event in emitted()] == ["60", "10"]

    def test_a_bounce_may_be_plain_text(self) -> None:
        store_context()
        send(TEXTS[0].message)
        (event,) = emitted()
        assert (event["type"], event["bounce_class"]) == ("out_of_band", "10")

    def test_the_subject_of_the_message_does_not_decide_the_class(self) -> None:
        store_context(subject="How to fix 550 5.1.1 user unknown")
        send(mail("<ann@inbox.test>:\nThe mail about how to fix 550 5.1.1 user unknown is late."))
        (event,) = emitted()
        assert event["bounce_class"] == "1"

    def test_a_postmaster_who_answers_reports_nothing(self) -> None:
        store_context()
        text = "Your mails to ann@inbox.test come back with 550 5.1.1 user unknown"
        message = mail(text, sender="postmaster@inbox.test", Subject="Re: Hello")
        assert send(message, mail_from="postmaster@inbox.test") == NO_EVENT
        assert send(message) != NO_EVENT

    @pytest.mark.parametrize("message", [*DELAYS, *PEOPLE])
    def test_mail_that_reports_nothing_is_accepted_and_dropped(
        self, message: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        store_context()
        with caplog.at_level(logging.INFO):
            assert send(message) == NO_EVENT
        assert emitted() == []
        assert "dropped" in caplog.text
        assert RCPT not in caplog.text


class TestComplaints:
    def test_the_event_of_a_complaint_says_who_reports_it(self, time: Clock) -> None:
        store_context()
        event_id = send(ABUSE)
        (event,) = emitted()
        assert event == {
            **COMMON_FIELDS,
            **own_fields(),
            "type": "spam_complaint",
            "timestamp": time.now_ms,
            "event_id": event_id,
            "delv_method": "esmtp",
            "fbtype": "abuse",
            "report_by": "inbox.test",
            "report_to": bounce_address(),
            "queue_time": "60000",
            OBSERVED: {"unit": 3},
        }

    @pytest.mark.spec("2.9-t3")
    def test_it_suppresses_the_recipient(self) -> None:
        store_context()
        send(ABUSE)
        suppress(emitted())
        (entry,) = suppressed()
        assert (entry.source, entry.type) == ("Spam Complaint", "non_transactional")

    def test_a_report_to_the_feedback_address_is_matched_by_a_signed_address_in_it(self) -> None:
        store_context()
        fields = [
            f"Original-Mail-From: <{bounce_address()}>",
            f"Removal-Recipient: {unsubscribe_address()}",
        ]
        originals = [
            f"Return-Path: <{bounce_address()}>\n{COPY}",
            f"List-Unsubscribe: <https://x>,\n <mailto:{unsubscribe_address()}?subject=u>\n{COPY}",
            # A report in which every address is redacted
            f"Return-Path: <redacted>\nX-SVC-Report-ID: {bounce_address().split('@')[0]}\n{COPY}",
        ]
        for field in fields:
            send(arf("Feedback-Type: abuse", field), FBL)
        for original in originals:
            assert send(arf("Feedback-Type: abuse", original=original), FBL) != NO_EVENT
        assert {event["message_id"] for event in emitted()} == {MESSAGE}

    def test_a_report_to_the_feedback_address_without_a_signed_address_is_dropped(self) -> None:
        store_context()
        forged = bounce_address().replace(MESSAGE, ids.message_id(TRANSMISSION, 4))
        unknown = bounce_address(ids.message_id(TRANSMISSION, 4))
        for original in (COPY, f"Return-Path: <{forged}>\n", f"Return-Path: <{unknown}>\n"):
            assert send(arf("Feedback-Type: abuse", original=original), FBL) == NO_EVENT
        assert send(HARD.replace("--=_b--", ""), FBL) == NO_EVENT
        assert emitted() == []


class TestUnsubscriptions:
    def test_mail_to_the_unsubscribe_address_unsubscribes(self, time: Clock) -> None:
        store_context()
        send(mail("", sender="Ann"), unsubscribe_address(), mail_from="ann@home.test")
        (event,) = emitted()
        assert event["type"] == "list_unsubscribe"
        assert event["mailfrom"] == "ann@home.test"
        assert (event["rcpt_to"], event["timestamp"]) == (RCPT, time.now_ms)
        suppress([event])
        (entry,) = suppressed()
        assert entry.source == "List Unsubscribe"

    def test_mail_unsubscribes_from_the_mailing_list_of_the_message(self) -> None:
        store_context(list_id="News.1")
        send(mail("", sender="Ann"), unsubscribe_address())
        suppress(emitted())
        (entry,) = suppressed()
        assert (entry.type, entry.list_id) == ("non_transactional", "News.1")

    def test_the_recipient_stands_for_a_missing_sender(self) -> None:
        store_context()
        send(mail(""), unsubscribe_address())
        assert [event["mailfrom"] for event in emitted()] == [RCPT]

    def test_a_message_has_one_unsubscription_by_mail_and_by_one_click(self) -> None:
        store_context()
        for number in (1, 1, 2):
            send(mail("", Message_ID=f"<{number}@x>"), unsubscribe_address())
        one_click = observe("list_unsubscribe", Request(), Message(1, 7, MESSAGE, 3, RCPT, 99_999))
        assert {event["event_id"] for event in emitted()} == {one_click["event_id"]}

    @pytest.mark.parametrize("message", [HARD, ABUSE])
    def test_a_report_unsubscribes_nobody(self, message: str) -> None:
        store_context()
        assert send(message, unsubscribe_address()) == NO_EVENT
        assert emitted() == []


class TestDuplicates:
    def test_a_report_that_is_received_again_makes_the_same_event(self, time: Clock) -> None:
        store_context()
        first = send(HARD)
        time.passes(3600)
        assert send(HARD) == first
        assert {event["event_id"] for event in emitted()} == {first}

    def test_a_report_whose_event_was_not_queued_can_be_sent_again(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store_context()
        with monkeypatch.context() as patch:
            patch.setattr(stream, "emit", unreachable)
            with pytest.raises(EndpointConnectionError):
                send(HARD)
        send(HARD)
        assert len(emitted()) == 1

    def test_a_second_complaint_of_another_kind_makes_the_same_event(self) -> None:
        store_context()
        ids_of_events = {send(arf(f"Feedback-Type: {kind}")) for kind in ("abuse", "fraud")}
        assert len(ids_of_events) == 1

    def test_a_report_that_names_its_recipient_twice_makes_one_event(self) -> None:
        store_context()
        send(HARD, bounce_address(), bounce_address())
        assert len(emitted()) == 1

    @pytest.mark.cost
    def test_a_report_costs_a_request_beside_those_that_find_its_message(self) -> None:
        store_context()
        send(HARD)
        with aws_requests() as requests:
            send(HARD)
        assert [each.operation for each in requests if each.operation != "Query"] == ["SendMessage"]


class TestUnknownMessages:
    @pytest.mark.parametrize("address", [bounce_address(), unsubscribe_address()])
    def test_a_report_about_an_unknown_message_is_refused(
        self, address: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.INFO), pytest.raises(UnknownMessage):
            send(HARD, address)
        assert "refused" in caplog.text

    def test_a_report_about_a_known_and_an_unknown_message_makes_one_event(self) -> None:
        store_context()
        send(HARD, bounce_address(ids.message_id(TRANSMISSION, 4)), bounce_address())
        assert len(emitted()) == 1

    def test_a_failed_lookup_is_not_taken_for_an_unknown_message(self) -> None:
        store_context()
        aws.dynamodb().delete_table(TableName=settings().table("messages"))
        with pytest.raises(ClientError):
            send(HARD)


def unreachable(*_: object) -> None:
    raise EndpointConnectionError(endpoint_url="http://cloud.test")
