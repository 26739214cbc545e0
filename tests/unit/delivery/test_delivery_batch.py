from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from chalicelib.core import queues
from chalicelib.core.queues import Received
from chalicelib.delivery import delivery_batch
from chalicelib.delivery.delivery_batch import DeliveryBatch, FinishedMessage
from chalicelib.delivery.store.work_units import WorkUnit
from tests.unit.delivery.examples import UNIT, batch_of

FIELDS = st.dictionaries(st.text(max_size=5), st.text(st.characters(), max_size=5), max_size=3)
MESSAGES = st.builds(
    FinishedMessage,
    index=st.integers(0, 2**31),
    sender=st.text(max_size=10),
    recipient=st.text(max_size=10),
    event=FIELDS,
    data=st.binary(max_size=50),
)
BATCHES = st.builds(
    DeliveryBatch,
    unit=st.builds(WorkUnit, st.from_regex(r"[0-9]{18}", fullmatch=True), st.sampled_from("0d")),
    attempt=st.integers(1, 99),
    injected_ms=st.integers(0, 2**43),
    event=FIELDS.map(lambda fields: fields | {"customer_id": "1"}),
    messages=st.lists(MESSAGES, max_size=4),
    failed=st.integers(0, 100),
    suppressed=st.integers(0, 100),
    counts_at_acceptance=st.booleans(),
)


def received(work: queues.Work) -> Received:
    """Return ``work`` as a consumer receives it."""
    return queues.read(queues._pack("delivery", work).body)


@given(BATCHES)
def test_a_batch_is_the_same_after_the_queue(batch: DeliveryBatch) -> None:
    message = received(delivery_batch.to_work(batch))
    assert delivery_batch.from_received(message) == batch
    assert delivery_batch.unit_of(message) == batch.unit
    assert delivery_batch.counts_of(message) == batch.counts


def test_the_unit_and_its_counts_are_read_without_the_payload() -> None:
    original = received(delivery_batch.to_work(replace(batch_of(2), failed=3)))
    message = Received(original.head, "not base64")
    assert delivery_batch.unit_of(message) == UNIT
    assert delivery_batch.counts_of(message) == (2, 3)


def test_a_batch_waits_for_its_time() -> None:
    assert delivery_batch.to_work(batch_of(1), delay=30.0).delay == 30.0
    assert delivery_batch.to_work(batch_of(1)).delay == 0.0


def test_the_events_of_a_message_carry_the_shared_fields_under_its_own() -> None:
    shared = DeliveryBatch(UNIT, 1, 0, {"a": "shared", "b": "shared"}, [])
    message = FinishedMessage(0, "", "", {"b": "own"}, b"")
    assert shared.event_base(message) == {"a": "shared", "b": "own"}
