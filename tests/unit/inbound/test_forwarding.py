"""A message that is forwarded is a new one of the domain's owner, which is sent once."""

from __future__ import annotations

import email
import email.policy
from email.message import EmailMessage
from typing import Any

import pytest

from chalicelib.core import queues
from chalicelib.core.spool import Spool
from chalicelib.generation.chunk import Chunk
from chalicelib.generation.worker import read_chunk
from chalicelib.inbound.forwarding import NotForwarded, forward
from chalicelib.received_mail.model import ReceivedMessage
from chalicelib.sending_domains import store as domains
from chalicelib.sending_domains.model import DomainStatus
from chalicelib.transmissions.store import transmissions
from tests.fake_cloud import queued_work
from tests.unit.inbound.received import AT_MS, raw
from tests.unit.moving_clock import Clock
from tests.unit.people import limit, make_account, make_subaccount
from tests.unit.sending_domains.examples import domain

pytestmark = pytest.mark.usefixtures("cloud", "time")


NAME = "in.example.test"


@pytest.fixture(autouse=True)
def _account(cloud: None) -> None:
    make_account()


def message(**fields: Any) -> ReceivedMessage:
    usual: dict[str, Any] = {
        "id": f"{AT_MS:012x}{'a' * 14}",
        "account_id": 1,
        "subaccount_id": None,
        "domain": NAME,
        "received_ms": AT_MS,
        "rcpt_to": f"help+7@{NAME}",
        "mail_from": "ann@inbox.test",
        "peer_ip": "192.0.2.1",
        "helo": "mx.inbox.test",
        "tls": "",
        "size": 10,
        "action": "forward",
        "forward_to": "desk@inbox.test",
    }
    return ReceivedMessage(**usual | fields)


def chunks() -> list[Chunk]:
    return [read_chunk(queues.read(each)) for each in queued_work()]


def forwarded(octets: bytes, **fields: Any) -> EmailMessage:
    """Return what is sent for a message."""
    forward(message(**fields), octets)
    (chunk,) = chunks()
    return email.message_from_bytes(chunk.transmission.raw, policy=email.policy.default)


def senders(octets: bytes = raw(), **fields: Any) -> str:
    (mailbox,) = forwarded(octets, **fields)["From"].addresses
    return mailbox.addr_spec


def test_it_is_sent_to_the_address_of_the_route_alone() -> None:
    domains.create(domain(NAME))
    transmission_id = forward(message(), raw(Cc="other@x.test"))
    (chunk,) = chunks()
    transmission = chunk.transmission
    assert [each["email"] for each in chunk.recipients] == ["desk@inbox.test"]
    assert (transmission.id, transmission.account_id) == (transmission_id, 1)
    assert transmission.return_path == ""
    options = transmission.options
    assert (options["open_tracking"], options["click_tracking"]) == (False, False)
    assert options["transactional"] is True


def test_the_author_is_in_the_name_of_from_and_in_reply_to() -> None:
    domains.create(domain(NAME))
    mail = forwarded(raw(Sender="x@y.test"))
    (author,) = mail["From"].addresses
    assert (author.display_name, author.addr_spec) == (f"Ann Lee via {NAME}", f"help@{NAME}")
    assert [each.addr_spec for each in mail["Reply-To"].addresses] == ["ann@inbox.test"]
    assert (mail["Subject"], mail["To"], mail["Sender"]) == ("Re: Order", "help@in.test", None)
    assert mail.get_content() == "Yes, please.\r\n"


@pytest.mark.parametrize(
    ("fields", "name", "reply_to"),
    [
        ({"From": "ann@inbox.test"}, f"ann@inbox.test via {NAME}", ["ann@inbox.test"]),
        ({"From": "=?utf-8?q?A=0AB=0D=0AC?= <a@x.test>"}, f"A B C via {NAME}", ["a@x.test"]),
        ({"From": "=?utf-8?q?Z=C3=B6e?= <z@x.test>"}, f"Zöe via {NAME}", ["z@x.test"]),
        ({"Reply_To": "a@x.test, B <b@x.test>"}, f"Ann Lee via {NAME}", ["a@x.test", "b@x.test"]),
        ({"Reply_To": "nonsense"}, f"Ann Lee via {NAME}", ["ann@inbox.test"]),
        ({"From": "nonsense"}, f"Unknown sender via {NAME}", []),
        ({"From": ""}, f"Unknown sender via {NAME}", []),
        ({"From": f"{'Ann ' * 200} <a@x.test>"}, f"{'Ann ' * 50}via {NAME}", ["a@x.test"]),
    ],
)
def test_a_from_of_any_form_is_forwarded(
    fields: dict[str, str], name: str, reply_to: list[str]
) -> None:
    domains.create(domain(NAME))
    mail = forwarded(raw(**fields))
    # The standard library has blanks between encoded words
    shown_name = mail["From"].addresses[0].display_name
    assert shown_name.replace(" ", "") == name.replace(" ", "")
    answers = mail["Reply-To"].addresses if mail["Reply-To"] else ()
    assert [each.addr_spec for each in answers] == reply_to


