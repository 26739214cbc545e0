"""The replies of many hosts get the right bounce class."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.core.bounce_classes import BOUNCE_CLASSES, HARD
from chalicelib.delivery.classify import classify
from tests.unit.linear_time import assert_linear

REPLIES = list(
    csv.DictReader(
        (Path(__file__).parent / "replies.tsv").read_text(encoding="utf-8").splitlines(),
        delimiter="\t",
        quoting=csv.QUOTE_NONE,
    )
)


@pytest.mark.parametrize("row", REPLIES, ids=lambda row: f"{row['host']}-{row['reply'][:30]}")
def test_a_reply_gets_its_class(row: dict[str, str]) -> None:
    assert classify(int(row["code"]), row["reply"]) == int(row["class"])


def test_every_class_has_an_example() -> None:
    unused = {20, 25}  # mostly found on this side, and yet there is one of each
    assert {int(row["class"]) for row in REPLIES} | unused == set(BOUNCE_CLASSES)
    assert len(REPLIES) >= 300


def test_upper_case_and_odd_spaces_change_nothing() -> None:
    assert classify(550, "5.7.1  USER\tUnknown") == 10


def test_words_inside_addresses_do_not_count() -> None:
    assert classify(550, "5.1.1 <spam@blacklist.example.com>: user unknown") == 10
    assert classify(550, "<mailbox.full.quota.exceeded@virus.example> 42") == 1


def test_an_ip_address_is_not_an_enhanced_status_code() -> None:
    assert classify(550, "hello 5.1.1.10 and 15.1.1") == 1
    assert classify(550, "hello (#5.1.1)") == 10


@settings(max_examples=200)
@given(
    st.integers(400, 499),
    st.sampled_from([row["reply"] for row in REPLIES]),
)
def test_a_temporary_reply_never_gets_a_hard_class(code: int, reply: str) -> None:
    assert classify(code, reply) not in HARD


@settings(max_examples=200)
@given(st.integers(400, 599), st.text(max_size=200))
def test_every_reply_gets_some_class(code: int, reply: str) -> None:
    assert classify(code, reply) in BOUNCE_CLASSES


@pytest.mark.parametrize(
    "piece",
    ["mailbox ", "a", "user ", "@", "a@", "is ", "1.2.3.", "exceeds ", "ip x", "5.", "\u0130"],
)
def test_hostile_replies_take_linear_time(piece: str) -> None:
    assert_linear(lambda reply: classify(550, reply), piece * 100_000)
