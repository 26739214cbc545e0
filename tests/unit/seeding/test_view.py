from __future__ import annotations

from chalicelib.seeding.model import Config, Counter, Seeding
from chalicelib.seeding.view import counter_view
from tests.unit.seeding.examples import HOUR, SPRING, START

SEEDING = Seeding(START, 1000, 20, START + 24 * HOUR)
CONFIG = Config(threshold=5000, duration=40, match=("*",))


def test_a_campaign_before_its_threshold_shows_the_present_config() -> None:
    view = counter_view(Counter(SPRING, 7, 1), CONFIG)
    assert view == {
        "campaign": "spring",
        "sending_domain": "mail.example.test",
        "count": 7,
        "threshold": 5000,
        "seed_start": None,
        "duration": 40,
    }


def test_a_seeded_campaign_shows_the_config_of_that_time() -> None:
    campaign = SPRING._replace(subaccount_id=7)
    counter = Counter(campaign, 1256, 1, SEEDING)
    view = counter_view(counter, CONFIG)
    assert (view["threshold"], view["duration"]) == (1000, 20)
    assert view["seed_start"] == START
    assert view["subaccount_id"] == 7
