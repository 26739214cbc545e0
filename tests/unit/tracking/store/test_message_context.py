from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core import ids
from chalicelib.core.dynamo import Table
from chalicelib.core.message_event import Event
from chalicelib.core.settings import settings
from chalicelib.events.model import Sender, recipient_fields
from chalicelib.sending_domains import return_path
from chalicelib.tracking.store import message_context
from chalicelib.tracking.store.message_context import Context
from tests.fake_cloud import aws_requests, stored_objects
from tests.unit.tracking.examples import NINE, TRANSMISSION

pytestmark = pytest.mark.usefixtures("cloud")

UNIT = "7"
SHARED = Sender(1, 7, TRANSMISSION, "rest", campaign_id="spring").fields()


def own(index: int, **more: Any) -> Event:
    message_id = ids.message_id(TRANSMISSION, index)
    return {
        **recipient_fields(f"Ann{index}@example.test", metadata={"n": index}, tags=["t"]),
        "message_id": message_id,
        "subject": f"Grüße \ud83d {index}",
        "msg_from": f"{return_path.local_part(message_id, NINE)}@bounces.example.test",
        "msg_size": str(20_000 + index % 7),
        **more,
    }


def keep(first: int, messages: list[tuple[int, Event]]) -> None:
    """Store the message context of a work unit, as generation does when it begins the unit."""
    item = message_context.item_of(TRANSMISSION, first, SHARED, messages, UNIT)
    Table("messages").put(item or {})


def put(first: int, count: int, **more: Any) -> None:
    messages = [(i, own(i, **more)) for i in range(first, first + count)]
    keep(first, messages)


def context(first: int, fields: Event) -> Context:
    return Context({**SHARED, **fields}, first, UNIT)


def message_id(index: int) -> str:
    return ids.message_id(TRANSMISSION, index)


def test_a_unit_without_messages_needs_no_item() -> None:
    assert message_context.item_of(TRANSMISSION, 0, SHARED, []) is None


def test_a_message_context_is_read_back_complete() -> None:
    put(100, 100)
    contexts = message_context.of_messages([(message_id(150), 100), (message_id(199), 100)])
    assert contexts == {message_id(i): context(100, own(i)) for i in (150, 199)}


def test_fields_that_only_some_messages_have_stay_with_them() -> None:
    messages = [(0, own(0)), (1, own(1, rcpt_type="cc")), (5, own(5, rcpt_tags=[]))]
    keep(0, messages)
    contexts = message_context.of_messages([(message_id(i), 0) for i in (0, 1, 5)])
    assert contexts == {message_id(i): context(0, fields) for i, fields in messages}


@pytest.mark.cost
def test_a_unit_is_one_item_and_small() -> None:
    messages = [(i, own(i)) for i in range(100)]
    with aws_requests() as requests:
        item = message_context.item_of(TRANSMISSION, 0, SHARED, messages)
    assert requests == []
    assert item is not None
    assert len(item["data"]) < 4096
    assert item["sk"] == "facts#00000000"
    assert item["expires"] == NINE // 1000 + settings().messages_retention


def test_the_context_of_an_earlier_version_names_no_unit() -> None:
    item = message_context.item_of(TRANSMISSION, 0, SHARED, [(3, own(3))])
    assert "unit" not in (item or {})
    Table("messages").put(item or {})
    assert message_context.of_message(message_id(3)) == context(0, own(3))._replace(unit="")


def test_storing_a_unit_again_changes_nothing() -> None:
    put(0, 10)
    before = message_context.of_message(message_id(3))
    put(0, 10)
    assert message_context.of_message(message_id(3)) == before


@pytest.mark.cost
def test_the_messages_of_many_units_are_read_in_one_request() -> None:
    for first in range(0, 1000, 100):
        put(first, 100)
    refs = [(message_id(i), i // 100 * 100) for i in range(0, 1000, 7)]
    with aws_requests() as requests:
        contexts = message_context.of_messages(refs)
    assert [each.operation for each in requests] == ["BatchGetItem"]
    assert set(contexts) == {ref[0] for ref in refs}


def test_messages_without_a_stored_context_are_left_out() -> None:
    keep(0, [(0, own(0)), (2, own(2))])
    refs = [(message_id(i), 0) for i in range(4)] + [(message_id(100), 100)]
    assert set(message_context.of_messages(refs)) == {message_id(0), message_id(2)}
    assert message_context.of_messages([]) == {}


@pytest.mark.cost
@pytest.mark.parametrize("index", [0, 99, 100, 149])
def test_a_message_is_found_by_its_id_alone(index: int) -> None:
    put(0, 100)
    put(100, 50)
    with aws_requests() as requests:
        result = message_context.of_message(message_id(index))
    assert result == context(index // 100 * 100, own(index))
    assert [each.operation for each in requests] == ["Query"]


def test_a_message_without_a_context_is_not_found() -> None:
    assert message_context.of_message(message_id(0)) is None
    put(100, 50)
    assert message_context.of_message(message_id(99)) is None
    assert message_context.of_message(message_id(150)) is None
    assert message_context.of_message(ids.message_id("1", 120)) is None


def test_a_unit_with_much_metadata_goes_into_the_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ITEM_INLINE_BYTES", "1000")
    settings.cache_clear()
    put(0, 100)
    (name,) = stored_objects()
    assert name.startswith(f"transmissions/{TRANSMISSION}/facts/0-")
    assert message_context.of_message(message_id(42)) == context(0, own(42))
    assert set(message_context.of_messages([(message_id(42), 0)])) == {message_id(42)}


@pytest.mark.parametrize("size", [1, 30, 70, 100])
def test_a_message_is_in_the_context_of_its_unit_wherever_the_unit_begins(size: int) -> None:
    transmission = ids.transmission_id()
    units = range(0, 300, size)
    for first in units:
        messages = [(index, own(index)) for index in range(first, min(first + size, 300))]
        item = message_context.item_of(transmission, first, SHARED, messages)
        Table("messages").put(item or {})
    for index in (0, 99, 100, 104, 150, 199, 200, 299):
        result = message_context.of_message(ids.message_id(transmission, index))
        assert result is not None
        assert result.fields["rcpt_meta"] == {"n": index}
        assert result.first_index == index // size * size
    own_items = Table("messages").query_all("#pk = :pk", {"pk": f"transmission#{transmission}"})
    assert len(list(own_items)) == len([first for first in units if first < 100])
