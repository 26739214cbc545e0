from __future__ import annotations

import json
from typing import Any

import pytest

from chalicelib.core import clock
from chalicelib.core.settings import settings
from chalicelib.events.documentation import TYPES, sample
from chalicelib.events.model import Sender, make_event, recipient_fields
from chalicelib.webhooks import payload

NINE = 1_769_850_000_123
NOT_TEXT = {
    "amp_enabled": bool,
    "click_tracking": bool,
    "open_tracking": bool,
    "initial_pixel": bool,
    "rcpt_meta": dict,
    "rcpt_subs": dict,
    "rcpt_tags": list,
    "geo_ip": dict,
    "user_agent_parsed": dict,
}


def delivery(**fields: Any) -> dict[str, Any]:
    sender = Sender(1, 7, "191930000000000001", "rest", transactional=True)
    about = recipient_fields("Ann@Inbox.test", metadata={"order": 5}, tags=["a"])
    return make_event("delivery", sender.fields() | about | {"message_id": "ab"} | fields, NINE)


@pytest.mark.spec("6-r1")
def test_an_event_is_posted_in_its_wrapper_with_its_time_in_seconds() -> None:
    event = delivery(injection_time=clock.iso_ms(NINE))
    (element,) = json.loads(payload.batch([payload.element(event)]))
    assert list(element) == ["svc"]
    fields = element["svc"]["message_event"]
    assert fields == event | {"timestamp": "1769850000"}
    assert fields["injection_time"] == "2026-01-31T09:00:00.123Z"
    assert fields["subaccount_id"] == "7"


@pytest.mark.spec("6-r1")
@pytest.mark.parametrize("kind", [name for name in TYPES if not name.startswith("ab_test")])
def test_fields_of_message_events_have_the_documented_types(kind: str) -> None:
    if kind in ("success", "error"):
        return
    for name, value in payload.public_form(sample(kind)).items():
        assert isinstance(value, NOT_TEXT.get(name, str)), name


def test_internal_fields_are_not_posted() -> None:
    assert "observed" not in payload.public_form(delivery(observed={"unit": 1}))


def test_the_payload_is_ascii_for_any_text() -> None:
    event = delivery(subject="Grüße \ud83d 𝄞")
    raw = payload.element(event)
    assert raw.isascii()
    assert json.loads(raw)["svc"]["message_event"]["subject"] == event["subject"]


@pytest.mark.spec("6-r5")
def test_the_ping_is_one_empty_event(monkeypatch: pytest.MonkeyPatch) -> None:
    assert payload.ping() == b'[{"svc":{}}]'
    monkeypatch.setenv("VENDOR_ALIAS", "true")
    settings.cache_clear()
    try:
        assert payload.ping() == b'[{"msys":{}}]'
        assert list(payload.wrapped(delivery())) == ["msys"]
    finally:
        monkeypatch.undo()
        settings.cache_clear()


def test_ingest_events_have_numbers_as_numbers() -> None:
    fields = payload.public_form(sample("success"))
    assert (fields["number_succeeded"], fields["retryable"]) == (480, False)
    assert fields["expiration_timestamp"] == "1767312000"
