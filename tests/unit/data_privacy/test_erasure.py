from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from chalicelib.core.message_event import Event
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.data_privacy.erasure import erase
from chalicelib.events import service as events
from chalicelib.events.model import Sender, make_event, recipient_fields
from chalicelib.events.positions import EventWindow
from chalicelib.received_mail import store as received_mail
from chalicelib.relaying import relay_events
from chalicelib.tracking.store import message_context
from tests.fake_cloud import stored_objects
from tests.unit.data_privacy.examples import send
from tests.unit.received_mail.examples import mail, octets_of, stored
from tests.unit.tracking.examples import NINE

pytestmark = pytest.mark.usefixtures("cloud")

ANN, BOB = "ann@x.test", "bob@x.test"


def contexts_of(message_ids: Sequence[str]) -> list[tuple[Any, ...]]:
    contexts = [context for each in message_ids if (context := message_context.of_message(each))]
    names = ("rcpt_to", "rcpt_meta", "rcpt_tags", "subject")
    return [tuple(context.fields[name] for name in names) for context in contexts]


@pytest.mark.parametrize(("inline", "objects"), [("8000", 0), ("100", 1)])
def test_message_contexts_forget_the_recipient(
    inline: str, objects: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ITEM_INLINE_BYTES", inline)
    settings.cache_clear()
    message_ids = send("Ann@X.test", BOB)
    erase(Scope(1, 0), ANN)
    assert contexts_of(message_ids) == [
        (ANN, {}, [], ""),
        (BOB, {"name": BOB}, [BOB], f"Dear {BOB}"),
    ]
    assert events.messages_to(Scope(1, 0), ANN) == set()
    erase(Scope(1, 0), ANN)
    assert len(stored_objects()) == objects


def test_the_context_of_a_single_message_keeps_only_the_address() -> None:
    message_ids = send(ANN)
    erase(Scope(1, 0), ANN)
    assert contexts_of(message_ids) == [(ANN, {}, [], "")]


def test_messages_of_another_account_stay_whatever_an_event_says() -> None:
    (of_another,) = send(ANN, account=2)
    sender = Sender(1, None, "other", "rest").fields()
    for message_id in (of_another, "made elsewhere"):
        event = sender | recipient_fields(ANN, metadata={}, tags=[]) | {"message_id": message_id}
        events.put_all([make_event("delivery", event, NINE)])
    erase(Scope(1, 0), ANN)
    assert contexts_of([of_another]) == [(ANN, {"name": ANN}, [ANN], f"Dear {ANN}")]


def test_a_context_that_changed_meanwhile_is_forgotten_too(monkeypatch: pytest.MonkeyPatch) -> None:
    message_ids = send(ANN, BOB)
    encode = message_context._encode

    def interfering(messages: list[tuple[int, Event]]) -> bytes:
        monkeypatch.setattr(message_context, "_encode", encode)
        erase(Scope(1, 0), BOB)
        return encode(messages)

    monkeypatch.setattr(message_context, "_encode", interfering)
    erase(Scope(1, 0), ANN)
    assert contexts_of(message_ids) == [(ANN, {}, [], ""), (BOB, {}, [], "")]


def test_a_recipient_is_erased_however_the_domain_was_typed() -> None:
    message_ids = send("ann@bücher.test", "ann@BU\u0308CHER.test")
    erase(Scope(1, 0), "Ann@xn--bcher-kva.test")
    assert contexts_of(message_ids) == [("ann@xn--bcher-kva.test", {}, [], "")] * 2


def test_events_are_erased_under_the_spelling_of_version_0_1_0() -> None:
    typed = "ann@bücher.test"
    old = Sender(1, None, "other", "rest").fields() | recipient_fields(ANN, metadata={}, tags=[])
    old |= {"rcpt_to": typed, "message_id": "made elsewhere"}
    events.put_all([make_event("delivery", old, NINE)])
    assert erase(Scope(1, 0), "ann@xn--bcher-kva.test") == 1


def test_mail_from_and_to_the_recipient_is_deleted() -> None:
    to_ann, from_ann = stored(1, rcpt_to="Ann@X.test"), stored(2, mail_from=ANN)
    by_ann = stored(3, octets_of(mail(From="Ann <ann@x.test>")), mail_from="")
    others = stored(4), stored(5, mail_from=ANN, subaccount_id=3)
    assert erase(Scope(1, 0), ANN) == 3
    assert [received_mail.get(1, each.id) for each in (to_ann, from_ann, by_ann)] == [None] * 3
    assert all(received_mail.get(1, each.id) for each in others)


def test_events_of_mail_from_the_recipient_are_deleted() -> None:
    from_ann, from_bob = stored(1, mail_from=ANN), stored(2, mail_from=BOB)
    events.put_all([relay_events.injection(each) for each in (from_ann, from_bob)])
    failure = relay_events.attempt(
        "relay_tempfail", relay_events.fields_of(from_ann), from_ann.received_ms, 0, "503"
    )
    events.put_all([failure])
    assert erase(Scope(1, 0), ANN) == 3
    window = EventWindow(0, from_bob.received_ms + 1)
    rest = [event for _, event in events.newest_first(1, window)]
    assert [event["msg_from"] for event in rest] == [BOB]
