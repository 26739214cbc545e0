"""Reply addresses name their message, and only those that the service made count."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.core import clock, ids
from chalicelib.core.addresses import is_address
from chalicelib.core.settings import settings
from chalicelib.inbound_domains.reply_address import local_part, message_of
from chalicelib.sending_domains import return_path

INJECTED_MS = 1_769_850_000_000  # 2026-01-31 09:00:00 UTC
MESSAGE = ids.message_id("191930000000000001", 7)
MESSAGES = st.builds(
    ids.message_id, st.integers(10**17, 10**18).map(str), st.integers(0, 2**32 - 1)
)
FOLDINGS = st.sampled_from([str, str.lower, str.upper, str.title, str.swapcase])


@pytest.fixture(autouse=True, scope="module")
def morning() -> Iterator[None]:
    """Set the clock to the time at which the messages are injected."""
    with clock.use(lambda: INJECTED_MS / 1000):
        yield


@given(MESSAGES, FOLDINGS, st.sampled_from(["", "+", "+ticket", "+a+b"]))
def test_an_address_names_its_message_in_any_case_and_with_a_tag(
    message: str, fold: Callable[[str], str], tag: str
) -> None:
    address = f"{local_part(message, INJECTED_MS)}{tag}@replies.example.test"
    assert is_address(address)
    assert address == address.lower()
    assert message_of(fold(address.rpartition("@")[0])) == message


@given(MESSAGES, MESSAGES, st.integers(0, 47), st.sampled_from("0a.7z"))
def test_an_address_that_was_changed_names_no_message(
    message: str, other: str, at: int, character: str
) -> None:
    original = local_part(message, INJECTED_MS)
    changed = original[:at] + character + original[at + 1 :]
    assert changed == original or message_of(changed) is None
    exchanged = original.replace(message, other)
    assert exchanged == original or message_of(exchanged) is None


def test_an_envelope_sender_is_no_reply_address_and_the_reverse() -> None:
    reply, bounce = local_part(MESSAGE, INJECTED_MS), return_path.local_part(MESSAGE, INJECTED_MS)
    assert message_of(bounce) is None
    assert return_path.message_of(reply) is None
    assert message_of("b" + reply[1:]) is None
    assert message_of("r" + bounce[1:]) is None


@pytest.mark.parametrize("text", ["", "r", "r.", "+", "r.0.1.2", "é" * 48, "r." + "0" * 24])
def test_any_other_local_part_names_no_message(text: str) -> None:
    assert message_of(text) is None


def test_an_address_expires_with_the_data_of_its_message() -> None:
    address = local_part(MESSAGE, INJECTED_MS)
    last_second = INJECTED_MS // 1000 + settings().messages_retention
    with clock.use(lambda: last_second):
        assert message_of(address) == MESSAGE
    with clock.use(lambda: last_second + 86_400):
        assert message_of(address) is None
