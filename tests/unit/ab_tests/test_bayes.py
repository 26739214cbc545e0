from __future__ import annotations

import random
import time
from math import exp, lgamma, log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.ab_tests.bayes import Observed, probabilities_of_being_best


@st.composite
def observations(draw: st.DrawFn) -> Observed:
    accepted = draw(st.one_of(st.integers(0, 50), st.integers(0, 3000)))
    return Observed(accepted, draw(st.integers(0, accepted)))


def log_beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)


def exactly(first: Observed, second: Observed) -> float:
    """Return the probability that the second rate is higher, by the closed form for two.

    A finite sum of Beta functions, as the parameters are whole numbers.
    """
    a1, b1 = 1 + first.engaged, 1 + first.accepted - first.engaged
    a2, b2 = 1 + second.engaged, 1 + second.accepted - second.engaged
    return sum(
        exp(log_beta(a1 + i, b1 + b2) - log(b2 + i) - log_beta(1 + i, b2) - log_beta(a1, b1))
        for i in range(a2)
    )


def by_brute_force(observed: list[Observed], steps: int = 20_000) -> list[float]:
    """Integrate by the midpoint rule on an even grid over all of 0 to 1."""
    best = [0.0] * len(observed)
    below = [0.0] * len(observed)
    for step in range(steps):
        x = (step + 0.5) / steps
        masses = [
            exp(
                each.engaged * log(x)
                + (each.accepted - each.engaged) * log(1 - x)
                - log_beta(1 + each.engaged, 1 + each.accepted - each.engaged)
            )
            / steps
            for each in observed
        ]
        for i, mass in enumerate(masses):
            others = 1.0
            for j, other in enumerate(below):
                if j != i:
                    others *= other + masses[j] / 2
            best[i] += mass * others
        below = [before + mass for before, mass in zip(below, masses, strict=True)]
    return best


@given(observations(), observations())
@settings(max_examples=150)
def test_for_two_it_is_what_the_closed_form_says(first: Observed, second: Observed) -> None:
    found = probabilities_of_being_best([first, second])
    assert found[1] == pytest.approx(exactly(first, second), abs=1e-6)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Observed(0, 0), Observed(0, 0)),
        (Observed(1, 1), Observed(1, 0)),
        (Observed(100_000, 1000), Observed(100_000, 1090)),
        (Observed(100_000, 0), Observed(100_000, 3)),
        (Observed(10, 0), Observed(100_000, 30_000)),
        (Observed(100_000, 99_999), Observed(5, 5)),
        (Observed(100_000, 50_000), Observed(100_000, 10)),
    ],
)
def test_that_holds_for_large_and_for_unequal_counts(first: Observed, second: Observed) -> None:
    found = probabilities_of_being_best([first, second])
    assert found[1] == pytest.approx(exactly(first, second), abs=1e-6)


@pytest.mark.parametrize(
    "observed",
    [
        [Observed(20, 3), Observed(30, 6), Observed(25, 2)],
        [Observed(0, 0), Observed(200, 30), Observed(10, 3), Observed(50, 6)],
        [Observed(9, 0), Observed(12, 12), Observed(4, 4)],
    ],
)
def test_for_more_than_two_it_is_what_brute_force_says(observed: list[Observed]) -> None:
    assert probabilities_of_being_best(observed) == pytest.approx(
        by_brute_force(observed), abs=1e-5
    )


def test_it_is_how_often_each_is_the_best_of_random_draws() -> None:
    observed = [Observed(400, 40), Observed(380, 50), Observed(410, 30), Observed(20, 3)]
    draw, wins, draws = random.Random(20260131), [0] * 4, 40_000
    for _ in range(draws):
        rates = [
            draw.betavariate(1 + each.engaged, 1 + each.accepted - each.engaged)
            for each in observed
        ]
        wins[rates.index(max(rates))] += 1
    found = probabilities_of_being_best(observed)
    assert [win / draws for win in wins] == pytest.approx(found, abs=0.01)


@given(st.lists(observations(), min_size=2, max_size=6))
@settings(max_examples=40)
def test_the_probabilities_add_up_and_do_not_depend_on_the_order(observed: list[Observed]) -> None:
    found = probabilities_of_being_best(observed)
    assert sum(found) == pytest.approx(1)
    assert all(-1e-9 <= each <= 1 + 1e-9 for each in found)
    turned = probabilities_of_being_best(observed[::-1])
    assert turned[::-1] == pytest.approx(found, abs=1e-9)


def test_equal_observations_are_equally_probable() -> None:
    assert probabilities_of_being_best([Observed(50, 5)] * 5) == pytest.approx([0.2] * 5)


def test_more_engaged_than_accepted_counts_as_all_of_them() -> None:
    assert probabilities_of_being_best([Observed(2, 5), Observed(9, 1)]) == pytest.approx(
        probabilities_of_being_best([Observed(5, 5), Observed(9, 1)])
    )


def test_it_takes_no_longer_for_large_counts() -> None:
    def seconds(accepted: int) -> float:
        observed = [Observed(accepted, accepted // 10 + i) for i in range(5)]
        began = time.process_time()
        probabilities_of_being_best(observed)
        return time.process_time() - began

    seconds(100)
    assert seconds(100_000_000) < 10 * seconds(1000) + 0.05
