"""Compute the probability of each of several rates to be the highest, from observations.

Of ``accepted`` messages ``engaged`` were opened or clicked. With a uniform prior the rate behind
that has the distribution Beta(1 + engaged, 1 + accepted - engaged). A rate is the highest with
probability ``∫ f(x) ∏ F(x) dx``: ``f`` is its own density, each ``F`` another rate's distribution
function. The closed forms are sums with as many terms as the counts are large and, for more than
two rates, sums of sums. So the integral is taken numerically, in a time that depends only on the
number of rates.

All densities are evaluated on one grid, which is fine wherever one of them changes fast: around
each mean, in steps of a twentieth of its standard deviation that grow outwards, up to 45 deviations
away. From point to point both the distribution functions and the integral follow the parabola
through the ends and the middle (Simpson's rule). Against exact values the error stays below 1e-6.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import exp, lgamma, log, log1p, sinh, sqrt
from operator import mul

_STEP = 0.05
_STEPS = 90


@dataclass(frozen=True, slots=True)
class Observation:
    """The messages of one template that were accepted, and those that were engaged."""

    accepted: int
    engaged: int


@dataclass(frozen=True, slots=True)
class _Panel:
    """An interval between two points of the grid, with densities at its ends and in the middle."""

    width: float
    start: list[float]
    middle: list[float]
    end: list[float]


def probabilities_of_being_best(observations: Sequence[Observation]) -> list[float]:
    """Return the probability of each rate to be the highest; they add up to 1."""
    best = [0.0] * len(observations)
    below = [0.0] * len(observations)  # the distribution functions at the start of the panel
    for panel in _panels([_beta(each) for each in observations]):
        halfway, beyond = _advanced(below, panel)
        ends = zip(_without_one(below), _without_one(halfway), _without_one(beyond), strict=True)
        for i, (start, middle, end) in enumerate(ends):
            height = panel.start[i] * start + 4 * panel.middle[i] * middle + panel.end[i] * end
            best[i] += panel.width * height / 6
        below = beyond
    total = sum(best)
    return [each / total for each in best]


def _beta(observation: Observation) -> tuple[int, int]:
    """Return the parameters of the posterior distribution, both at least 1."""
    accepted = max(observation.accepted, observation.engaged)
    return 1 + observation.engaged, 1 + accepted - observation.engaged


def _panels(betas: Sequence[tuple[int, int]]) -> Iterator[_Panel]:
    points = _grid(betas)
    middles = [(low + high) / 2 for low, high in pairwise(points)]
    at_points = list(zip(*(_densities(beta, points) for beta in betas), strict=True))
    at_middles = list(zip(*(_densities(beta, middles) for beta in betas), strict=True))
    for k, (low, high) in enumerate(pairwise(points)):
        yield _Panel(high - low, list(at_points[k]), list(at_middles[k]), list(at_points[k + 1]))


def _grid(betas: Sequence[tuple[int, int]]) -> list[float]:
    points = {0.0, 1.0}
    for a, b in betas:
        mean = a / (a + b)
        deviation = sqrt(mean * (1 - mean) / (a + b + 1))
        around = (mean + deviation * sinh(_STEP * i) for i in range(-_STEPS, _STEPS + 1))
        points.update(x for x in around if 0 < x < 1)
    return sorted(points)


def _densities(beta: tuple[int, int], points: Sequence[float]) -> list[float]:
    a, b = beta
    scale = lgamma(a + b) - lgamma(a) - lgamma(b)
    inside = [exp(scale + (a - 1) * log(x) + (b - 1) * log1p(-x)) for x in points if 0 < x < 1]
    if len(inside) == len(points):
        return inside
    # The ends of the grid, where a logarithm would fail: a density is not 0 there only if flat
    return [float(b) if a == 1 else 0.0, *inside, float(a) if b == 1 else 0.0]


def _advanced(below: Sequence[float], panel: _Panel) -> tuple[list[float], list[float]]:
    """Return the distribution functions in the middle and at the end of a panel."""
    halfway, beyond = [], []
    for before, start, middle, end in zip(below, panel.start, panel.middle, panel.end, strict=True):
        halfway.append(before + panel.width * (5 * start + 8 * middle - end) / 24)
        beyond.append(before + panel.width * (start + 4 * middle + end) / 6)
    return halfway, beyond


def _without_one(factors: Sequence[float]) -> list[float]:
    """Return, for each factor, the product of all the others."""
    before = accumulate(factors[:-1], mul, initial=1.0)
    behind = list(accumulate(reversed(factors[1:]), mul, initial=1.0))
    return list(map(mul, before, reversed(behind)))
