"""The API reports the same numbers as a second count of the recorded events (``recount``)."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chalicelib.core.message_event import Event
from chalicelib.metrics.model import EVENT_COUNTERS, PLACEMENT_METRICS
from chalicelib.metrics.rollup import roll_up_pending
from chalicelib.metrics.totals import totals
from tests.unit.calling import Client
from tests.unit.metrics import examples, recount
from tests.unit.metrics.examples import random_events, record
from tests.unit.metrics.recount import RecordedEvent, passes, recorded_events
from tests.unit.people import make_account, make_key

pytestmark = pytest.mark.usefixtures("local_cloud")

ACCOUNTS = itertools.count(100)
PATH = "/api/v1/metrics/deliverability"
#: The mail is three days old at most, so that no counter has expired
TODAY = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
BEGIN = TODAY - timedelta(days=3)
ZONES = ("UTC", "America/New_York", "Asia/Kolkata", "Asia/Kathmandu", "Australia/Lord_Howe")
DIVISIONS = {
    "domain": ("domains", "domain"),
    "campaign": ("campaigns", "campaign_id"),
    "template": ("templates", "template_id"),
    "sending-ip": ("sending_ips", "sending_ip"),
    "ip-pool": ("ip_pools", "ip_pool"),
    "subaccount": ("subaccounts", "subaccount_id"),
    "mailbox-provider": ("mailbox_providers", "mailbox_provider"),
    "subject-campaign": ("subject_campaigns", "subject_campaign"),
}

values = {
    "domains": st.sampled_from(examples.DOMAINS),
    "campaigns": st.sampled_from((*examples.CAMPAIGNS[1:], "unknown")),
    "subaccounts": st.sampled_from(("0", "7", "12")),
    "mailbox_providers": st.sampled_from(("Gmail", "Yahoo")),
    "subject_campaigns": st.sampled_from(("Subject 0", "Subject 1")),
    "sending_ips": st.sampled_from(("192.0.2.1", "192.0.2.2")),
}
keys = st.sampled_from(sorted(values))


@st.composite
def simple_filters(draw: st.DrawFn) -> dict[str, str]:
    filter_keys = draw(st.sets(keys, max_size=2))
    return {
        key: ",".join(draw(st.sets(values[key], min_size=1, max_size=2))) for key in filter_keys
    }


@st.composite
def advanced_filters(draw: st.DrawFn) -> dict[str, str]:
    groups = []
    for _ in range(draw(st.integers(1, 2))):
        filters = {
            key: {
                draw(st.sampled_from(("eq", "notEq", "like", "notLike"))): [
                    text[:5] if draw(st.booleans()) and len(text) > 2 else text + "   "[len(text) :]
                    for text in draw(st.sets(values[key], min_size=1, max_size=2))
                ]
            }
            for key in draw(st.sets(keys, min_size=1, max_size=2))
        }
        groups.append({draw(st.sampled_from(("AND", "OR"))): filters})
    return {"query_filters": json.dumps({"groupings": groups})}


@st.composite
def windows(draw: st.DrawFn) -> tuple[dict[str, str], datetime, datetime]:
    """Draw query parameters; return them with the start and the end of their window."""
    zone = ZoneInfo(draw(st.sampled_from(ZONES)))
    precision, minutes = draw(
        st.sampled_from([("1min", 1), ("5min", 5), ("15min", 15), ("hour", 60), ("day", 1440)])
    )
    longest = {"1min": 24, "5min": 24, "15min": 48}.get(precision, 96)
    start = BEGIN.replace(tzinfo=None) + timedelta(minutes=draw(st.integers(0, 3 * 1440)))
    end = start + timedelta(minutes=draw(st.integers(1, longest * 60)))
    parameters = {
        "from": f"{start:%Y-%m-%dT%H:%M}",
        "to": f"{end:%Y-%m-%dT%H:%M}",
        "timezone": zone.key,
        "precision": precision,
    }
    if precision == "day":
        zone = ZoneInfo("UTC")
    low = start - timedelta(minutes=(start.hour * 60 + start.minute) % minutes)
    high = end + timedelta(minutes=-(end.hour * 60 + end.minute) % minutes)
    return parameters, low.replace(tzinfo=zone), high.replace(tzinfo=zone)


@dataclass(frozen=True)
class Account:
    """An account's client, and the recorded events of its mail."""

    client: Client
    events: list[RecordedEvent]

    def matching(
        self, low: datetime, high: datetime, filters: Mapping[str, str]
    ) -> list[RecordedEvent]:
        """Return the events of a window that pass the filters."""
        return [each for each in within(self.events, low, high) if passes(each, filters)]

    def __repr__(self) -> str:
        return f"Account({len(self.events)} events)"


