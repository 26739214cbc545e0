from __future__ import annotations

import hashlib

import pytest

from chalicelib.core import clock, dynamo
from chalicelib.core.dynamo import Key, TransactionFailed
from chalicelib.core.settings import settings
from chalicelib.metrics.model import RAW_CLICK, UNIQUE_CLICK, UNIQUE_OPEN
from chalicelib.recording import store
from chalicelib.recording.deduplication import (
    BLOCK,
    MOST_EVENTS,
    MOST_MARKS,
    DeduplicationRecord,
    begins_block,
)
from chalicelib.recording.store import key_of
from tests.fake_cloud import aws_requests
from tests.unit.metrics.examples import mail

pytestmark = pytest.mark.usefixtures("cloud")


def read_record(key: Key) -> DeduplicationRecord:
    return store.read([key])[key]


def write(record: DeduplicationRecord) -> None:
    dynamo.transact([store.write(record)])


def test_a_hundred_recipients_of_a_transmission_share_a_record() -> None:
    transmission = str(10**17 + 1)
    keys = [key_of(mail(1, index).event("open", 0)) for index in range(2 * BLOCK)]
    assert set(keys[:BLOCK]) == {(f"transmission#{transmission}", "ledger#00000000")}
    assert set(keys[BLOCK:]) == {(f"transmission#{transmission}", "ledger#00000001")}


def test_an_event_without_a_message_belongs_to_its_recipients_block() -> None:
    failure = mail(1, 250, generated=False).event("generation_failure", 0)
    assert "message_id" not in failure
    assert key_of(failure) == key_of(mail(1, 250).event("open", 0))


def test_messages_from_outside_have_a_record_each() -> None:
    foreign = {"customer_id": "7", "transmission_id": "9", "type": "open"}
    keys = {
        key_of({**foreign, "event_id": f"{number}", "message_id": name})
        for name in ("<a@b>", "<b@b>", "f" * 24)
        for number in (1, 2)
    }
    assert len(keys) == 3
    assert all(pk.startswith("messages#7#") and sk == "ledger" for pk, sk in keys)
    other = key_of({**foreign, "customer_id": "8", "event_id": "1", "message_id": "<a@b>"})
    assert other not in keys


def test_events_without_a_message_have_a_record_each() -> None:
    about = {"customer_id": "7", "type": "ab_test_completed"}
    one, other = (key_of({**about, "event_id": name}) for name in "ab")
    assert one != other
    assert one[0].startswith("messages#7#")


def test_an_added_event_is_known_after_the_record_is_stored() -> None:
    event, other = mail(1).event("open", 0, "a"), mail(1).event("open", 0, "b")
    record = read_record(key_of(event))
    assert not record.knows(event)
    record.add(event, [])
    write(record)
    again = read_record(key_of(event))
    assert again.knows(event)
    assert not again.knows(other)


def test_each_mark_is_new_once_for_each_message() -> None:
    first, second = mail(1, 0), mail(1, 1)
    record = read_record(key_of(first.event("open", 0)))
    assert record.add(first.event("open", 0, "a"), ["uo", "uc"]) == ["uo", "uc"]
    assert record.add(second.event("open", 0), ["uo"]) == ["uo"]
    write(record)
    again = read_record(record.key)
    assert again.add(first.event("open", 0, "b"), ["uo", "uc", "uk"]) == ["uk"]
    assert again.add(second.event("open", 0, "b"), ["uo"]) == []


def test_a_record_keeps_how_each_message_left() -> None:
    record = read_record(key_of(mail(1).event("open", 0)))
    routes = [{"sending_ip": "192.0.2.1", "ip_pool": "a"}, {"ip_pool": "a"}, {}]
    for index, route in enumerate(routes * 33):
        record.add({**mail(1, index).event("delivery", 0), "ip_pool": "", **route}, [])
    record.add(mail(1, 99).event("bounce", 0), [])
    write(record)
    again = read_record(record.key)
    open_events = [mail(1, index).event("open", 0) for index in range(100)]
    expected = [{"ip_pool": "", **route} for route in routes * 33]
    assert [again.route_of(event) for event in open_events] == [*expected, {}]


def test_a_record_that_changed_meanwhile_is_not_overwritten() -> None:
    event = mail(1).event("open", 0)
    for _ in range(2):
        own, theirs = read_record(key_of(event)), read_record(key_of(event))
        write(theirs)
        with pytest.raises(TransactionFailed):
            write(own)


def test_a_full_record_forgets_the_oldest() -> None:
    message = mail(1)
    record = read_record(key_of(message.event("open", 0)))
    events = [message.event("open", 0, str(n)) for n in range(MOST_EVENTS + 10)]
    for event in events:
        record.add(event, [])
    write(record)
    again = read_record(record.key)
    assert [again.knows(event) for event in events[:11]] == [False] * 10 + [True]
    assert again.knows(events[-1])


def test_a_record_fits_an_item_however_many_links_are_clicked() -> None:
    record = read_record(key_of(mail(1).event("open", 0)))
    for index in range(BLOCK):
        click = mail(1, index).event("click", 0)
        for number in range(1_000):
            link = hashlib.sha256(f"{index} {number}".encode()).hexdigest()[:8]
            record.add(click, [UNIQUE_CLICK, RAW_CLICK + link])
    dynamo.transact([store.write(record)])
    marks = store.write(read_record(record.key)).arguments["Item"]["marks"]["B"]
    assert len(marks) < 150_000


def test_of_very_many_links_only_the_first_ones_are_counted() -> None:
    message = mail(1)
    record = read_record(key_of(message.event("open", 0)))
    new = [
        record.add(message.event("click", 0, str(number)), [UNIQUE_CLICK, f"{RAW_CLICK}{number}"])
        for number in range(MOST_MARKS + 5)
    ]
    links = [f"{RAW_CLICK}{number}" for number in range(MOST_MARKS - 1)]
    assert new == [[UNIQUE_CLICK, links[0]], *([link] for link in links[1:]), *[[]] * 6]
    assert record.add(message.event("open", 0), [UNIQUE_OPEN]) == [UNIQUE_OPEN]


def test_a_record_of_a_hundred_delivered_messages_is_small() -> None:
    record = read_record(key_of(mail(1).event("open", 0)))
    for index in range(BLOCK):
        for kind in ("injection", "delivery"):
            record.add(mail(1, index).event(kind, 0), [])
    item = store.write(record).arguments["Item"]
    assert len(item["known"]["B"]) == 2 * BLOCK * 6
    assert len(item["routes"]["B"]) < 300


def test_a_record_lasts_as_long_as_message_contexts() -> None:
    with clock.use(lambda: 1000.0):
        item = store.write(read_record(key_of(mail(1).event("open", 0)))).arguments["Item"]
    assert int(item["expires"]["N"]) == 1000 + settings().messages_retention


@pytest.mark.cost
def test_a_hundred_records_are_one_request() -> None:
    keys = [key_of(mail(1, index * BLOCK).event("open", 0)) for index in range(100)]
    with aws_requests() as requests:
        assert len(store.read([*keys, *keys])) == 100
    assert [each.operation for each in requests] == ["BatchGetItem"]


def test_a_block_begins_with_the_first_event_of_its_first_recipient() -> None:
    assert begins_block(mail(1, 0).event("injection", 0))
    assert begins_block(mail(1, 300).event("injection", 0))
    assert begins_block(mail(1, 0, generated=False).event("generation_failure", 0))
    assert not begins_block(mail(1, 1).event("injection", 0))
    assert not begins_block(mail(1, 0).event("delivery", 0))
    assert not begins_block({"customer_id": "1", "type": "injection", "event_id": "1"})
