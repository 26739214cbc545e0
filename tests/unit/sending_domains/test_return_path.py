from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.core import ids
from chalicelib.core.addresses import is_address
from chalicelib.sending_domains.return_path import address, message_of

MESSAGES = st.builds(
    ids.message_id, st.integers(10**17, 10**18).map(str), st.integers(0, 2**32 - 1)
)
FOLDINGS = st.sampled_from([str, str.lower, str.upper, str.title, str.swapcase])


@given(MESSAGES, FOLDINGS)
def test_the_message_is_known_again_however_case_was_folded(message: str, fold: object) -> None:
    local, _, domain = address(message, "bounces.example.test").partition("@")
    assert domain == "bounces.example.test"
    assert message_of(fold(local)) == message  # type: ignore[operator]


@given(MESSAGES)
def test_a_return_path_is_an_address_in_lower_case(message: str) -> None:
    path = address(message, "bounces.example.test")
    assert is_address(path)
    assert path == path.lower()
    assert len(path.partition("@")[0]) <= 64


@given(MESSAGES, st.integers(0, 1000), st.sampled_from("abcdefghijklmnopqrstuvwxyz234567.0"))
def test_a_local_part_with_one_character_changed_names_nothing(
    message: str, place: int, character: str
) -> None:
    local = address(message, "b.test").partition("@")[0]
    place %= len(local)
    forged = local[:place] + character + local[place + 1 :]
    assert message_of(forged) == (message if forged == local else None)


@given(MESSAGES, st.integers(0, 1000))
def test_a_local_part_that_was_cut_or_lengthened_names_nothing(message: str, cut: int) -> None:
    local = address(message, "b.test").partition("@")[0]
    assert message_of(local[: cut % len(local)]) is None
    for longer in (local + "a", "b." + local, local + ".a", local + "="):
        assert message_of(longer) is None


@given(st.text(st.characters(), max_size=60) | st.text("b.0=A\ud800é", max_size=60))
def test_no_other_text_names_a_message_or_fails(text: str) -> None:
    assert message_of(text) is None


@pytest.mark.parametrize(
    "text", ["", "b", "b.", "b..", "b.\ud800.aaaaaaaaaaaaaaaa", "b.é.aaaaaaaaaaaaaaaa", "B.1.é"]
)
def test_a_text_of_the_same_shape_names_nothing(text: str) -> None:
    assert message_of(text) is None


def test_the_tag_of_one_message_does_not_fit_another() -> None:
    first = address("0" * 24, "b.test").partition("@")[0]
    assert message_of(first.replace("0" * 24, "1" + "0" * 23)) is None
