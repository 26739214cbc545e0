from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from chalicelib.core.message_event import Event
from chalicelib.events import event_blocks, filters
from chalicelib.events.documentation import TYPES
from chalicelib.events.event_blocks import EventBlock
from chalicelib.events.filters import FILTERS
from tests.unit.events.examples import NINE, event_at
from tests.unit.refusals import refusal

#: filter → values of its field in events, and values to search for
EXAMPLES: dict[str, tuple[list[Any], list[str]]] = {
    "events": (["open", "policy_rejection", "bounce"], ["open", "bounce", "delay", "rejection"]),
    "event_ids": (["17", "18"], ["17", "99"]),
    "recipients": (["ann@a.test", "bob@b.test"], ["ANN@a.test", "eve@b.test"]),
    "recipient_domains": (["a.test", "mx.b-c.test"], ["b", "a.test", "x"]),
    "from_addresses": (["News@a.test", "x@a.test", None], ["news@A.test", "y@a.test"]),
    "sending_domains": (["a.test", "m.b.test", None], ["m", "a"]),
    "subjects": (["Hello Ann", "Bye", None], ["hello", "hell"]),
    "reasons": (["550 5.1.1 unknown", "452 full", None], ["unknown", "452"]),
    "campaigns": (["spring-sale", "spring_news", None], ["spring", "sale"]),
    "templates": (["welcome", "good-bye", None], ["bye"]),
    "ip_pools": (["default", "fast_pool"], ["fast", "default"]),
    "sending_ips": (["192.0.2.1", "2001:db8::1", None], ["192.0.2.1", "2001:DB8:0::1"]),
    "bounce_classes": (["10", "25", None], ["10", "010", "30"]),
    "subaccounts": (["7", "70", None], ["0", "7"]),
    "messages": (["a1", "b2"], ["a1"]),
    "transmissions": (["9", "99"], ["99"]),
    "mailbox_providers": (["Gmail", "Yahoo! Japan"], ["gmail", "japan"]),
    "mailbox_provider_regions": (["Global", "North America"], ["america", "north"]),
    "ab_tests": (["test-one", "test-two", None], ["one", "test"]),
    "ab_test_versions": (["1", "2", None], ["2"]),
}


def rows(query: dict[str, str], events: list[Event], confined_to: int | None = None) -> list[Event]:
    block = EventBlock(event_blocks.encode(events))
    return [block.event(row) for row in block.rows(filters.read(query, confined_to).conditions)]


def refused_filter(**query: str) -> str:
    error = refusal(filters.read, query)
    assert (error.status, error.errors[0]["code"]) == (400, "1200")
    return str(error)


def passes(name: str, value: Any, text: str) -> bool:
    """Tell whether a value passes a filter, as the specification defines it."""
    if name == "events" and text == "rejection":
        return bool(value == "policy_rejection")
    if name == "subaccounts":
        return (value or "0") == text
    if value is None:
        return False
    if name in ("recipients", "from_addresses"):
        return bool(value.lower() == text.lower())
    if name == "bounce_classes":
        return int(value) == int(text)
    if name == "sending_ips":
        return value == {"2001:DB8:0::1": "2001:db8::1"}.get(text, text)
    if FILTERS[name].field in _KEYWORDS:
        ends = "-_." if name.endswith("domains") else "-_"
        table = str.maketrans(dict.fromkeys(ends, " "))
        held_words, words = value.translate(table).lower(), text.translate(table).lower()
        return f" {' '.join(words.split())} " in f" {' '.join(held_words.split())} "
    return bool(value == text)


_KEYWORDS = {
    "ab_test_id",
    "campaign_id",
    "ip_pool",
    "reason",
    "recipient_domain",
    "sending_domain",
    "subject",
    "template_id",
    "mailbox_provider",
    "mailbox_provider_region",
}


def some_event(rng: random.Random, index: int) -> Event:
    event = event_at(NINE + index, index)
    for name, (values, _) in EXAMPLES.items():
        value = rng.choice(values)
        event.pop(FILTERS[name].field, None)
        if value is not None:
            event[FILTERS[name].field] = value
    return event


