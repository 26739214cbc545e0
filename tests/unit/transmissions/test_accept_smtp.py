"""A finished message is accepted over SMTP."""

from __future__ import annotations

import email
import email.policy
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.accounts.store import accounts, usage
from chalicelib.compliance import service as compliance
from chalicelib.core import clock, queues
from chalicelib.core.addresses import Mailbox
from chalicelib.core.errors import ServiceError
from chalicelib.core.settings import settings
from chalicelib.events import stream
from chalicelib.generation.chunk import Chunk
from chalicelib.generation.worker import read_chunk
from chalicelib.mail_format import rfc822
from chalicelib.sending_domains import store as domains
from chalicelib.sending_domains.model import DomainStatus
from chalicelib.transmissions.accept_smtp import SmtpMessage, accept_message
from chalicelib.transmissions.copies import Copies
from chalicelib.transmissions.store import transmissions
from tests.fake_cloud import aws_requests, queued, queued_work
from tests.unit.people import limit, make_account, make_domain, make_subaccount
from tests.unit.refusals import refusal_code
from tests.unit.sending_domains.examples import domain
from tests.unit.transmissions.examples import CREATED, OPTIONS

PEER = "192.0.2.9"
MESSAGE = b"From: Ann <a@mail.example.test>\r\nSubject: {{x}}\r\n\r\n{{not a template}}\r\n"


@pytest.fixture(autouse=True)
def _with_a_domain(cloud: None) -> None:
    make_account()
    domains.create(domain())


def send(
    message: bytes = MESSAGE,
    *to: str,
    account: int = 1,
    sub: int | None = None,
    peer: str = PEER,
    mail_from: str = "",
    **options: Any,
) -> str:
    smtp_message = SmtpMessage(mail_from, to or ("R@example.test",), message, peer, **options)
    with clock.use(lambda: CREATED / 1000):
        return accept_message(account, sub, smtp_message)


def only_chunk() -> Chunk:
    (chunk,) = [read_chunk(queues.read(each)) for each in queued_work()]
    return chunk


def refused_message(message: bytes = MESSAGE, **options: Any) -> tuple[int, str | None]:
    code = refusal_code(send, message, **options)
    assert queued_work() == []
    assert list(transmissions.in_account(1)) == []
    return code


def test_a_message_is_queued_unchanged_after_its_trace_field() -> None:
    name = send()
    chunk = only_chunk()
    transmission = chunk.transmission
    assert (transmission.id, transmission.account_id, transmission.recv_method) == (
        name,
        1,
        "esmtp",
    )
    assert transmission.created_ms == CREATED
    assert (transmission.resolved, transmission.substitute, transmission.content) == (
        True,
        False,
        {},
    )
    assert (
        transmission.raw
        == (
            f"Received: from [{PEER}] by localhost (Postfinch)\r\n"
            f" with ESMTPSA id {name}; Sat, 31 Jan 2026 09:00:00 +0000\r\n"
        ).encode()
        + MESSAGE
    )
    assert chunk.recipients == [{"email": "R@example.test"}]
    assert transmission.options == OPTIONS | {"open_tracking": False, "click_tracking": False} | {
        "initial_open": False
    }


@pytest.mark.parametrize(
    "sender",
    [
        b"=?utf-8?q?Doe=2C_Ann?= <a@mail.example.test>",
        b'"Doe, Ann" <a@mail.example.test>',
        b"a@mail.example.test (Doe, Ann)",
        b"\r\n a@mail.example.test",
    ],
)
def test_a_from_may_have_any_name(sender: bytes) -> None:
    send(b"From: " + sender + b"\r\n\r\nx")
    assert sender in only_chunk().transmission.raw


def test_a_message_is_stored_in_the_form_that_every_host_takes() -> None:
    html = "<p>Zoë</p>" * 300
    send(f"From: Zoë <a@mail.example.test>\r\nX-A: {'x ' * 900}\r\n\r\n{html}".encode())
    raw = only_chunk().transmission.raw
    assert raw.isascii()
    assert max(map(len, raw.split(b"\r\n"))) <= 998
    message = email.message_from_bytes(raw, policy=email.policy.default)
    assert message["From"] == "Zoë <a@mail.example.test>"
    assert message["X-A"].split() == ["x"] * 900
    assert message.get_content().strip() == html


