"""Mail for inbound domains: who is served, and what is queued of a message."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chalicelib.core import blobs, queues
from chalicelib.core.spool import Spool
from chalicelib.inbound import accept, receive
from chalicelib.inbound.loops import Hop
from chalicelib.inbound.receive import InboundMessage, MessageLoops, place_of, store, trace_of
from chalicelib.inbound_domains.model import InboundDomain
from chalicelib.received_mail.inbound_queue import MOST_IN_QUEUE, QUEUE
from chalicelib.sending_domains import store as sending_domains
from tests.fake_cloud import queued
from tests.unit.inbound.examples import (
    INJECTED_MS,
    bounce_address,
    emitted,
    store_context,
    unsubscribe_address,
)
from tests.unit.inbound_domains.examples import store_inbound_domain
from tests.unit.moving_clock import moving_clock
from tests.unit.sending_domains.examples import domain

pytestmark = pytest.mark.usefixtures("cloud")

CONTENT = b"Subject: x\r\n\r\nbody\r\n"
PLACE = InboundDomain("in.test", 1, 1)


def message(*recipients: str, places: tuple[InboundDomain | None, ...] = ()) -> InboundMessage:
    hop = Hop(receive.new_id(), INJECTED_MS, "mx.test", "192.0.2.7", "", False, recipients)
    envelope = InboundMessage(hop, "ann@sender.test", places or (PLACE,) * len(recipients))
    return replace(envelope, trace=trace_of(envelope))


def store_content(envelope: InboundMessage, content: bytes = CONTENT) -> None:
    store(envelope, envelope.trace + content)


class TestPlaces:
    def test_every_local_part_of_an_inbound_domain_is_served(self) -> None:
        place = store_inbound_domain("in.test")
        for local_part in ("help", "a+b", "postmaster", "abuse", "dmarc", "fbl", "tlsrpt", '"x y"'):
            assert place_of(f"{local_part}@IN.test") == place

    def test_everything_else_is_refused_as_before(self) -> None:
        store_inbound_domain("in.test")
        for address in ("a@sub.in.test", "a@elsewhere.test", "a@xin.test", "postmaster"):
            with pytest.raises(accept.NoSuchAddress):
                place_of(address)
        with pytest.raises(accept.NotServed):
            place_of("dmarc@elsewhere.test")

    def test_a_signed_address_is_the_services_own_at_an_inbound_domain_too(self) -> None:
        store_context()
        store_inbound_domain("in.test")
        with moving_clock(INJECTED_MS / 1000):
            assert place_of(bounce_address(domain="in.test")) is None
            assert place_of(unsubscribe_address(domain="in.test")) is None

    def test_reports_go_where_they_go_now_at_a_domain_that_the_service_sends_for(self) -> None:
        sending_domains.create(domain("bounce.test"))
        assert place_of("dmarc@bounce.test") is None


class TestQueueing:
    def test_a_message_is_queued_with_its_envelope_and_trace(self) -> None:
        envelope = message("help@in.test", "own@bounce.test", places=(PLACE, None))
        store_content(envelope)
        (body,) = queued(QUEUE)
        work = queues.read(body)
        assert work.payload() == envelope.trace + CONTENT
        assert work.head == {
            "id": envelope.hop.id,
            "received_ms": INJECTED_MS,
            "mail_from": "ann@sender.test",
            "peer_ip": "192.0.2.7",
            "helo": "mx.test",
            "tls": "",
            "size": len(envelope.trace + CONTENT),
            "recipients": [
                {
                    "index": 0,
                    "address": "help@in.test",
                    "account_id": 1,
                    "subaccount_id": None,
                    "domain": "in.test",
                }
            ],
        }
        assert envelope.own() == ["own@bounce.test"]

    def test_a_large_message_is_an_object_that_the_head_names(self) -> None:
        envelope = message("help@in.test")
        with Spool(1_000) as spool:
            spool.write(envelope.trace)
            for _ in range(2 * MOST_IN_QUEUE // 1_000):
                spool.write(b"x" * 998 + b"\r\n")
            store(envelope, spool.octets())
            (body,) = queued(QUEUE)
            head = queues.read(body).head
            assert blobs.get(head["blob"]) == spool.octets()[:]

    def test_ids_begin_with_the_time_and_differ(self) -> None:
        with moving_clock(INJECTED_MS / 1000):
            ids = {receive.new_id() for _ in range(100)}
        assert len(ids) == 100
        assert {(each[:12], len(each)) for each in ids} == {(f"{INJECTED_MS:012x}", 24)}


class TestLoops:
    def test_a_message_that_came_before_is_refused(self) -> None:
        first = message("help@in.test")
        with pytest.raises(MessageLoops):
            store_content(message("help@in.test"), b"X: y\r\n" + first.trace + CONTENT)
        assert queued(QUEUE) == []

    def test_it_is_taken_for_the_other_recipients_and_the_rest_is_told(self) -> None:
        first = message("help@in.test")
        second = message("sales@in.test", "help@in.test")
        store_content(second, first.trace + CONTENT)
        (body,) = queued(QUEUE)
        assert [each["address"] for each in queues.read(body).head["recipients"]] == [
            "sales@in.test"
        ]
        (event,) = emitted()
        assert (event["type"], event["rcpt_to"]) == ("relay_rejection", "help@in.test")
        assert event["error_code"] == "554"

    @pytest.mark.parametrize(("count", "is_refused"), [(50, False), (51, True)])
    def test_a_message_has_fifty_hops_at_the_most(self, count: int, is_refused: bool) -> None:
        content = b"Received: from a by b; now\r\n" * count + CONTENT
        if is_refused:
            with pytest.raises(MessageLoops):
                store_content(message("help@in.test"), content)
        else:
            store_content(message("help@in.test"), content)
        assert len(queued(QUEUE)) == int(not is_refused)


def test_a_refusal_makes_an_event_for_each_recipient_at_an_inbound_domain() -> None:
    envelope = message("a@in.test", "own@bounce.test", "b@in.test", places=(PLACE, None, PLACE))
    receive.reject(envelope, 552, "5.3.4 Message too big")
    events = emitted()
    assert [event["rcpt_to"] for event in events] == ["a@in.test", "b@in.test"]
    for event in events:
        assert event["type"] == "relay_rejection"
        assert (event["error_code"], event["remote_addr"]) == ("552", "192.0.2.7")
        assert event["msg_from"] == "ann@sender.test"
        assert "5.3.4 Message too big" in event["reason"]
    assert len({event["event_id"] for event in events}) == 2