@pytest.mark.spec("4.10-t1")
@given(st.integers(0, 10**6))
@hypothesis_settings(max_examples=120)
def test_an_event_is_found_if_it_has_a_value_of_each_filter(seed: int) -> None:
    rng = random.Random(seed)
    events = [some_event(rng, index) for index in range(12)]
    names = rng.sample(sorted(EXAMPLES), rng.randint(0, 3))
    if "ab_test_versions" in names:
        names.append("ab_tests")
    query_values = {name: rng.choices(EXAMPLES[name][1], k=rng.randint(1, 2)) for name in names}
    expected = [
        event
        for event in events
        if all(
            any(passes(name, event.get(FILTERS[name].field), each) for each in query_values[name])
            for name in query_values
        )
    ]
    assert rows({name: ",".join(each) for name, each in query_values.items()}, events) == expected


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_every_filter_finds_some_events_and_not_others(name: str) -> None:
    values, texts = EXAMPLES[name]
    events = [event_at(NINE + n, n) for n in range(len(values))]
    for event, value in zip(events, values, strict=True):
        event.pop(FILTERS[name].field, None)
        event |= {"ab_test_id": "test"} if name == "ab_test_versions" else {}
        event |= {} if value is None else {FILTERS[name].field: value}
    more = {"ab_tests": "test"} if name == "ab_test_versions" else {}
    matches = rows({name: texts[0], **more}, events)
    assert 0 < len(matches) < len(events)


def test_values_are_separated_by_the_requested_delimiter() -> None:
    events = [event_at(NINE + n, n, subject=text) for n, text in enumerate(["a,b", "c", "d"])]
    assert len(rows({"subjects": "a,b;d", "delimiter": ";"}, events)) == 2
    assert len(rows({"subjects": "a,b||d", "delimiter": "||"}, events)) == 2
    assert len(rows({"subjects": "c,d", "delimiter": ""}, events)) == 2
    assert len(rows({"subjects": " c , d ,, "}, events)) == 2


def test_a_filter_without_a_value_is_ignored() -> None:
    assert filters.read({"events": "", "recipients": " , "}).conditions == {}


def test_an_unknown_event_type_is_refused_but_types_of_other_searches_are_not() -> None:
    assert "'opened'" in refused_filter(events="open,opened")
    for kind in TYPES:
        filters.read({"events": kind})


@pytest.mark.parametrize("text", ["OPEN", "Open,oPEN", "Policy_Rejection", "REJECTION"])
def test_names_of_event_types_may_be_in_any_case(text: str) -> None:
    names = {"open", "policy_rejection"}
    assert set(filters.read({"events": text}).values_of("events")) <= names


def test_letters_that_only_look_alike_name_no_event_type() -> None:
    refused_filter(events="spam_complaint".replace("i", "\u0130"))


@pytest.mark.parametrize("name", ["bounce_classes", "subaccounts", "ab_test_versions"])
@pytest.mark.parametrize("text", ["x", "-1", "1.5", "1" * 11, "١"])
def test_a_value_that_is_not_a_number_is_refused_with_its_parameters_name(
    name: str, text: str
) -> None:
    assert name in refused_filter(**{name: text, "ab_tests": "a"})


def test_a_sending_ip_that_is_not_an_ip_address_is_refused() -> None:
    assert "sending_ips" in refused_filter(sending_ips="192.0.2.1,host.test")


@pytest.mark.spec("4.10-t1")
def test_ab_test_versions_need_ab_tests() -> None:
    assert "ab_test_versions needs ab_tests" in refused_filter(ab_test_versions="1")
    assert "ab_test_version" in filters.read({"ab_test_versions": "1", "ab_tests": "x"}).conditions


def test_a_caller_confined_to_a_subaccount_finds_no_other_events() -> None:
    events = [event_at(NINE + n, n, subaccount_id=owner) for n, owner in enumerate(["7", "8"])]
    assert rows({}, events, 7) == events[:1]
    assert rows({"subaccounts": "8"}, events, 7) == []
    assert rows({"subaccounts": "7,8"}, events, 7) == events[:1]
    assert rows({"subaccounts": "0"}, [event_at(NINE)], 7) == []


@pytest.mark.parametrize(
    "text", ["u@bücher.test", "U@BU\u0308CHER\u3002test", "u@xn--bcher-kva.test"]
)
@pytest.mark.parametrize("name", ["recipients", "from_addresses"])
def test_an_address_is_found_in_every_spelling(name: str, text: str) -> None:
    events = [
        event_at(NINE, 1) | {FILTERS[name].field: email}
        for email in ("u@xn--bcher-kva.test", "u@bücher.test", "v@xn--bcher-kva.test")
    ]
    assert rows({name: text}, events) == events[:2]  # the second as version 0.1.0 stored it
