from __future__ import annotations

import ast
import hashlib
import re
from pathlib import Path

import pytest

from chalicelib.events.documentation import (
    INGESTED,
    SEARCHED,
    TYPES,
    UNPRODUCED,
    WRAPPERS,
    described,
    sample,
    wrapper_of,
)
from chalicelib.events.fields import FIELDS

ROOT = Path(__file__).parents[3]
#: It names every type that searches find, since others may upload events of them
COUNTERS = ROOT / "chalicelib/metrics/model.py"


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


def test_23_types_are_found_by_the_search_and_18_of_them_can_be_uploaded() -> None:
    assert len(SEARCHED) == 23
    assert {wrapper_of(kind) for kind in set(TYPES) - set(SEARCHED)} == {
        "ab_test_event",
        "ingest_event",
    }
    assert {wrapper_of(kind) for kind in set(SEARCHED) - set(INGESTED)} == {"relay_event"}
    assert len(INGESTED) == 18


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


def test_an_event_is_produced_if_the_code_names_its_type_somewhere_else() -> None:
    """A type that gets a source must not stay hidden, nor one without a source be shown."""
    nodes = [
        node
        for path in (ROOT / "chalicelib").rglob("*.py")
        if path not in (ROOT / "chalicelib/events/documentation.py", COUNTERS)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    ]
    names = {node.value for node in nodes if isinstance(node, ast.Constant)}
    # Such as f"ab_test_{status}"
    beginnings = tuple(
        first.value
        for node in nodes
        if isinstance(node, ast.JoinedStr)
        for first in node.values[:1]
        if isinstance(first, ast.Constant) and re.fullmatch("[a-z_]+_", first.value)
    )
    assert {kind for kind in TYPES if kind not in names and not kind.startswith(beginnings)} == (
        UNPRODUCED
    )
