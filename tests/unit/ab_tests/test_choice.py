from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from chalicelib.ab_tests.choice import choose, preferences
from tests.unit.ab_tests.examples import by_percent, by_size

RECIPIENTS = [f"r{number}@example.test" for number in range(6000)]


def test_a_recipient_gets_the_same_template_each_time() -> None:
    test = by_percent(40, 30, 30)
    for recipient in RECIPIENTS[:50]:
        assert choose(test, recipient) == choose(test, recipient.upper())
        assert preferences(test, recipient) == preferences(replace(test, name="x"), recipient)


@pytest.mark.parametrize("other", [{"version": 2}, {"id": "other"}, {"account_id": 2}])
def test_another_test_or_version_draws_anew(other: dict[str, int]) -> None:
    test = by_percent(50, 50)
    same = sum(
        choose(test, each).template_id == choose(replace(test, **other), each).template_id
        for each in RECIPIENTS[:1000]
    )
    assert 400 < same < 600


def test_templates_are_drawn_in_proportion_to_their_shares() -> None:
    for test, shares in (
        (by_percent(70, 20, 10), (0.7, 0.2, 0.1)),
        (by_size(300, 600, 100), (0.3, 0.6, 0.1)),
    ):
        found = Counter(choose(test, each).template_id for each in RECIPIENTS)
        for i, share in enumerate(shares):
            assert found[f"t{i}"] / len(RECIPIENTS) == pytest.approx(share, abs=0.02)


def test_those_that_stand_by_are_in_proportion_too() -> None:
    test = by_percent(50, 40, 10)
    orders = [[share.template_id for share in preferences(test, each)] for each in RECIPIENTS]
    assert all(sorted(order) == ["t0", "t1", "t2"] for order in orders)
    behind = Counter(order[1] for order in orders if order[0] == "t0")
    assert behind["t1"] / behind.total() == pytest.approx(0.8, abs=0.03)


def test_the_draw_may_not_change_while_tests_run() -> None:
    test = by_percent(50, 30, 20)
    drawn = "".join(choose(test, each).template_id[1:] for each in RECIPIENTS[:12])
    assert drawn == "202000011100"
