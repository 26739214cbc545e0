from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.ip_pools.changes import LONGEST_ID, new_id


@pytest.mark.spec("2.8-t1")
@pytest.mark.parametrize(
    ("name", "pool_id"),
    [
        ("Marketing IP Pool", "marketing_ip_pool"),
        ("fast", "fast"),
        ("  A -- b  ", "a_b"),
        ("Größe & Être", "groe_etre"),
        ("a" * 30, "a" * 20),
        ("abcdefghijklmnopqrs tuv", "abcdefghijklmnopqrs"),
        ("東京", "pool"),
        ("___", "pool"),
        ("42", "42"),
    ],
)
def test_an_id_is_made_of_the_letters_and_digits_of_the_name(name: str, pool_id: str) -> None:
    assert new_id(name, set()) == pool_id


def test_an_id_that_is_taken_is_numbered_within_its_length() -> None:
    assert new_id("Fast", {"fast"}) == "fast_2"
    assert new_id("Fast", {"fast", "fast_2", "fast_3"}) == "fast_4"
    assert new_id("x" * 25, {"x" * 20}) == "x" * 18 + "_2"
    assert new_id("Default", {"default"}) == "default_2"


@settings(max_examples=200)
@given(st.lists(st.text(max_size=25), max_size=15))
def test_ids_are_unique_and_can_be_a_subaccounts_pool(names: list[str]) -> None:
    ids = {"default"}
    for name in names:
        pool_id = new_id(name, ids)
        assert pool_id not in ids
        assert re.fullmatch(r"[a-z0-9_]{1,20}", pool_id)
        ids.add(pool_id)
    assert LONGEST_ID == 20
