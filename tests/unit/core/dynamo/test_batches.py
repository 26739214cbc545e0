from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core import aws
from chalicelib.core.dynamo import Table
from tests.fake_cloud import aws_requests
from tests.unit.core.dynamo.pauses import are_about

config = Table("config")
messages = Table("messages")


@pytest.mark.cost
def test_writes_fill_batches_of_25(cloud: None) -> None:
    items = [{"pk": "p", "sk": f"{n:02}"} for n in range(51)]
    with aws_requests() as requests:
        config.write_all(items)
    assert [len(each.parameters["RequestItems"][config.name]) for each in requests] == [25, 25, 1]
    with aws_requests() as requests:
        config.write_all([{"pk": "p", "sk": "new"}], delete=[("p", f"{n:02}") for n in range(51)])
    assert len(requests) == 3
    assert list(config.query_all("#pk = :pk", {"pk": "p"})) == [{"pk": "p", "sk": "new"}]


@pytest.mark.cost
def test_nothing_to_write_or_get_costs_no_request(cloud: None) -> None:
    with aws_requests() as requests:
        config.write_all([])
        assert config.get_all([]) == []
    assert requests == []


@pytest.mark.cost
def test_reads_fill_batches_of_100_and_skip_missing_items(cloud: None) -> None:
    config.write_all([{"pk": "p", "sk": "1"}, {"pk": "p", "sk": "150"}])
    with aws_requests() as requests:
        items = config.get_all(("p", str(n)) for n in range(151))
    assert sorted(item["sk"] for item in items) == ["1", "150"]
    tables = [each.parameters["RequestItems"] for each in requests]
    assert [len(each[config.name]["Keys"]) for each in tables] == [100, 51]


@pytest.mark.parametrize("consistent", [True, False])
def test_reads_in_batches_are_consistent_when_asked_to_be(cloud: None, consistent: bool) -> None:
    with aws_requests() as requests:
        config.get_all([("p", "1")], consistent=consistent)
    (request,) = requests
    table_request = request.parameters["RequestItems"][config.name]
    assert table_request.get("ConsistentRead", False) is consistent


class Busy:
    """A client that leaves the second half of a request unprocessed, ``times`` times."""

    def __init__(self, real: Any, times: int) -> None:
        self._real, self.times = real, times

    def batch_write_item(self, RequestItems: dict[str, Any]) -> Any:
        ((name, requests),) = RequestItems.items()
        done, rest = self._split(requests)
        if done:
            self._real.batch_write_item(RequestItems={name: done})
        return {"UnprocessedItems": {name: rest} if rest else {}}

    def batch_get_item(self, RequestItems: dict[str, Any]) -> Any:
        ((name, request),) = RequestItems.items()
        done, rest = self._split(request["Keys"])
        response = self._real.batch_get_item(RequestItems={name: {"Keys": done}}) if done else {}
        return {
            "Responses": response.get("Responses", {}),
            "UnprocessedKeys": {name: {"Keys": rest}} if rest else {},
        }

    def _split(self, entries: list[Any]) -> tuple[list[Any], list[Any]]:
        middle = len(entries) // 2 if self.times else len(entries)
        self.times -= 1
        return entries[:middle], entries[middle:]


def _serve(monkeypatch: pytest.MonkeyPatch, client: Any) -> None:
    monkeypatch.setattr(aws, "dynamodb", lambda: client)


def test_unprocessed_entries_are_sent_again_after_growing_pauses(
    cloud: None, monkeypatch: pytest.MonkeyPatch, no_pauses: list[float]
) -> None:
    items = [{"pk": "p", "sk": f"{n}"} for n in range(10)]
    real = aws.dynamodb()
    _serve(monkeypatch, Busy(real, times=3))
    config.write_all(items)
    _serve(monkeypatch, Busy(real, times=3))
    read_back = config.get_all(("p", f"{n}") for n in range(10))
    assert sorted(read_back, key=lambda item: item["sk"]) == items
    assert are_about(no_pauses, [0.025, 0.05, 0.1] * 2)


def test_a_table_that_stays_busy_is_an_error_after_some_seconds(
    cloud: None, monkeypatch: pytest.MonkeyPatch, no_pauses: list[float]
) -> None:
    _serve(monkeypatch, Busy(aws.dynamodb(), times=1000))
    with pytest.raises(RuntimeError, match="writes were refused"):
        config.write_all([{"pk": "p", "sk": "1"}])
    assert 3 < sum(no_pauses) < 15
    with pytest.raises(RuntimeError, match="reads were refused"):
        config.get_all([("p", "1")])
