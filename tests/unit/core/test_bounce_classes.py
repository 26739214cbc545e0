"""The table of bounce classes."""

from __future__ import annotations

from chalicelib.core.bounce_classes import (
    ADMIN,
    BLOCK,
    BOUNCE_CLASSES,
    CATEGORY_IDS,
    HARD,
    SOFT,
)

NUMBERS = {1, 10, 20, 21, 22, 23, 24, 25, 30, 40, 50, 51, 52, 53, 54, 60, 70, 80, 90, 100}


def test_there_are_twenty_classes() -> None:
    assert set(BOUNCE_CLASSES) == NUMBERS


def test_hard_classes_are_those_that_suppress() -> None:
    assert {10, 30, 90} == HARD


def test_every_class_is_in_one_category() -> None:
    assert {1} | HARD | SOFT | BLOCK | ADMIN == NUMBERS
    assert 1 + len(HARD) + len(SOFT) + len(BLOCK) + len(ADMIN) == len(NUMBERS)
    assert {25, 80} == ADMIN
    assert {50, 51, 52, 53, 54} == BLOCK


def test_category_ids_are_fixed() -> None:
    assert CATEGORY_IDS == {"Undetermined": 0, "Hard": 1, "Soft": 2, "Block": 3, "Admin": 4}
    assert BOUNCE_CLASSES[1].category_id == 0
    assert BOUNCE_CLASSES[10].category_id == 1
    assert BOUNCE_CLASSES[22].category_id == 2


def test_names_are_the_public_ones() -> None:
    assert BOUNCE_CLASSES[10].name == "Invalid Recipient"
    assert BOUNCE_CLASSES[30].name == "Generic Bounce: No RCPT"
    assert BOUNCE_CLASSES[100].name == "Challenge-Response"


def test_every_class_has_a_description() -> None:
    assert len({entry.description for entry in BOUNCE_CLASSES.values()}) == len(NUMBERS)
