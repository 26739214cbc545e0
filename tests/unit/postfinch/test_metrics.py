"""Metrics: totals and reports of a time, as tables and as JSON."""

from __future__ import annotations

import json
import time
from typing import Any

from chalicelib.metrics.model import DIMENSIONS
from chalicelib.metrics.rollup import roll_up_pending
from postfinch.commands.metrics import By
from tests.unit.calling import Client
from tests.unit.metrics.examples import mail, record
from tests.unit.postfinch.api_server import run

NOW_MS = int(time.time() * 1000)
DAY_MS = 86_400_000


def metrics(*arguments: str) -> Any:
    return json.loads(run("metrics", "--json", *arguments))


def record_mail() -> None:
    spring = [mail(1, n, campaign="spring, new") for n in range(3)]
    autumn = [mail(1, n, campaign="autumn") for n in range(3, 5)]
    old = mail(1, 9, campaign="spring, new")
    record(
        [
            *(message.event("delivery", NOW_MS, num_retries="0") for message in spring),
            autumn[0].event("delivery", NOW_MS, num_retries="0"),
            autumn[1].event("bounce", NOW_MS, bounce_class="10", reason="550", num_retries="0"),
            old.event("delivery", NOW_MS - 3 * DAY_MS, num_retries="0"),
        ]
    )
    roll_up_pending()


def test_totals_are_of_the_last_day_unless_another_time_is_chosen(account: Client) -> None:
    record_mail()
    totals = metrics()
    assert (totals["count_sent"], totals["count_delivered"], totals["count_bounce"]) == (5, 4, 1)
    assert metrics("--last", "7d", "--metrics", "delivered") == {"count_delivered": 5}
    assert metrics("--from", "2026-01-01T00:00", "--to", "2026-01-02T00:00", "-m", "sent") == {
        "count_sent": 0
    }
    assert "Delivered\t4\n" in run("metrics")


def test_a_report_has_a_row_for_each_value(account: Client) -> None:
    record_mail()
    rows = metrics("--by", "campaign", "-m", "delivered,bounce", "--order-by", "bounce")
    assert [row["campaign_id"] for row in rows] == ["autumn", "spring, new"]
    assert rows[0] == {"campaign_id": "autumn", "count_delivered": 1, "count_bounce": 1}
    assert (
        run("metrics", "--by", "campaign", "-m", "delivered", "--limit", "1") == "spring, new\t3\n"
    )
    assert metrics("--campaign", "spring, new", "-m", "sent,bounce")["count_sent"] == 3
    rows = metrics("--by", "time", "--precision", "day", "--last", "7d", "-m", "delivered")
    assert sum(row["count_delivered"] for row in rows) == 5


def test_every_report_of_the_service_can_be_chosen(account: Client) -> None:
    record_mail()
    assert {each.name for each in DIMENSIONS} <= set(By)
    for each in By:
        metrics("--by", each)
    assert metrics("--by", "bounce-classification")[0]["count_bounce"] == 1


def test_mistakes_are_told(account: Client) -> None:
    assert "--last must be like" in run("metrics", "--last", "7", code=2)
    assert "exclude each other" in run("metrics", "--last", "7d", "--from", "x", code=2)
    assert "--to needs --from" in run("metrics", "--to", "2026-01-02T00:00", code=2)
    assert "--timezone needs --from" in run("metrics", "--timezone", "Europe/Berlin", code=2)
