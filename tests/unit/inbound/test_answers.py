"""An answer is matched with the message of ours that it answers, and with no other."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.inbound.answers import Answers
from chalicelib.inbound_domains import reply_address
from chalicelib.received_mail import parsing
from chalicelib.received_mail.model import InReplyTo
from tests.fake_cloud import aws_requests
from tests.unit.inbound.examples import INJECTED_MS, MESSAGE, TRANSMISSION, store_context
from tests.unit.inbound.received import raw, recipient
from tests.unit.inbound.samples import RCPT
from tests.unit.moving_clock import Clock

pytestmark = pytest.mark.usefixtures("cloud", "time")

ANSWERED = {"transmission_id": TRANSMISSION, "message_id": MESSAGE, "rcpt_to": RCPT.lower()}
MESSAGE_ID = f"<{MESSAGE}@example.test>"


@pytest.fixture(autouse=True)
def _message(cloud: None) -> None:
    store_context(friendly_from="shop@example.test")


def reply_to(tag: str = "") -> str:
    return f"{reply_address.local_part(MESSAGE, INJECTED_MS)}{tag}@in.test"


def answer(
    address: str = "help@in.test", of: dict[str, Any] | None = None, **fields: str
) -> InReplyTo | None:
    return Answers(parsing.read(raw(**fields))).of(recipient(address, **(of or {})))


@pytest.mark.parametrize("address", [reply_to(), reply_to("+a"), reply_to().upper()])
def test_the_signed_address_names_the_message_without_headers(address: str) -> None:
    assert answer(address) == ANSWERED


@pytest.mark.parametrize(
    "fields",
    [
        {"In_Reply_To": MESSAGE_ID},
        {"In_Reply_To": f"{MESSAGE_ID} (Ann's message)"},
        {"References": f"<other@x.test> {MESSAGE_ID}"},
        {"In_Reply_To": "<x@y.test>", "References": f"{MESSAGE_ID}\r\n <other@x.test>"},
        {"In_Reply_To": f"<{MESSAGE}@EXAMPLE.test>"},
    ],
)
def test_headers_name_the_message(fields: dict[str, str]) -> None:
    assert answer(**fields) == ANSWERED


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"In_Reply_To": f"<{MESSAGE}@other.test>"},
        {"In_Reply_To": f"<{MESSAGE}>"},
        {"In_Reply_To": f"<{MESSAGE[:-1]}9@example.test>"},
        {"In_Reply_To": f"<x{MESSAGE}@example.test>"},
        {"Subject": f"Re: {MESSAGE_ID}"},
    ],
)
def test_other_headers_name_no_message(fields: dict[str, str]) -> None:
    assert answer(**fields) is None


@pytest.mark.parametrize("owner", [{"account_id": 2}, {"subaccount_id": 8}])
def test_messages_of_others_do_not_count(owner: dict[str, Any]) -> None:
    assert answer(reply_to(), owner) is None
    assert answer(of=owner, In_Reply_To=MESSAGE_ID) is None


def test_the_domain_of_a_subaccount_gets_the_answers_to_its_own_mail() -> None:
    assert answer(reply_to(), {"subaccount_id": 7}) == ANSWERED


def test_an_address_that_is_over_names_nothing(time: Clock) -> None:
    address = reply_to()
    time.now += 61 * 86_400
    assert answer(address) is None


def test_a_message_of_which_nothing_is_known_is_none_of_ours() -> None:
    unknown = "0" * 24
    local_part = reply_address.local_part(unknown, INJECTED_MS)
    assert answer(f"{local_part}@in.test") is None


@pytest.mark.cost
def test_mail_that_answers_nothing_costs_no_request_and_a_stranger_costs_few() -> None:
    with aws_requests() as requests:
        answer(In_Reply_To="<a@b.test>", References="<c@d.test> <e@f.test>")
    assert requests == []
    references = " ".join(f"<{n:024x}@example.test>" for n in range(40))
    answers = Answers(parsing.read(raw(References=references)))
    with aws_requests() as requests:
        for index in range(20):
            answers.of(recipient(index=index))
    assert len(requests) <= 3
