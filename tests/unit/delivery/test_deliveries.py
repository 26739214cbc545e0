"""The journal tells of deliveries, wherever and in which of its units a message was delivered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from chalicelib.core.settings import settings
from chalicelib.delivery import deliveries
from chalicelib.delivery.deliveries import Delivery
from chalicelib.delivery.outcome import Delivered, Failed, Outcome, Retry, to_dict
from chalicelib.delivery.store.journal import open_journal
from chalicelib.delivery.store.work_units import SINGLE, Generation, WorkUnit, record_generation
from tests.fake_cloud import aws_requests

pytestmark = pytest.mark.usefixtures("cloud")

#: One whose chunks are in partitions of their own, and one of before
TRANSMISSIONS = ("391930000000000001", "191930000000000001")
DELIVERED = Delivered(250, "ok", "192.0.2.7", sending_ip="10.0.0.1")
DEFERRED = Retry(451, "later", 20)
REFUSED = Failed(550, "no", 10)


@pytest.fixture(params=["file", "table"], autouse=True)
def journal(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "file":
        monkeypatch.setenv("DELIVERY_JOURNAL", str(tmp_path))
        settings.cache_clear()
    return str(request.param)


def record(unit: WorkUnit, index: int, outcome: Outcome, at_ms: int = 5, **route: Any) -> None:
    if unit.is_single:
        assert isinstance(record_generation(unit, 1, to_deliver=True), Generation)
    journal = open_journal(unit)
    journal.record(index, {"at": at_ms, "outcome": to_dict(outcome), "route": route})
    journal.close(completed=False)


@pytest.mark.parametrize("transmission", TRANSMISSIONS)
def test_deliveries_are_found_in_the_unit_and_in_those_that_continue_it(transmission: str) -> None:
    record(WorkUnit(transmission, "3"), 300, DELIVERED, ip_pool="warm", sending_ip="192.0.2.1")
    for index, outcome in ((301, DEFERRED), (302, REFUSED)):
        record(WorkUnit(transmission, "3"), index, outcome, ip_pool="warm")
    record(WorkUnit(transmission, "3dcd"), 301, DELIVERED, at_ms=9, ip_pool="warm")
    record(WorkUnit(transmission, "30"), 303, DELIVERED, ip_pool="other chunk")
    assert deliveries.of_unit(transmission, "3") == {
        300: Delivery({"ip_pool": "warm", "sending_ip": "192.0.2.1"}, 5, 0),
        301: Delivery({"ip_pool": "warm", "sending_ip": "10.0.0.1"}, 9, 2),
    }


@pytest.mark.parametrize("name", [SINGLE, f"{SINGLE}d"])
def test_the_delivery_of_a_transmissions_only_message_is_found(name: str) -> None:
    record(WorkUnit(TRANSMISSIONS[0], name), 0, DELIVERED)
    (delivery,) = deliveries.of_unit(TRANSMISSIONS[0], SINGLE).values()
    assert delivery == Delivery({"sending_ip": "10.0.0.1"}, 5, name.count("d"))


def test_the_deliveries_of_a_completed_unit_are_found_while_its_journal_is_kept() -> None:
    unit = WorkUnit(TRANSMISSIONS[0], "0")
    record(unit, 0, DELIVERED)
    open_journal(unit).close(completed=True)
    assert set(deliveries.of_unit(unit.transmission_id, "0")) == {0}


@pytest.mark.cost
def test_a_unit_takes_one_request(journal: str) -> None:
    with aws_requests() as requests:
        assert deliveries.of_unit(TRANSMISSIONS[0], "3") == {}
    assert [each.operation for each in requests] == ["Query"] * (journal == "table")
