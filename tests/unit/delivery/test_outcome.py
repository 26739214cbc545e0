"""Outcomes keep a clean reply, and have a stored form."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.delivery.outcome import (
    REPLY_LIMIT,
    Delivered,
    Failed,
    Outcome,
    Retry,
    clean_reply,
    from_dict,
    internal,
    to_dict,
)

EXAMPLES: list[Outcome] = [
    Delivered(250, "2.0.0 taken", "192.0.2.1", "TLSv1.3"),
    Delivered(250, "ok"),
    Retry(451, "4.7.1 later", 70, "192.0.2.1", None),
    Failed(550, "5.1.1 no such user", 10, "2001:db8::1", "TLSv1.2"),
]


@pytest.mark.parametrize("outcome", EXAMPLES)
def test_an_outcome_survives_storage_as_json(outcome: Outcome) -> None:
    assert from_dict(json.loads(json.dumps(to_dict(outcome)))) == outcome


def test_the_stored_form_names_the_kind_of_outcome() -> None:
    assert to_dict(EXAMPLES[2]) == {
        "outcome": "retry",
        "code": 451,
        "reply": "4.7.1 later",
        "bounce_class": 70,
        "ip_address": "192.0.2.1",
        "tls": None,
        "sending_ip": None,
        "tls_policy": None,
    }


def test_the_sending_ip_does_not_count_when_outcomes_are_compared() -> None:
    here = Delivered(250, "ok", "192.0.2.1", None, "10.0.0.1")
    assert from_dict(to_dict(here)).sending_ip == "10.0.0.1"
    assert here == Delivered(250, "ok", "192.0.2.1")


def test_data_of_no_known_kind_is_refused() -> None:
    with pytest.raises(KeyError):
        from_dict({"outcome": "lost", "code": 250, "reply": ""})


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("5.1.1 no\tsuch\r\nuser", "5.1.1 no such user"),
        ("red\x1b[31malert\x00\x7f\x9b", "red[31malert"),
        ("caf\u00e9 \u202fsorry", "caf\u00e9 \u202fsorry"),
        ("two\u2028lines\u2029here", "two lines here"),
        ("  spaced  ", "spaced"),
        ("", ""),
    ],
)
def test_a_reply_is_kept_on_one_line_without_control_characters(text: str, reply: str) -> None:
    assert Failed(550, text, 10).reply == reply


def test_a_long_reply_is_cut() -> None:
    assert Retry(451, "x" * 5_000, 70).reply == "x" * REPLY_LIMIT


@settings(max_examples=100)
@given(st.text(max_size=50))
def test_cleaning_a_clean_reply_changes_nothing(text: str) -> None:
    cleaned = clean_reply(text)
    assert clean_reply(cleaned) == cleaned
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in cleaned)


def test_failures_of_this_side_are_marked_as_internal() -> None:
    assert internal("4.4.2", "no answer") == "4.4.2 [internal] no answer"
