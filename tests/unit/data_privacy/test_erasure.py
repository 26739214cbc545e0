from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.data_privacy.erasure import erase
from chalicelib.events import service as events
from chalicelib.events.model import Event, Sender, make, recipient_fields
from chalicelib.tracking.store import message_context
from tests.fake_cloud import stored_objects
from tests.unit.data_privacy.examples import send
from tests.unit.tracking.examples import NINE

pytestmark = pytest.mark.usefixtures("cloud")

ANN, BOB = "ann@x.test", "bob@x.test"


def known(message_ids: Sequence[str]) -> list[tuple[Any, ...]]:
    found = [message_context.of_message(each) or {} for each in message_ids]
    return [(e["rcpt_to"], e["rcpt_meta"], e["rcpt_tags"], e["subject"]) for e in found]


@pytest.mark.parametrize(("inline", "objects"), [("8000", 0), ("100", 1)])
def test_what_is_known_of_messages_says_nothing_of_who_is_forgotten(
    inline: str, objects: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ITEM_INLINE_BYTES", inline)
    settings.cache_clear()
    sent = send("Ann@X.test", BOB)
    erase(Scope(1, 0), ANN)
    assert known(sent) == [(ANN, {}, [], ""), (BOB, {"name": BOB}, [BOB], f"Dear {BOB}")]
    assert events.messages_to(Scope(1, 0), ANN) == set()
    erase(Scope(1, 0), ANN)
    assert len(stored_objects()) == objects


def test_a_single_recipient_s_message_is_still_known_by_its_address() -> None:
    sent = send(ANN)
    erase(Scope(1, 0), ANN)
    assert known(sent) == [(ANN, {}, [], "")]


def test_messages_of_others_are_left_alone_whatever_an_event_says() -> None:
    (of_another,) = send(ANN, account=2)
    told = Sender(1, None, "other", "rest").fields()
    for message_id in (of_another, "made elsewhere"):
        about = told | recipient_fields(ANN, metadata={}, tags=[]) | {"message_id": message_id}
        events.put_all([make("delivery", about, NINE)])
    erase(Scope(1, 0), ANN)
    assert known([of_another]) == [(ANN, {"name": ANN}, [ANN], f"Dear {ANN}")]


def test_what_is_changed_meanwhile_is_forgotten_too(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = send(ANN, BOB)
    encode = message_context._encode

    def interfering(messages: list[tuple[int, Event]]) -> bytes:
        monkeypatch.setattr(message_context, "_encode", encode)
        erase(Scope(1, 0), BOB)
        return encode(messages)

    monkeypatch.setattr(message_context, "_encode", interfering)
    erase(Scope(1, 0), ANN)
    assert known(sent) == [(ANN, {}, [], ""), (BOB, {}, [], "")]
