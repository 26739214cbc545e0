"""An event is shown with the fields that are documented for its type, wherever it is shown."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.events.documentation import TYPES, described, sample, wrapper_of
from chalicelib.events.fields import FIELDS
from chalicelib.events.view import event_type_view, event_view
from chalicelib.webhooks import payload, reference

LABELS = {"display_name", "event_description"}
#: Fields that the service keeps in events for itself
INTERNAL = {"observed": {"unit": 0}, "rcpt_index": 3, "a_field_of_ours": 1}
EVERY_FIELD = {name: field.sample for name, field in FIELDS.items()} | INTERNAL

OPEN = "user_agent user_agent_parsed ip_address geo_ip"
CLICK = f"{OPEN} target_link_url target_link_name"
REPLY = "error_code reason raw_reason"
#: What types have beside the fields that most events have
EXTRA = {
    "delivery": "queue_time outbound_tls num_retries ip_address",
    "delay": f"bounce_class {REPLY} num_retries queue_time outbound_tls",
    "bounce": f"bounce_class {REPLY} ip_address num_retries device_token",
    "out_of_band": f"bounce_class {REPLY} queue_time num_retries",
    "spam_complaint": "fbtype report_by report_to queue_time",
    "policy_rejection": f"{REPLY} remote_addr bounce_class",
    "open": OPEN,
    "initial_open": OPEN,
    "amp_open": OPEN,
    "amp_initial_open": OPEN,
    "click": CLICK,
    "amp_click": CLICK,
    "generation_failure": f"{REPLY} rcpt_subs friendly_from sending_domain",
    "generation_rejection": f"{REPLY} rcpt_subs friendly_from sending_domain subject bounce_class",
    "list_unsubscribe": "mailfrom",
    "link_unsubscribe": "mailfrom user_agent target_link_url target_link_name delv_method",
    "relay_rejection": f"relay_id origination remote_addr {REPLY}",
    "ab_test_completed": "ab_test event_id",
    "ab_test_cancelled": "ab_test event_id",
    "error": "href error_type retryable",
}
#: What types do not have of the fields that most events have
MISSING = {
    "injection": "delv_method ip_address num_retries",
    "delivery": "ab_test_id ab_test_version",
    "bounce": "ab_test_id ab_test_version queue_time",
    "out_of_band": "rcpt_type",
    "policy_rejection": "subject msg_size scheduled_time",
    "generation_failure": "message_id injection_time msg_from subject bounce_class",
    "generation_rejection": "message_id injection_time msg_from",
    "sms_status": "event_id",
}


def views(event: dict[str, Any]) -> list[set[str]]:
    """Return the names of the fields in each form in which an event is shown."""
    (wrapped,) = payload.wrapped(event).values()
    return [set(event_view(event)) - LABELS, set(wrapped[wrapper_of(event["type"])])]


@pytest.mark.spec("4.10-t1")
@pytest.mark.spec("6-r1")
@given(st.sampled_from(sorted(TYPES)), st.sets(st.sampled_from(sorted(EVERY_FIELD))))
@settings(deadline=None)
def test_an_event_is_shown_with_those_of_its_fields_that_its_type_has(
    kind: str, names: set[str]
) -> None:
    event = {name: EVERY_FIELD[name] for name in names} | {"type": kind}
    documented = set(TYPES[kind].fields)
    assert views(event) == [documented & set(event)] * 2


@pytest.mark.spec("4.10-t3")
@pytest.mark.parametrize("kind", TYPES)
def test_documentation_samples_and_full_events_of_a_type_have_the_same_fields(kind: str) -> None:
    fields = set(TYPES[kind].fields)
    assert views(EVERY_FIELD | {"type": kind}) == views(sample(kind)) == [fields] * 2
    assert {name for name, _ in described(kind)} == set(event_type_view(kind)) - LABELS == fields
    documentation = reference.documentation()[wrapper_of(kind)]["events"][kind]["event"]
    assert set(documentation) == fields


@pytest.mark.parametrize("kind", TYPES)
def test_a_type_has_its_own_fields_and_not_those_of_others(kind: str) -> None:
    fields = set(TYPES[kind].fields)
    assert fields >= set(EXTRA.get(kind, "").split())
    assert not fields & set(MISSING.get(kind, "").split())
