from __future__ import annotations

import random
from math import exp, lgamma, log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.ab_tests.bayes import Observation, probabilities_of_being_best
from tests.unit.linear_time import assert_growth


@st.composite
def observations(draw: st.DrawFn) -> Observation:
    accepted = draw(st.one_of(st.integers(0, 50), st.integers(0, 3000)))
    return Observation(accepted, draw(st.integers(0, accepted)))


def log_beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)


def exactly(first: Observation, second: Observation) -> float:
    """Return the probability that the second rate is higher, by the closed form for two.

    A finite sum of Beta functions, as the parameters are whole numbers.
    """
    a1, b1 = 1 + first.engaged, 1 + first.accepted - first.engaged
    a2, b2 = 1 + second.engaged, 1 + second.accepted - second.engaged
    return sum(
        exp(log_beta(a1 + i, b1 + b2) - log(b2 + i) - log_beta(1 + i, b2) - log_beta(a1, b1))
        for i in range(a2)
    )


def by_brute_force(rates: list[Observation], steps: int = 20_000) -> list[float]:
    """Integrate by the midpoint rule on an even grid over all of 0 to 1."""
    best = [0.0] * len(rates)
    below = [0.0] * len(rates)
    for step in range(steps):
        x = (step + 0.5) / steps
        masses = [
            exp(
                each.engaged * log(x)
                + (each.accepted - each.engaged) * log(1 - x)
                - log_beta(1 + each.engaged, 1 + each.accepted - each.engaged)
            )
            / steps
            for each in rates
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
def test_two_rates_have_the_probabilities_of_the_closed_form(
    first: Observation, second: Observation
) -> None:
    probabilities = probabilities_of_being_best([first, second])
    assert probabilities[1] == pytest.approx(exactly(first, second), abs=1e-6)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Observation(0, 0), Observation(0, 0)),
        (Observation(1, 1), Observation(1, 0)),
        (Observation(100_000, 1000), Observation(100_000, 1090)),
        (Observation(100_000, 0), Observation(100_000, 3)),
        (Observation(10, 0), Observation(100_000, 30_000)),
        (Observation(100_000, 99_999), Observation(5, 5)),
        (Observation(100_000, 50_000), Observation(100_000, 10)),
    ],
)
def test_the_closed_form_holds_for_large_and_for_unequal_counts(
    first: Observation, second: Observation
) -> None:
    probabilities = probabilities_of_being_best([first, second])
    assert probabilities[1] == pytest.approx(exactly(first, second), abs=1e-6)


@pytest.mark.parametrize(
    "rates",
    [
        [Observation(20, 3), Observation(30, 6), Observation(25, 2)],
        [Observation(0, 0), Observation(200, 30), Observation(10, 3), Observation(50, 6)],
        [Observation(9, 0), Observation(12, 12), Observation(4, 4)],
    ],
)
def test_more_rates_have_the_probabilities_of_brute_force(rates: list[Observation]) -> None:
    assert probabilities_of_being_best(rates) == pytest.approx(by_brute_force(rates), abs=1e-5)


def test_a_probability_is_how_often_a_rate_is_the_best_of_random_draws() -> None:
    rates = [Observation(400, 40), Observation(380, 50), Observation(410, 30), Observation(20, 3)]
    draw, wins, draws = random.Random(20260131), [0] * 4, 40_000
    for _ in range(draws):
        drawn_rates = [
            draw.betavariate(1 + each.engaged, 1 + each.accepted - each.engaged) for each in rates
        ]
        wins[drawn_rates.index(max(drawn_rates))] += 1
    probabilities = probabilities_of_being_best(rates)
    assert [win / draws for win in wins] == pytest.approx(probabilities, abs=0.01)


@given(st.lists(observations(), min_size=2, max_size=6))
@settings(max_examples=40)
def test_the_probabilities_add_up_and_do_not_depend_on_the_order(rates: list[Observation]) -> None:
    probabilities = probabilities_of_being_best(rates)
    assert sum(probabilities) == pytest.approx(1)
    assert all(-1e-9 <= each <= 1 + 1e-9 for each in probabilities)
    reversed_probabilities = probabilities_of_being_best(rates[::-1])
    assert reversed_probabilities[::-1] == pytest.approx(probabilities, abs=1e-9)


def test_equal_observations_are_equally_probable() -> None:
    assert probabilities_of_being_best([Observation(50, 5)] * 5) == pytest.approx([0.2] * 5)


def test_more_engaged_than_accepted_messages_count_as_all_of_them() -> None:
    assert probabilities_of_being_best([Observation(2, 5), Observation(9, 1)]) == pytest.approx(
        probabilities_of_being_best([Observation(5, 5), Observation(9, 1)])
    )


def test_large_counts_take_no_longer() -> None:
    def decide(accepted: int) -> None:
        probabilities_of_being_best([Observation(accepted, accepted // 10 + i) for i in range(5)])

    assert_growth(decide, 1000, 100_000_000)
