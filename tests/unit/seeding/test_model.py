from __future__ import annotations

from dataclasses import replace

import pytest

from chalicelib.seeding.model import Config, Counter, Seeding
from tests.unit.seeding.examples import HOUR, SPRING, START

SEEDING = Seeding(START, 1000, 20, START + 24 * HOUR)


@pytest.mark.spec("2.12-t1")
@pytest.mark.spec("2.12-t2")
@pytest.mark.spec("2.12-t3")
def test_a_config_has_defaults() -> None:
    config = Config(match=("a",))
    assert (config.threshold, config.duration, config.reset) == (10_000, 30, 24)
    assert (config.duration_ms, config.reset_ms) == (1_800_000, 86_400_000)


@pytest.mark.spec("2.12-t4")
@pytest.mark.spec("2.12-t5")
@pytest.mark.parametrize(
    ("rules", "campaign", "covered"),
    [
        ({"match": ("news",)}, "news", True),
        ({"match": ("news",)}, "news-1", False),
        ({"match": ("news",)}, "News", False),
        ({"match": ("news-*",)}, "news-1", True),
        ({"match": ("news-*",)}, "news-", True),
        ({"match": ("news-*",)}, "news", False),
        ({"match": ("a", "news*")}, "news", True),
        ({"match": ("n*s",)}, "news", False),
        ({"match": ("n*s",)}, "n*s", True),
        ({"match": ("n*s*",)}, "n*s-1", True),
        ({"match": ("*",)}, "anything", True),
        ({"match": ("*",)}, "", False),
        ({"match": ("*",)}, "ü" * 32, True),
        ({"match": ("*",)}, "ü" * 32 + "x", False),
        ({"exclude": ("news",)}, "news", False),
        ({"exclude": ("news",)}, "news-1", True),
        ({"exclude": ("news*", "a")}, "news-1", False),
        ({"exclude": ("news*", "a")}, "b", True),
        ({"exclude": ("*",)}, "b", False),
        ({"exclude": ("a",)}, "", False),
        ({"exclude": ("a",)}, "x" * 65, False),
    ],
)
def test_rules_are_campaign_ids_or_prefixes_with_an_asterisk(
    rules: dict[str, tuple[str, ...]], campaign: str, covered: bool
) -> None:
    assert Config(**rules).covers(campaign) is covered


def test_after_the_reset_hours_a_counter_starts_again() -> None:
    counter = Counter(SPRING, 1256, 1, SEEDING)
    assert counter.at(START + 24 * HOUR - 1) == counter
    assert counter.at(START + 24 * HOUR) == Counter(SPRING, 0, 1)
    counting = replace(counter, seeding=None)
    assert counting.at(START + 100 * HOUR) == counting
