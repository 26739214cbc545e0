"""Messages to suppressed recipients are held back."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.delivery.store.work_units import WorkUnit
from chalicelib.generation import suppression
from chalicelib.generation.chunk import Chunk, Lookups, generate_chunk
from chalicelib.sending_domains import store as domains
from chalicelib.suppression import service
from tests.fake_cloud import aws_requests
from tests.unit.generation.examples import INJECTED, signing
from tests.unit.people import make_account
from tests.unit.sending_domains.examples import domain
from tests.unit.suppression.examples import entry
from tests.unit.transmissions.examples import CREATED, OPTIONS, body, make_transmission

RAW = b"From: a@mail.example.test\r\nSubject: s\r\nList-ID:\r\n <%s>\r\n\r\nx\r\n"
TEMPLATED: dict[str, Any] = {"substitution_data": {"list": "News"}}


def suppress(*recipients: str, part: int | None = None, **fields: Any) -> None:
    service.put_all(1, part, [entry(each, **fields) for each in recipients])


def found(*emails: str, **fields: Any) -> set[str]:
    """Return which of these recipients get no message of a transmission."""
    chunk = chunk_of(*emails, **fields)
    generated_chunk = generate_chunk(chunk, INJECTED)
    return {each["email"] for each in chunk.recipients} - {
        each.recipient for each in generated_chunk.delivery_batch.messages
    }


def chunk_of(*emails: str, **fields: Any) -> Chunk:
    transmission = make_transmission(**fields)
    to = [{"email": each} for each in emails or ("a@x.test", "B@x.test", "c@x.test")]
    return Chunk(WorkUnit(transmission.id, "0"), transmission, 0, to)


@pytest.fixture(autouse=True)
def sender(cloud: None) -> None:
    make_account()
    assert domains.create(domain(dkim=signing(), shared_with_subaccounts=True))


@pytest.mark.spec("2.9-t2")
def test_an_entry_blocks_its_own_kind_of_message() -> None:
    suppress("a@x.test")
    suppress("b@x.test", type="transactional")
    assert found() == {"a@x.test"}
    assert found(options=OPTIONS | {"transactional": True}) == {"B@x.test"}


def test_each_subaccount_has_its_own_list() -> None:
    suppress("a@x.test")
    suppress("c@x.test", part=7)
    assert found(subaccount_id=7) == {"c@x.test"}
    assert found(subaccount_id=8) == set()


@pytest.mark.spec("2.9-t5")
@pytest.mark.parametrize(
    "fields",
    [
        {"override": {"list_id": "News"}},
        {"content": body()["content"] | {"headers": {"list-ID": "The news <news>"}}},
        {"content": body()["content"] | {"headers": {"List-Id": "news"}}},
        {"content": body()["content"] | {"headers": {"List-Id": "Nyh\xe9ter <news>"}}},
        {"content": body()["content"] | {"headers": {"List-Id": "<{{list}}>"}}, **TEMPLATED},
        {"content": {}, "raw": RAW % b"news"},
        {"content": {}, "raw": RAW % b"{{list}}", "substitute": True, **TEMPLATED},
    ],
)
def test_an_entry_of_a_mailing_list_blocks_messages_of_that_list(fields: Any) -> None:
    suppress("a@x.test", list_id="news")
    suppress("c@x.test", list_id="sports")
    suppress("b@x.test")
    assert found(**fields) == {"a@x.test", "B@x.test"}
    assert found() == {"B@x.test"}


def test_an_override_names_the_list_before_the_content_does() -> None:
    suppress("a@x.test", list_id="news")
    content = body()["content"] | {"headers": {"List-Id": "<news>"}}
    assert found(content=content, override={"list_id": "sports"}) == set()


def test_a_refused_transmission_looks_up_no_suppressions() -> None:
    chunk = chunk_of(refusal={"type": "bounce", "reason": "x"})
    assert suppression.keys_of(chunk.transmission, chunk.recipients) == []


def test_skipping_suppression_does_not_skip_compliance() -> None:
    suppress("a@x.test")
    suppress("b@x.test", list_id="news")
    service.impose_all(1, None, [entry("c@x.test", source="Compliance")])
    skipping = {"options": OPTIONS | {"skip_suppression": True}, "override": {"list_id": "news"}}
    assert found(override={"list_id": "news"}) == {"a@x.test", "B@x.test", "c@x.test"}
    assert found(**skipping) == {"c@x.test"}


@pytest.mark.cost
def test_a_chunk_with_repeated_addresses_costs_one_request() -> None:
    suppress("a@x.test")
    chunk = chunk_of(*["a@x.test", "A@x.test"] * 50)
    with aws_requests() as requests:
        holds = suppression.holds_of(chunk.transmission, chunk.recipients, Lookups().suppression)
    assert set(holds) == {"a@x.test", "A@x.test"}
    assert len(requests) == 1


def test_the_bounce_names_the_customer_s_policy() -> None:
    base = {"message_id": "m", "transmission_id": "t", "rcpt_to": "a@x.test"}
    event = suppression.bounce(base, CREATED)
    assert (event["type"], event["bounce_class"], event["error_code"]) == ("bounce", "25", "554")
    assert "customer policy" in event["reason"]
    assert (event["rcpt_to"], event["timestamp"], event["num_retries"]) == (
        "a@x.test",
        CREATED,
        "0",
    )
    assert suppression.bounce(base, CREATED) == event