def test_what_was_true_before_only_is_left_out_and_the_trace_stays() -> None:
    domains.create(domain(NAME))
    mail = forwarded(
        raw(
            Received="from x by y; Sat, 31 Jan 2026 09:00:00 +0000",
            DKIM_Signature="v=1; a=rsa-sha256",
            Authentication_Results="us.test; dmarc=pass",
            Return_Path="<ann@inbox.test>",
            X_SVC_Report_ID="b.x",
            Auto_Submitted="auto-generated",
            List_Id="<news.x.test>",
        )
    )
    for name in ("DKIM-Signature", "Authentication-Results", "Return-Path", "X-SVC-Report-ID"):
        assert name not in mail
    assert len(mail.get_all("Received")) == 2
    assert (mail["Auto-Submitted"], mail["List-Id"]) == ("auto-generated", "<news.x.test>")


@pytest.mark.parametrize(
    "octets",
    [
        b"no header at all",
        b"",
        b"From ann Sat Jan 31\r\nFrom: <ann@inbox.test>\r\nbad line\r\n: x\r\n\r\nHi",
        b"Subject: a\nFrom: a@b.test\n\nbare\nline ends\n",
        b"Subject: \xff\xfe\r\nX: \0\r\n\r\n\xff\0" + b"x" * 3000 + b"\r\n.\r\n",
    ],
)
def test_malformed_mail_is_forwarded_in_good_form(octets: bytes) -> None:
    domains.create(domain(NAME))
    mail = forwarded(octets)
    assert mail["From"].addresses[0].addr_spec == f"help@{NAME}"
    assert len(mail.get_all("From")) == 1


def test_a_large_message_is_read_through_its_mapping() -> None:
    domains.create(domain(NAME))
    with Spool(most_in_memory=1) as spool:
        spool.write(raw("x\r\n" * 100_000))
        mail = forwarded(spool.octets())  # type: ignore[arg-type]
    assert mail.get_content() == "x\r\n" * 100_000


def test_from_is_at_the_recipients_domain_or_one_above_or_any_other_of_the_owner() -> None:
    domains.create(domain("zzz.test"))
    assert senders() == "forwarded@zzz.test"
    domains.create(domain("example.test"))
    assert senders() == "forwarded@example.test"
    domains.create(domain(NAME))
    assert senders(rcpt_to=f'"a b"@{NAME}') == f'"a b"@{NAME}'
    assert senders(rcpt_to=f'"a+b"@{NAME}') == f"forwarded@{NAME}"


def test_the_domain_of_a_subaccount_needs_a_sending_domain_of_its_own() -> None:
    subaccount = make_subaccount()
    domains.create(domain("example.test"))
    owner = {"subaccount_id": subaccount.id}
    with pytest.raises(NotForwarded, match=r"^550 .* no verified sending domain"):
        forward(message(**owner), raw())
    domains.create(domain("sub.test", subaccount_id=subaccount.id))
    assert senders(**owner) == "forwarded@sub.test"


def test_without_a_verified_domain_nothing_is_forwarded() -> None:
    make_account(2)
    domains.create(domain(NAME, status=DomainStatus()))
    domains.create(domain("theirs.test", 2))
    with pytest.raises(NotForwarded, match="no verified sending domain"):
        forward(message(), raw())
    assert chunks() == []


def test_a_message_with_a_virus_is_not_forwarded() -> None:
    domains.create(domain(NAME))
    with pytest.raises(NotForwarded, match="virus"):
        forward(message(verdicts={"virus": {"is_infected": True}}), raw())
    senders(verdicts={"virus": {"is_infected": False}})
    senders(verdicts={"virus": None})


def test_limits_of_the_plan_count_but_not_for_a_repetition() -> None:
    limit(hourly=1)
    domains.create(domain(NAME))
    assert forward(message(), raw()) == forward(message(), raw())
    assert len({chunk.unit for chunk in chunks()}) == 1
    with pytest.raises(NotForwarded, match=r"^550 "):
        forward(message(id=f"{AT_MS:012x}{'b' * 14}"), raw())
    assert len(list(transmissions.in_account(1))) <= 1


def test_a_message_that_is_forwarded_later_again_has_the_same_id(time: Clock) -> None:
    domains.create(domain(NAME))
    first = forward(message(), raw())
    time.now += 3600
    assert forward(message(), raw()) == first
    assert forward(message(id=f"{AT_MS:012x}{'b' * 14}"), raw()) != first
