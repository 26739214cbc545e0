from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from chalicelib.ab_tests.assignment import preferences
from chalicelib.ab_tests.model import AbTest
from tests.unit.ab_tests.examples import by_percent, by_size

RECIPIENTS = [f"r{number}@example.test" for number in range(6000)]


def choose(test: AbTest, recipient: str) -> str:
    return preferences(test, recipient)[0].template_id


def test_a_recipient_gets_the_same_template_each_time() -> None:
    test = by_percent(40, 30, 30)
    for recipient in RECIPIENTS[:50]:
        assert choose(test, recipient) == choose(test, recipient.upper())
        assert preferences(test, recipient) == preferences(replace(test, name="x"), recipient)


@pytest.mark.parametrize("other", [{"version": 2}, {"id": "other"}, {"account_id": 2}])
def test_another_test_or_version_makes_another_choice(other: dict[str, int]) -> None:
    test = by_percent(50, 50)
    same = sum(
        choose(test, each) == choose(replace(test, **other), each) for each in RECIPIENTS[:1000]
    )
    assert 400 < same < 600


def test_templates_are_chosen_in_proportion_to_their_shares() -> None:
    for test, shares in (
        (by_percent(70, 20, 10), (0.7, 0.2, 0.1)),
        (by_size(300, 600, 100), (0.3, 0.6, 0.1)),
    ):
        numbers = Counter(choose(test, each) for each in RECIPIENTS)
        for i, share in enumerate(shares):
            assert numbers[f"t{i}"] / len(RECIPIENTS) == pytest.approx(share, abs=0.02)


def test_the_second_choices_are_in_proportion_too() -> None:
    test = by_percent(50, 40, 10)
    orders = [[share.template_id for share in preferences(test, each)] for each in RECIPIENTS]
    assert all(sorted(order) == ["t0", "t1", "t2"] for order in orders)
    behind = Counter(order[1] for order in orders if order[0] == "t0")
    assert behind["t1"] / behind.total() == pytest.approx(0.8, abs=0.03)


def test_the_choice_may_not_change_while_tests_run() -> None:
    test = by_percent(50, 30, 20)
    choices = "".join(choose(test, each)[1:] for each in RECIPIENTS[:12])
    assert choices == "202000011100"
