"""Generating a chunk reads all the items that it needs in few requests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from chalicelib.core import config_cache
from chalicelib.delivery.store.work_units import WorkUnit
from chalicelib.fleet import store as fleets
from chalicelib.generation.chunk import (
    Chunk,
    ChunkGenerator,
    Lookups,
    generate_chunk,
    look_ahead,
)
from chalicelib.sending_domains import store as domains
from chalicelib.sending_domains.model import DomainStatus
from chalicelib.suppression import service as suppression
from tests.fake_cloud import aws_requests
from tests.unit.generation.examples import INJECTED, NAME, make_sender
from tests.unit.suppression.examples import entry
from tests.unit.tracking_domains.examples import store_tracking_domain
from tests.unit.transmissions.examples import body, make_transmission, recipients, records

RAW = b"From: Ann <a@mail.example.test>\r\n\r\nx"


@pytest.fixture(autouse=True)
def _sender(cloud: None) -> None:
    make_sender()


def chunk(count: int = 3, **fields: Any) -> Chunk:
    transmission = make_transmission(**fields)
    return Chunk(WorkUnit(transmission.id, "0"), transmission, 0, records(recipients(count)))


def operations(result: Chunk) -> list[str]:
    with aws_requests() as requests:
        generate_chunk(result, INJECTED)
    return [each.operation for each in requests]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"content": body()["content"] | {"from": {"email": f"a@{NAME}", "name": "{{n}}"}}},
        {"content": body()["content"] | {"from": "{{a}}"}, "override": {"from": f"a@{NAME}"}},
        {"content": {}, "raw": RAW},
        {"content": {}, "raw": RAW, "substitute": True},
        {"subaccount_id": None, "defaults": {}},
    ],
)
def test_all_foreseeable_items_are_read_in_one_request(fields: Any) -> None:
    assert operations(chunk(**fields)) == ["BatchGetItem"]


def test_a_hundred_recipients_take_two_requests() -> None:
    assert operations(chunk(100)) == ["BatchGetItem"] * 2


def test_a_from_that_a_template_makes_is_looked_up_when_it_is_known() -> None:
    templated_chunk = chunk(
        content=body()["content"] | {"from": "a@{{d}}"}, substitution_data={"d": NAME}
    )
    assert operations(templated_chunk) == ["BatchGetItem"] * 2


def test_a_tracking_domain_takes_one_more_request() -> None:
    store_tracking_domain("account.test", default=True)
    html = body()["content"] | {"html": "<a href='https://a.example/'>x</a>"}
    assert operations(chunk(content=html)) == ["BatchGetItem"] * 2


def test_a_refused_transmission_reads_nothing() -> None:
    refusal = {"type": "bounce", "reason": "554 cancelled"}
    assert operations(chunk(refusal=refusal)) == []


def test_the_next_chunk_sees_changes() -> None:
    assert len(generate_chunk(chunk(), INJECTED).delivery_batch.messages) == 3
    suppression.put_all(1, None, [entry("r1@example.test")])
    assert len(generate_chunk(chunk(), INJECTED).delivery_batch.messages) == 2
    blocked = DomainStatus(ownership_verified=True, compliance_status="blocked")
    domains.change(NAME, lambda now: replace(now, status=blocked))
    generated_chunk = generate_chunk(chunk(), INJECTED)
    assert generated_chunk.delivery_batch.messages == []
    assert {event["type"] for event in generated_chunk.events} == {"generation_rejection"}


def test_items_that_delivery_needs_are_remembered() -> None:
    lookups = Lookups()
    look_ahead([ChunkGenerator(chunk(), INJECTED, lookups)], lookups)
    assert config_cache.missing_keys([fleets.key_of(1)]) == []


@pytest.mark.cost
def test_an_unusable_domain_makes_an_event_for_each_recipient() -> None:
    lookups = Lookups()
    templated_chunk = chunk(content=body()["content"] | {"from": "a@unknown.test"})
    chunk_generator = ChunkGenerator(templated_chunk, INJECTED, lookups)
    look_ahead([chunk_generator], lookups)
    with aws_requests() as requests:
        generated_chunk = chunk_generator.generate()
    assert len(generated_chunk.events) == 3
    assert all("Unconfigured" in event["reason"] for event in generated_chunk.events)
    assert requests == []
    assert chunk_generator.sending_domain == "unknown.test"
