"""Give each parser that meets strangers' bytes some hundred hostile inputs.

``make fuzz`` gives them more.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from tests.fuzz.mutations import mutated
from tests.fuzz.targets import TARGETS, Target
from tests.unit.linear_time import FACTOR, assert_growth

BY_NAME = pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
MOST = 60_000


@BY_NAME
def test_hostile_bytes_cause_no_other_errors_than_the_declared_ones(target: Target) -> None:
    @settings(max_examples=300, suppress_health_check=list(HealthCheck))
    @given(mutated(target.seeds, target.words))
    def attempt(data: bytes) -> None:
        target.check(data)

    attempt()


@BY_NAME
def test_repeated_pieces_take_linear_time(target: Target) -> None:
    """Every seed and word is repeated alone, and after a seed."""
    for piece in dict.fromkeys(
        (*target.seeds, *target.words, b"(", b"<", b'"', b"=?", b" ", b"a.")
    ):
        times = MOST // len(piece) // FACTOR + 1
        for start in (b"", target.seeds[0]):
            assert_growth(target.check, start + piece * times, start + piece * times * FACTOR)
