from __future__ import annotations

import pytest

from chalicelib.metrics.reasons import LONGEST, canonical


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        ("550 5.1.1 user unknown", "550 5.1.1 user unknown"),
        ("550 5.1.1 <Ann.Lee+x@mail.example.com>: no such user", "550 5.1.1 <*>: no such user"),
        ("550 no h4-20020a056402124400b0045bd8beb4casi1234edw.90 - gsmtp", "550 no * - gsmtp"),
        (
            "451 4.7.1 Greylisted [192.0.2.1], try later",
            "451 4.7.1 Greylisted [192.0.2.1], try later",
        ),
        ("452 4.2.2 mailbox\r\n  full", "452 4.2.2 mailbox full"),
        (
            "554 see https://example.com/help/unsolicited",
            "554 see https://example.com/help/unsolicited",
        ),
        ("", ""),
    ],
)
def test_what_differs_from_message_to_message_is_left_out(reason: str, shown: str) -> None:
    assert canonical(reason) == shown


def test_a_reason_is_cut_to_a_length() -> None:
    assert canonical("550 " + "very " * 1000) == ("550 " + "very " * 100)[:LONGEST]


def test_a_hostile_reason_is_done_with_at_once() -> None:
    for text in ("a" * 100_000, "a@" * 50_000, "1." * 50_000, "@" * 100_000):
        assert len(canonical(text)) <= LONGEST


def test_doing_it_again_changes_nothing() -> None:
    text = canonical("550 <ann@example.com> 20020a056402124400b0045")
    assert canonical(text) == text