@pytest.fixture(scope="module")
def account(local_cloud: None) -> Account:
    """An account whose events were recorded in several batches, some of them twice."""
    account_id = next(ACCOUNTS)
    make_account(account_id)
    client = make_key(account_id)
    events = random_events(account_id, 5, 160, ms(BEGIN), ms(TODAY + timedelta(days=1)))
    for start in range(0, len(events), 40):
        record(events[start : start + 40])
        if start == 80:
            roll_up_pending()
            record(events[start - 20 : start + 20])
    roll_up_pending()
    return Account(client, recorded_events(events))


def ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def get(client: Client, path: str, query: dict[str, Any]) -> Any:
    return client.get(f"{path}?{urlencode(query)}").results


def within(events: list[RecordedEvent], low: datetime, high: datetime) -> list[RecordedEvent]:
    return [each for each in events if ms(low) <= each.event["timestamp"] < ms(high)]


def served(names: Sequence[str], filters: Mapping[str, str]) -> tuple[str, ...]:
    """Return those metrics that the API counts by these filters: only placements by subject."""
    by_subject = "subject_campaigns" in str(filters)
    return tuple(name for name in names if name in PLACEMENT_METRICS or not by_subject)


quick = settings(
    max_examples=15,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@quick
@given(window=windows(), filters=simple_filters() | advanced_filters())
@pytest.mark.spec("4.11-t12")
@pytest.mark.spec("4.11-t5")
@pytest.mark.spec("4.11-t6")
@pytest.mark.spec("4.11-t7")
@pytest.mark.spec("4.11-r2")
def test_a_summary_equals_the_recount_of_its_events(
    account: Account,
    window: tuple[dict[str, str], datetime, datetime],
    filters: dict[str, str],
) -> None:
    parameters, low, high = window
    names = served(recount.METRICS, filters)
    (summary,) = get(account.client, PATH, parameters | filters | {"metrics": ",".join(names)})
    events = account.matching(low, high, filters)
    assert summary == {name: recount.metric(name, events) for name in names}


@quick
@given(
    window=windows(),
    filters=simple_filters() | advanced_filters(),
    division=st.sampled_from(sorted(DIVISIONS)),
)
@pytest.mark.spec("4.11-t13")
def test_the_rows_of_every_dimension_equal_the_recount(
    account: Account,
    window: tuple[dict[str, str], datetime, datetime],
    filters: dict[str, str],
    division: str,
) -> None:
    parameters, low, high = window
    filter_key, key = DIVISIONS[division]
    names = served(
        ("count_targeted", "count_unique_clicked", "count_inbox_seed", "total_msg_volume"),
        {**filters, filter_key: ""},
    )
    query = parameters | filters | {"metrics": ",".join(names)}
    rows = get(account.client, f"{PATH}/{division}", query)
    events = account.matching(low, high, filters)
    expected = [
        {name: recount.metric(name, own) for name in names}
        | {key: int(value) if key == "subaccount_id" else value}
        for value in {each.value(filter_key) for each in events} - {""}
        for own in [[each for each in events if each.value(filter_key) == value]]
    ]
    assert sorted(rows, key=str) == sorted(
        [{name: row[name] for name in (key, *names)} for row in expected], key=str
    )
    assert [row[names[0]] for row in rows] == sorted(
        (row[names[0]] for row in expected), reverse=True
    )


@quick
@given(window=windows(), filters=simple_filters())
@pytest.mark.spec("4.11-t14")
def test_the_buckets_of_a_time_series_equal_the_recount(
    account: Account,
    window: tuple[dict[str, str], datetime, datetime],
    filters: dict[str, str],
) -> None:
    parameters, low, high = window
    names = served(("count_injected", "count_rendered", "count_inbox_seed"), filters)
    query = parameters | filters | {"metrics": ",".join(names)}
    rows = get(account.client, f"{PATH}/time-series", query)
    begins = [datetime.fromisoformat(row["ts"]) for row in rows]
    assert begins == sorted(begins)
    assert begins[0] == low
    events = account.matching(low, high, filters)
    for row, begin, end in zip(rows, begins, [*begins[1:], high], strict=True):
        own = within(events, begin, end)
        assert row == {name: recount.metric(name, own) for name in names} | {"ts": row["ts"]}


REASON_REPORTS: dict[str, tuple[tuple[str, ...], str]] = {
    "bounce-reason": (("bounce", "out_of_band"), "count_bounce,count_admin_bounce"),
    "rejection-reason": (recount.REJECTIONS, "count_rejected"),
    "delay-reason": (("delay",), "count_delayed,count_delayed_first"),
    "link-name": (recount.CLICKS, "count_clicked,count_raw_clicked"),
}


@quick
@given(
    window=windows(),
    filters=simple_filters().filter(lambda each: "subject_campaigns" not in each),
    report=st.sampled_from(sorted(REASON_REPORTS)),
    by_domain=st.booleans(),
)
@pytest.mark.spec("4.11-t15")
@pytest.mark.spec("4.11-t16")
@pytest.mark.spec("4.11-t18")
@pytest.mark.spec("4.11-t19")
@pytest.mark.spec("4.11-t20")
@pytest.mark.spec("4.11-t21")
@pytest.mark.spec("4.11-t22")
def test_reports_by_reason_and_by_link_equal_the_recount(
    account: Account,
    window: tuple[dict[str, str], datetime, datetime],
    filters: dict[str, str],
    report: str,
    by_domain: bool,
) -> None:
    parameters, low, high = window
    kinds, names = REASON_REPORTS[report]
    by_domain = by_domain and report != "link-name"
    path = f"{PATH}/{report}/domain" if by_domain else f"{PATH}/{report}"
    rows = get(account.client, path, parameters | filters | {"metrics": names})
    events = [each for each in account.matching(low, high, filters) if each.kind in kinds]
    expected: dict[tuple[Any, ...], list[RecordedEvent]] = {}
    for each in events:
        expected.setdefault(_place_of_event(each.event, report, by_domain), []).append(each)
    numbers = {
        _place_of_row(row, report, by_domain): [row[name] for name in names.split(",")]
        for row in rows
    }
    assert numbers == {
        place: [recount.metric(name, own) for name in names.split(",")]
        for place, own in expected.items()
    }


REJECTED = {
    "policy_rejection": "Policy Rejection",
    "generation_rejection": "Generation Rejection",
    "generation_failure": "Generation Failure",
}


def _place_of_event(event: Event, report: str, by_domain: bool) -> tuple[Any, ...]:
    domain = event["recipient_domain"] if by_domain else None
    if report == "link-name":
        return event["target_link_name"], domain
    if report == "bounce-reason":
        number = int(event["bounce_class"])
        return event["reason"], number if number != 77 else 1, domain
    if report == "rejection-reason":
        return event["reason"], REJECTED[event["type"]], domain
    return event["reason"], domain


def _place_of_row(row: dict[str, Any], report: str, by_domain: bool) -> tuple[Any, ...]:
    domain = row["domain"] if by_domain else None
    if report == "link-name":
        return row["link_name"], domain
    if report == "bounce-reason":
        return row["reason"], row["classification_id"], domain
    if report == "rejection-reason":
        return row["reason"], row["rejection_type"], domain
    return row["reason"], domain


@quick
@given(
    seed=st.integers(0, 10**6),
    rollups=st.sets(st.integers(0, 5)),
    start=st.integers(0, 4 * 1440),
    length=st.integers(0, 4 * 1440),
    filter_key=st.sampled_from([None, "campaigns", "domains", "subaccounts"]),
)
def test_totals_are_exact_with_any_deltas_pending(
    local_cloud: None,
    seed: int,
    rollups: set[int],
    start: int,
    length: int,
    filter_key: str | None,
) -> None:
    account_id = next(ACCOUNTS)
    events = random_events(account_id, seed, 12, ms(BEGIN), ms(BEGIN + timedelta(days=4)))
    for number in range(6):
        record(events[2 * number : 2 * number + 2])
        if number in rollups:
            roll_up_pending()
    low = BEGIN + timedelta(minutes=start)
    high = low + timedelta(minutes=length)
    types = ["injection", "open", "generation_failure", "policy_rejection", "delivery"]
    filter_values = {None: None, "campaigns": ["spring", "autumn"], "domains": ["x.test"]}.get(
        filter_key, ["0"]
    )
    matching = [
        each
        for each in within(recorded_events(events), low, high)
        if each.kind in types
        and (filter_key is None or each.value(filter_key) in (filter_values or ()))
    ]
    assert totals(account_id, filter_key, filter_values, ms(low), ms(high), types) == len(matching)
    assert set(types) < set(EVENT_COUNTERS)