@pytest.mark.parametrize(
    "message",
    [
        b"References: <" + b"x" * 1000 + b">\r\n\r\nx",
        b"Content-Type: multipart/signed; boundary=b\r\n\r\n--b\r\n\r\n%b\r\n--b--" % (b"x" * 999),
        b"\r\n-----BEGIN PGP SIGNED MESSAGE-----\r\n\r\n" + b"x" * 999,
        b"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\n" + b"x" * 999,
    ],
)
def test_a_message_that_no_host_takes_is_refused(message: bytes) -> None:
    assert refused_message(b"From: a@mail.example.test\r\n" + message) == (422, "1300")


def test_a_message_that_grows_over_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAX_MESSAGE_BYTES", "5000")
    settings.cache_clear()
    message = b"From: a@mail.example.test\r\n\r\n" + "é\r\n".encode() * 900
    assert len(message) < 5000
    assert refused_message(message) == (422, "1300")


@pytest.mark.parametrize(
    "sender", [b"a@mail.example.test, b@mail.example.test", b"a@mail.example.test, B <b@x.test>"]
)
def test_a_from_with_two_addresses_is_refused(sender: bytes) -> None:
    assert refused_message(b"From: " + sender + b"\r\n\r\nx") == (400, "7001")


def test_an_ipv6_peer_is_an_address_literal() -> None:
    send(peer="2001:db8::1")
    assert b"from [IPv6:2001:db8::1] by" in only_chunk().transmission.raw


def test_each_recipient_of_the_envelope_counts_and_gets_it_once() -> None:
    limit(monthly=10**9)
    send(MESSAGE, "a@x.test", "b@x.test", "A@x.test")
    assert [one["email"] for one in only_chunk().recipients] == ["a@x.test", "b@x.test"]
    with clock.use(lambda: CREATED / 1000):
        assert usage.get(1)[0].day == 2


def test_the_options_are_those_of_the_account_for_smtp() -> None:
    make_account(2, options={"smtp_tracking_default": True, "transactional_default": True})
    domains.create(domain("two.test", account=2))
    send(b"From: a@two.test\r\n\r\nx", account=2)
    assert only_chunk().transmission.options == OPTIONS | {"transactional": True}


@pytest.mark.parametrize("selection", [None, False])
def test_an_enterprise_account_tracks_over_smtp_unless_it_chose_not_to(
    selection: bool | None,
) -> None:
    options = {} if selection is None else {"smtp_tracking_default": selection}
    make_account(2, service_level="enterprise", options=options)
    domains.create(domain("two.test", account=2))
    send(b"From: a@two.test\r\n\r\nx", account=2)
    chunk = only_chunk().transmission.options
    assert chunk["open_tracking"] is chunk["click_tracking"] is (selection is None)
    assert chunk["initial_open"] is (selection is None)


def test_a_message_may_choose_its_options() -> None:
    options = {"open_tracking": True, "transactional": True, "inline_css": True}
    send(options=options, campaign_id="spring", metadata={"a": 1})
    transmission = only_chunk().transmission
    assert transmission.options == OPTIONS | options | {"click_tracking": False}
    assert (transmission.campaign_id, transmission.metadata) == ("spring", {"a": 1})


@pytest.mark.parametrize("level", ["standard", "enterprise"])
def test_only_a_message_of_an_enterprise_account_skips_suppression(level: str) -> None:
    make_account(2, service_level=level)
    domains.create(domain("two.test", account=2))
    send(b"From: a@two.test\r\n\r\nx", account=2, options={"skip_suppression": True})
    skips = only_chunk().transmission.options.get("skip_suppression", False)
    assert skips is (level == "enterprise")


def test_the_account_s_ban_on_click_tracking_beats_the_message() -> None:
    make_account(2, options={"click_tracking": False})
    domains.create(domain("two.test", account=2))
    send(b"From: a@two.test\r\n\r\nx", account=2, options={"click_tracking": True})
    assert only_chunk().transmission.options["click_tracking"] is False


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"options": {"ip_pool": "none-such"}}, (422, "1300")),
        ({"options": {"dkim_key": "none-such"}}, (400, "1100")),
        ({"options": {"reply_domain": "none.test"}}, (422, "1603")),
        ({"metadata": {"a": "x" * 10_240}}, (422, "2007")),
        ({"copies": Copies(cc=[Mailbox("a@x.test", "a\nb")])}, (422, "1300")),
    ],
)
def test_options_that_cannot_be_met_are_refused(
    options: dict[str, Any], expected: tuple[int, str]
) -> None:
    assert refused_message(**options) == expected


