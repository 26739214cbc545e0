from __future__ import annotations

import pytest

from chalicelib.core import clock, dynamo
from chalicelib.core.dynamo import Key, TransactionFailed
from chalicelib.core.settings import settings
from chalicelib.recording import ledger
from chalicelib.recording.ledger import BLOCK, MOST_KNOWN, Ledger, begins_block, key_of
from tests.fake_cloud import aws_requests
from tests.unit.metrics.examples import mail

pytestmark = pytest.mark.usefixtures("cloud")


def stored(key: Key) -> Ledger:
    return ledger.read([key])[key]


def write(found: Ledger) -> None:
    dynamo.transact([found.write()])


def test_a_hundred_recipients_of_a_transmission_share_a_ledger() -> None:
    transmission = str(10**17 + 1)
    keys = [key_of(mail(1, index).event("open", 0)) for index in range(2 * BLOCK)]
    assert set(keys[:BLOCK]) == {(f"transmission#{transmission}", "ledger#00000000")}
    assert set(keys[BLOCK:]) == {(f"transmission#{transmission}", "ledger#00000001")}


def test_an_event_without_a_message_belongs_to_its_recipients_block() -> None:
    failure = mail(1, 250, generated=False).event("generation_failure", 0)
    assert "message_id" not in failure
    assert key_of(failure) == key_of(mail(1, 250).event("open", 0))


def test_messages_made_elsewhere_have_ledgers_by_account() -> None:
    foreign = {"customer_id": "7", "transmission_id": "9", "type": "open", "event_id": "1"}
    for name in ("<a@b>", "", "f" * 24):
        pk, sk = key_of({**foreign, "message_id": name})
        assert pk == "messages#7"
        assert sk.startswith("ledger#")
    pk, _ = key_of({"customer_id": "7", "type": "ab_test_completed", "event_id": "1"})
    assert pk == "messages#7"


def test_what_was_noted_is_known_after_it_was_stored() -> None:
    event, other = mail(1).event("open", 0, "a"), mail(1).event("open", 0, "b")
    found = stored(key_of(event))
    assert not found.knows(event)
    found.note(event, [])
    write(found)
    again = stored(key_of(event))
    assert again.knows(event)
    assert not again.knows(other)


def test_each_mark_is_new_once_for_each_message() -> None:
    first, second = mail(1, 0), mail(1, 1)
    found = stored(key_of(first.event("open", 0)))
    assert found.note(first.event("open", 0, "a"), ["uo", "uc"]) == ["uo", "uc"]
    assert found.note(second.event("open", 0), ["uo"]) == ["uo"]
    write(found)
    again = stored(found.key)
    assert again.note(first.event("open", 0, "b"), ["uo", "uc", "uk"]) == ["uk"]
    assert again.note(second.event("open", 0, "b"), ["uo"]) == []


def test_a_ledger_that_changed_meanwhile_is_not_overwritten() -> None:
    event = mail(1).event("open", 0)
    for _ in range(2):
        mine, theirs = stored(key_of(event)), stored(key_of(event))
        write(theirs)
        with pytest.raises(TransactionFailed):
            write(mine)


def test_a_full_ledger_forgets_the_oldest() -> None:
    letter = mail(1)
    found = stored(key_of(letter.event("open", 0)))
    events = [letter.event("open", 0, str(n)) for n in range(MOST_KNOWN + 10)]
    for event in events:
        found.note(event, [])
    write(found)
    again = stored(found.key)
    assert [again.knows(event) for event in events[:11]] == [False] * 10 + [True]
    assert again.knows(events[-1])


def test_a_ledger_of_many_messages_made_elsewhere_forgets_the_oldest() -> None:
    found = stored(("messages#1", "ledger#0001"))
    names = [f"<{n}@elsewhere>" for n in range(MOST_KNOWN + 10)]
    opens = [{"customer_id": "1", "event_id": name, "message_id": name} for name in names]
    for event in opens:
        assert found.note(event, ["uo"]) == ["uo"]
    write(found)
    again = stored(found.key)
    assert again.note(opens[-1], ["uo"]) == []
    assert again.note(opens[0], ["uo"]) == ["uo"]


def test_a_ledger_of_a_hundred_delivered_messages_is_small() -> None:
    found = stored(key_of(mail(1).event("open", 0)))
    for index in range(BLOCK):
        for kind in ("injection", "delivery"):
            found.note(mail(1, index).event(kind, 0), [])
    assert len(found.write().arguments["Item"]["known"]["B"]) == 2 * BLOCK * 6


def test_a_ledger_lasts_as_long_as_what_is_kept_of_messages() -> None:
    with clock.use(lambda: 1000.0):
        item = stored(key_of(mail(1).event("open", 0))).write().arguments["Item"]
    assert int(item["expires"]["N"]) == 1000 + settings().messages_retention


def test_a_hundred_ledgers_are_one_request() -> None:
    keys = [key_of(mail(1, index * BLOCK).event("open", 0)) for index in range(100)]
    with aws_requests() as made:
        assert len(ledger.read([*keys, *keys])) == 100
    assert [each.operation for each in made] == ["BatchGetItem"]


def test_a_block_begins_with_the_first_event_of_its_first_recipient() -> None:
    assert begins_block(mail(1, 0).event("injection", 0))
    assert begins_block(mail(1, 300).event("injection", 0))
    assert begins_block(mail(1, 0, generated=False).event("generation_failure", 0))
    assert not begins_block(mail(1, 1).event("injection", 0))
    assert not begins_block(mail(1, 0).event("delivery", 0))
    assert not begins_block({"customer_id": "1", "type": "injection", "event_id": "1"})
