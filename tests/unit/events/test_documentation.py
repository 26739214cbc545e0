from __future__ import annotations

import hashlib

import pytest

from chalicelib.events.documentation import (
    SEARCHED,
    TYPES,
    WRAPPERS,
    described,
    sample,
    wrapper_of,
)
from chalicelib.events.fields import FIELDS


def test_there_are_27_types_in_7_wrappers() -> None:
    assert len(TYPES) == sum(len(wrapper.types) for wrapper in WRAPPERS) == 27
    assert len(WRAPPERS) == 7
    assert wrapper_of("bounce") == "message_event"
    assert wrapper_of("amp_click") == "track_event"
    assert wrapper_of("generation_failure") == "gen_event"
    assert wrapper_of("link_unsubscribe") == "unsubscribe_event"
    assert wrapper_of("relay_tempfail") == "relay_event"
    assert wrapper_of("ab_test_completed") == "ab_test_event"
    assert wrapper_of("success") == "ingest_event"
    with pytest.raises(KeyError):
        wrapper_of("rejection")


def test_18_types_are_found_by_the_search() -> None:
    assert len(SEARCHED) == 18
    assert {wrapper_of(kind) for kind in set(TYPES) - set(SEARCHED)} == {
        "relay_event",
        "ab_test_event",
        "ingest_event",
    }


@pytest.mark.parametrize("kind", TYPES)
def test_a_sample_has_exactly_the_described_fields(kind: str) -> None:
    fields = dict(described(kind))
    assert {name: field.sample for name, field in fields.items()} == sample(kind)
    assert sample(kind)["type"] == kind
    assert all(field.description for field in fields.values())
    assert isinstance(sample(kind)["timestamp"], int)


def test_every_field_belongs_to_a_type() -> None:
    assert {name for about in TYPES.values() for name in about.fields} == set(FIELDS)


@pytest.mark.parametrize("kind", sorted(set(TYPES) - {"sms_status"}))
def test_every_event_but_an_sms_status_has_an_id(kind: str) -> None:
    assert sample(kind)["event_id"].isdigit()


def test_the_hash_of_a_sample_is_that_of_its_recipient() -> None:
    samples = [sample(kind) for kind in TYPES]
    hashes = [(each["rcpt_to"], each["rcpt_hash"]) for each in samples if "rcpt_hash" in each]
    assert hashes
    assert all(hashlib.sha1(to.encode()).hexdigest() == digest for to, digest in hashes)


@pytest.mark.parametrize(
    ("kind", "has_address"),
    [("injection", False), ("policy_rejection", False), ("delay", True), ("click", True)],
)
def test_only_events_after_an_attempt_have_a_sending_ip(kind: str, has_address: bool) -> None:
    assert ("sending_ip" in TYPES[kind].fields) == has_address
