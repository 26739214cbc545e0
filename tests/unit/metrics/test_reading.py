from __future__ import annotations

import pytest

from chalicelib.core import dynamo
from chalicelib.metrics import reading
from chalicelib.metrics.counting import BOUNCES, DELAYS
from chalicelib.metrics.delta import Delta
from chalicelib.metrics.filters import Filter, read_simple
from chalicelib.metrics.levels import DAY, HOUR, MINUTE, spans
from chalicelib.metrics.model import CAMPAIGN, DOMAIN
from chalicelib.metrics.query_filters import parse
from chalicelib.metrics.reading import rows, select
from chalicelib.metrics.rollup import roll_up_pending
from chalicelib.metrics.store import counters, pending
from tests.fake_cloud import aws_requests
from tests.unit.metrics.examples import mail

DAYS = 20_486
#: A minute of a day that is not the first of a partition
NOON = DAYS * 1440 + 720

UNLIKE = parse('{"groupings":[{"AND":{"domains":{"notEq":["x.test"]}}}]}')


@pytest.mark.parametrize(
    ("filter", "by", "facet", "name", "keys"),
    [
        (Filter(), (), "", "all", ("",)),
        (Filter(), (DOMAIN,), "", "domain", None),
        (read_simple({"domains": "a.test,b.test"}), (), "", "domain", ["a.test", "b.test"]),
        (read_simple({"domains": "a.test"}), (DOMAIN,), "", "domain", ["a.test"]),
        (UNLIKE, (DOMAIN,), "", "domain", None),
        (read_simple({"domains": "a.test"}), (CAMPAIGN,), "", "tuples", None),
        (read_simple({"campaigns": "b,a"}), (DOMAIN,), "", "tuples", ["a", "b"]),
        (Filter(), (), BOUNCES, "bounce", None),
        (Filter(), (DOMAIN,), BOUNCES, "bounce-tuples", None),
        (read_simple({"campaigns": "a"}), (), DELAYS, "delay-tuples", ["a"]),
    ],
)
def test_the_smallest_partitions_that_can_answer_are_read(
    filter: Filter, by: tuple[object, ...], facet: str, name: str, keys: object
) -> None:
    selection = select(filter, by, facet)  # type: ignore[arg-type]
    assert (selection.name, selection.keys) == (name, keys)


@pytest.fixture
def counters_at_noon(cloud: None) -> None:
    """Count mail of two campaigns to three domains at noon, and of one campaign an hour later."""
    delta = Delta()
    for campaign in ("a", "b"):
        for domain in ("x.test", "y.test", "z.test"):
            message = mail(1, campaign=campaign, domain=domain)
            delta.add(message.event("injection", NOON * 60_000))
    delta.add(mail(1, campaign="a").event("injection", (NOON + 60) * 60_000))
    dynamo.transact(pending.additions(1, delta))
    roll_up_pending()


def number(filter: Filter, start: int = NOON, end: int = NOON + 1) -> int:
    return sum(row.counts["i"] for row in rows(1, list(spans(start, end)), filter))


@pytest.mark.usefixtures("counters_at_noon")
def test_rows_are_within_the_spans_and_pass_the_filter() -> None:
    assert number(Filter()) == 6
    assert number(Filter(), NOON, NOON + 61) == 7
    assert number(Filter(), NOON - 9, NOON) == 0
    assert number(read_simple({"campaigns": "a"}), DAYS * 1440, (DAYS + 1) * 1440) == 4
    assert number(read_simple({"campaigns": "a,b", "domains": "y.test"})) == 2
    assert number(UNLIKE) == 4
    assert number(read_simple({"domains": "unheard.test"})) == 0
    contradiction = (
        '{"groupings":[{"AND":{"domains":{"eq":["x.test"]}}},{"AND":{"domains":{"eq":["y"]}}}]}'
    )
    assert number(parse(contradiction)) == 0
    assert sum(row.counts["i"] for row in rows(2, list(spans(NOON, NOON + 1)), Filter())) == 0


@pytest.mark.usefixtures("counters_at_noon")
def test_a_row_has_its_level_minute_and_values() -> None:
    (row,) = rows(1, list(spans(NOON, NOON + 1)), read_simple({"domains": "x.test"}))
    assert (row.minute, row.values[0], row.label) == (NOON, "x.test", "")
    both = read_simple({"domains": "x.test", "campaigns": "a"})
    (row,) = rows(1, list(spans(NOON, NOON + 60)), both)
    assert (row.level, row.minute, row.values[:2]) == (HOUR, NOON, ("x.test", "a"))


@pytest.mark.cost
@pytest.mark.usefixtures("counters_at_noon")
@pytest.mark.parametrize(("names", "operation"), [(20, "BatchGetItem"), (21, "Query")])
def test_up_to_20_named_values_are_read_by_key_and_more_by_time(names: int, operation: str) -> None:
    domains = ["x.test", *(f"{n}.test" for n in range(names - 1))]
    span = list(spans(DAYS * 1440, (DAYS + 1) * 1440))
    with aws_requests() as requests:
        (row,) = rows(1, span, read_simple({"domains": ",".join(domains)}))
    assert row.counts["i"] == 3
    assert [each.operation for each in requests] == [operation]


@pytest.mark.cost
@pytest.mark.usefixtures("counters_at_noon")
def test_named_values_are_read_by_time_if_they_take_too_many_keys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reading, "MOST_KEYS", 10)
    minutes = list(spans(NOON - 10, NOON + 1, MINUTE))
    with aws_requests() as requests:
        assert len(list(rows(1, minutes, read_simple({"domains": "x.test"})))) == 1
    assert [each.operation for each in requests] == ["Query", "Query"]


@pytest.mark.cost
@pytest.mark.usefixtures("counters_at_noon")
def test_combinations_are_read_by_campaign_if_the_filter_names_campaigns() -> None:
    span = list(spans(DAYS * 1440, (DAYS + 1) * 1440))
    for query, most in (({"campaigns": "a"}, 3), ({"campaigns": "a,b"}, 6), ({}, 6)):
        with aws_requests() as requests:
            list(rows(1, span, read_simple(query), [DOMAIN, CAMPAIGN]))
        assert len(requests) == max(1, len(query.get("campaigns", "").split(",")))
        assert len(list(rows(1, span, read_simple(query), [DOMAIN, CAMPAIGN]))) == most


@pytest.mark.cost
@pytest.mark.usefixtures("cloud")
@pytest.mark.parametrize(
    ("days", "most"),
    [(1, 1), (31, 2), (184, 3)],
)
def test_a_long_window_takes_few_requests(days: int, most: int) -> None:
    with aws_requests() as requests:
        list(rows(1, list(spans(NOON + 7, NOON + 7 + days * 1440)), Filter()))
    assert len(requests) <= most


def test_a_partition_key_names_account_dimension_level_and_time() -> None:
    assert counters.partition(1, "domain", DAY, 7) == "1#domain#day#7"
    assert counters.tuples_of("") == "tuples"
    assert counters.tuples_of(BOUNCES) == "bounce-tuples"
