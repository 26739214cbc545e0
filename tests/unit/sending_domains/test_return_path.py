from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.core import clock, ids
from chalicelib.core.addresses import is_address
from chalicelib.core.settings import settings
from chalicelib.sending_domains import return_path
from chalicelib.sending_domains.return_path import message_of

INJECTED_MS = 1_769_850_000_000  # 2026-01-31 09:00:00 UTC
DAY_MS = 86_400_000
MESSAGES = st.builds(
    ids.message_id, st.integers(10**17, 10**18).map(str), st.integers(0, 2**32 - 1)
)
FOLDINGS = st.sampled_from([str, str.lower, str.upper, str.title, str.swapcase])


@pytest.fixture(autouse=True, scope="module")
def morning() -> Iterator[None]:
    """Set the clock to the time at which the messages are injected."""
    with clock.use(lambda: INJECTED_MS / 1000):
        yield


def address(message: str, domain: str = "b.test") -> str:
    return f"{return_path.local_part(message, INJECTED_MS)}@{domain}"


def local_part(message: str) -> str:
    return address(message).partition("@")[0]


@given(MESSAGES, FOLDINGS)
def test_a_local_part_gives_its_message_id_in_any_case(message: str, fold: object) -> None:
    local, _, domain = address(message, "bounces.example.test").partition("@")
    assert domain == "bounces.example.test"
    assert message_of(fold(local)) == message  # type: ignore[operator]


@given(MESSAGES)
def test_a_return_path_is_an_address_in_lower_case(message: str) -> None:
    path = address(message)
    assert is_address(path)
    assert path == path.lower()
    assert len(path.partition("@")[0]) == 48


@given(MESSAGES, st.integers(0, 1000), st.sampled_from("abcdefghijklmnopqrstuvwxyz234567.0"))
def test_a_local_part_with_one_character_changed_is_invalid(
    message: str, place: int, character: str
) -> None:
    local = local_part(message)
    place %= len(local)
    forged = local[:place] + character + local[place + 1 :]
    assert message_of(forged) == (message if forged == local else None)


@given(MESSAGES, st.integers(0, 1000))
def test_a_local_part_that_was_cut_or_lengthened_is_invalid(message: str, cut: int) -> None:
    local = local_part(message)
    assert message_of(local[: cut % len(local)]) is None
    for longer in (local + "a", "b." + local, local + ".a", local + "=", local + "\n"):
        assert message_of(longer) is None


@given(st.text(st.characters(), max_size=60) | st.text("b.0=A\ud800é", max_size=60))
def test_any_other_text_is_invalid_and_raises_no_error(text: str) -> None:
    assert message_of(text) is None


@pytest.mark.parametrize(
    "text", ["", "b", "b.", "b..", "b.\ud800.aaaaaaaaaaaaaaaa", "b.é.aaaaaaaaaaaaaaaa", "B.1.é"]
)
def test_text_of_a_similar_form_is_invalid(text: str) -> None:
    assert message_of(text) is None


def test_unicode_letters_that_fold_to_ascii_letters_are_invalid() -> None:
    texts = (local_part(f"{n:024x}") for n in range(100))
    local = next(text for text in texts if "s" in text or "k" in text)
    assert message_of(local.replace("s", "\u017f").replace("k", "\u212a")) is None


def test_the_tag_of_one_message_is_invalid_for_another() -> None:
    first = local_part("0" * 24)
    assert message_of(first.replace("0" * 24, "1" + "0" * 23)) is None


def test_an_address_is_valid_for_as_long_as_its_message_is_stored() -> None:
    local = local_part("a" * 24)
    lifetime_ms = settings().messages_retention * 1000
    with clock.use(lambda: (INJECTED_MS + lifetime_ms) / 1000):
        assert message_of(local) == "a" * 24
    with clock.use(lambda: (INJECTED_MS + lifetime_ms + DAY_MS) / 1000):
        assert message_of(local) is None


def test_an_address_with_another_last_day_is_invalid() -> None:
    local = local_part("a" * 24)
    last = f"{(INJECTED_MS + settings().messages_retention * 1000) // DAY_MS:04x}"
    assert f".{last}." in local
    assert message_of(local.replace(f".{last}.", ".ffff.")) is None