def test_every_copy_is_a_recipient_of_the_same_transmission() -> None:
    limit(monthly=10**9)
    copies = Copies(
        cc=[Mailbox("c@x.test", "Cee")],
        bcc=[Mailbox("B@x.test"), Mailbox("c@x.test")],
        archive=[Mailbox("z@x.test")],
    )
    send(MESSAGE, "a@x.test", copies=copies, tags=[str(number) for number in range(12)])
    chunk = only_chunk()
    tags = [str(number) for number in range(10)]
    assert chunk.recipients == [
        {"email": "a@x.test", "tags": tags},
        {"email": "c@x.test", "name": "Cee", "rcpt_type": "cc", "tags": tags},
        {"email": "B@x.test", "rcpt_type": "bcc", "tags": tags},
        {
            "email": "z@x.test",
            "rcpt_type": "archive",
            "tracked_as": {"index": 0, "email": "a@x.test"},
            "tags": tags,
        },
    ]
    with clock.use(lambda: CREATED / 1000):
        assert usage.get(1)[0].day == 4
    fields = rfc822.split(chunk.transmission.raw)[0]
    assert fields[-1] == ("cc", b"Cc: Cee <c@x.test>\r\n")


# The envelope sender.


def verified_for_bounces(name: str, **fields: Any) -> None:
    status = DomainStatus(ownership_verified=True, cname_status="valid")
    domains.create(replace(domain(name, **fields), status=status))


def test_a_sender_at_a_verified_bounce_domain_counts() -> None:
    verified_for_bounces("bounces.test")
    send(mail_from="news@bounces.test")
    assert only_chunk().transmission.return_path == "news@bounces.test"


@pytest.mark.parametrize(
    "mail_from", ["", "a@plain.test", "a@nowhere.test", "a@others.test", "postmaster"]
)
def test_any_other_sender_is_replaced_by_the_service_s(mail_from: str) -> None:
    make_account(2)
    make_domain("plain.test")
    verified_for_bounces("others.test", account=2)
    send(mail_from=mail_from)
    assert only_chunk().transmission.return_path == ""


def test_a_subaccount_s_bounce_domain_is_its_own() -> None:
    verified_for_bounces("bounces.test")
    number = make_subaccount().id
    domains.create(domain("sub.test", subaccount_id=number))
    message = MESSAGE.replace(b"mail.example.test", b"sub.test")
    send(message, sub=number, mail_from="news@bounces.test")
    assert only_chunk().transmission.return_path == ""


def test_an_enterprise_account_keeps_its_sender() -> None:
    make_account(2, service_level="enterprise")
    domains.create(domain("two.test", account=2))
    send(b"From: a@two.test\r\n\r\nx", account=2, mail_from="own+1@nowhere.test")
    assert only_chunk().transmission.return_path == "own+1@nowhere.test"


@pytest.mark.cost
def test_a_sender_at_the_from_domain_costs_no_request() -> None:
    verified_for_bounces("bounces.test")
    queues.send("small-sends", [queues.Work({})])
    with aws_requests() as requests:
        send(b"From: a@bounces.test\r\n\r\nx", mail_from="b@bounces.test")
    assert len(requests) == 3


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (b"no header\r\n\r\nx", (422, "1300")),
        (b"Subject: x\r\n\r\nx", (400, "7001")),
        (b"From: nobody\r\n\r\nx", (400, "7001")),
        (b"From: a@elsewhere.test\r\n\r\nx", (400, "7001")),
        (b"From: a@mail.example.test, b@c.test\r\n\r\nx", (400, "7001")),
        (b"From: a@mail.example.test\r\nFrom: b@c.test\r\n\r\nx", (400, "7001")),
    ],
)
def test_a_refused_message_leaves_nothing_behind(message: bytes, expected: tuple[int, str]) -> None:
    assert refused_message(message) == expected


