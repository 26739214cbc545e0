from __future__ import annotations

import pytest

from chalicelib.core import clock
from chalicelib.webhooks import lookup
from chalicelib.webhooks.store import webhooks as webhook_store
from tests.fake_cloud import aws_requests
from tests.unit.webhooks.store.test_webhooks import NINE, webhook

pytestmark = pytest.mark.usefixtures("cloud")


@pytest.mark.cost
def test_webhooks_are_cached_for_a_few_seconds() -> None:
    moment = [NINE]
    with clock.use(lambda: moment[0]), aws_requests() as requests:
        assert lookup.collecting(1) == []
        webhook_store.create(webhook("a"))
        moment[0] += 4.9
        assert lookup.collecting(1) == []
        moment[0] += 0.2
        assert [each.id for each in lookup.collecting(1)] == ["a"]
    assert [each.operation for each in requests].count("Query") == 2


def test_a_new_webhook_collects_events_after_a_minute_even_from_the_cache() -> None:
    webhook_store.create(webhook("a", created_ms=int(NINE * 1000)))
    with clock.use(lambda: NINE + 59):
        assert lookup.collecting(1) == []
    with clock.use(lambda: NINE + 61):
        assert [each.id for each in lookup.collecting(1)] == ["a"]