def test_a_from_domain_that_is_not_the_sender_s_makes_an_event_for_each_recipient() -> None:
    message = MESSAGE.replace(b"mail.example.test", b"Elsewhere.test")
    options: dict[str, Any] = {
        "campaign_id": "spring",
        "metadata": {"a": "b"},
        "copies": Copies(bcc=[Mailbox("c@x.test")]),
    }
    with pytest.raises(ServiceError):
        send(message, "R@x.test", mail_from="m@y.test", **options)
    first, copy = (e for each in queued("events") for e in stream.decode(queues.read(each)))
    expected = {
        "type": "policy_rejection",
        "customer_id": "1",
        "rcpt_to": "r@x.test",
        "rcpt_meta": {"a": "b"},
        "campaign_id": "spring",
        "recv_method": "esmtp",
        "friendly_from": "a@Elsewhere.test",
        "sending_domain": "elsewhere.test",
        "msg_from": "m@y.test",
        "remote_addr": PEER,
        "bounce_class": "25",
        "error_code": "550",
        "reason": "550 5.7.1 Unconfigured Sending Domain <elsewhere.test>",
        "timestamp": CREATED,
        "open_tracking": False,
    }
    assert first.items() >= expected.items()
    # Fields that it does not have (spec 2.11), because the message was never generated
    assert not first.keys() & {"subject", "msg_size", "scheduled_time"}
    assert (copy["rcpt_to"], copy["rcpt_type"]) == ("c@x.test", "bcc")
    assert copy["event_id"] != first["event_id"]
    assert copy["transmission_id"] == first["transmission_id"]


@pytest.mark.parametrize(
    ("content_type", "default", "options", "tracked", "pixel", "is_amp"),
    [
        ("text/html", None, {"open_tracking": True}, True, True, False),
        ("text/html", True, {}, True, True, False),
        ("text/html", True, {"open_tracking": False}, False, False, False),
        ("text/html", None, {}, False, False, False),
        ("text/plain", None, {"open_tracking": True}, True, False, False),
        ("text/x-amp-html", None, {"open_tracking": True}, True, True, True),
    ],
)
def test_a_policy_rejection_says_what_would_have_been_tracked(
    content_type: str,
    default: bool | None,
    options: dict[str, Any],
    tracked: bool,
    pixel: bool,
    is_amp: bool,
) -> None:
    choices = {"smtp_tracking_default": default}
    accounts.change(1, lambda account: replace(account, options=choices))
    message = f"From: a@elsewhere.test\r\nContent-Type: {content_type}\r\n\r\n<p>".encode()
    refused_message(message, options=options)
    (event,) = (e for each in queued("events") for e in stream.decode(queues.read(each)))
    assert (event["open_tracking"], event["initial_pixel"], event["amp_enabled"]) == (
        tracked,
        pixel,
        is_amp,
    )


def test_a_blocked_from_domain_is_refused_with_policy_rejections() -> None:
    compliance.block("example.test")
    assert refused_message() == (400, "7001")
    (event,) = (e for each in queued("events") for e in stream.decode(queues.read(each)))
    assert event["type"] == "policy_rejection"
    assert event["reason"] == "550 5.7.1 Blocked Sending Domain <mail.example.test>"


def test_other_refusals_make_no_policy_rejection() -> None:
    refused_message(options={"ip_pool": "nope"})
    assert queued("events") == []


@pytest.mark.spec("5-r7")
def test_a_subaccount_sends_from_its_own_domain() -> None:
    number = make_subaccount().id
    domains.create(domain("sub.test", subaccount_id=number))
    with pytest.raises(ServiceError, match="Unconfigured"):
        send(sub=number)
    send(MESSAGE.replace(b"mail.example.test", b"sub.test"), sub=number)
    assert only_chunk().transmission.subaccount_id == number


@pytest.mark.cost
def test_a_limit_refuses_the_whole_message() -> None:
    limit(daily=3)
    send(MESSAGE, "a@x.test")
    assert len(queued_work()) == 1
    with aws_requests() as requests, pytest.raises(ServiceError) as refusal:
        send(MESSAGE, "a@x.test", "b@x.test", "c@x.test")
    assert refusal.value.status == 420
    assert [each.operation for each in requests] == ["BatchGetItem"]
    assert queued_work() == []


@pytest.mark.cost
def test_a_message_costs_three_requests() -> None:
    queues.send("small-sends", [queues.Work({})])  # finds the queue's address
    with aws_requests() as requests:
        send()
    assert [each.operation for each in requests] == [
        "BatchGetItem",
        "PutItem",
        "SendMessage",
    ]
