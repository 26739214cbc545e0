from __future__ import annotations

import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from chalicelib.core.settings import settings
from chalicelib.tracking import geo_ip

BERLIN = {
    "country": {"iso_code": "DE"},
    "subdivisions": [{"iso_code": "BE"}],
    "city": {"names": {"en": "Berlin", "de": "Berlin"}},
    "location": {"latitude": 52.52, "longitude": 13.4},
    "postal": {"code": "10115"},
}
RECORDS: dict[str, Any] = {"192.0.2.1": BERLIN, "192.0.2.2": {"country": {"iso_code": "FR"}}}


class FakeDatabase:
    """A database of two addresses, which refuses what is no address as the real one does."""

    def get(self, ip_address: str) -> Any:
        if not ip_address.replace(".", "").isdigit():
            raise ValueError(ip_address)
        return RECORDS.get(ip_address)


def open_database(path: str) -> FakeDatabase:
    if path == "/data/damaged.mmdb":
        raise RuntimeError(path)
    if path != "/data/city.mmdb":
        raise FileNotFoundError(path)
    return FakeDatabase()


@pytest.fixture(autouse=True)
def reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package that reads databases, with one database there is."""
    monkeypatch.setitem(sys.modules, "maxminddb", SimpleNamespace(open_database=open_database))
    yield
    geo_ip._database.cache_clear()
    settings.cache_clear()


def use_database(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEOIP_DATABASE", path)
    settings.cache_clear()


def test_a_location_consists_of_strings(monkeypatch: pytest.MonkeyPatch) -> None:
    use_database("/data/city.mmdb", monkeypatch)
    assert geo_ip.locate("192.0.2.1") == {
        "country": "DE",
        "region": "BE",
        "city": "Berlin",
        "latitude": "52.52",
        "longitude": "13.4",
        "zip": "10115",
        "postal_code": "10115",
    }


def test_unknown_fields_of_a_location_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    use_database("/data/city.mmdb", monkeypatch)
    assert geo_ip.locate("192.0.2.2") == {"country": "FR"}
    assert geo_ip.locate("192.0.2.3") is None
    assert geo_ip.locate("") is None


def test_without_a_database_there_is_no_location(monkeypatch: pytest.MonkeyPatch) -> None:
    use_database("", monkeypatch)
    assert geo_ip.locate("192.0.2.1") is None


@pytest.mark.parametrize("path", ["/data/missing.mmdb", "/data/damaged.mmdb"])
def test_a_missing_database_is_logged_once_and_is_no_error(
    path: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    use_database(path, monkeypatch)
    assert geo_ip.locate("192.0.2.1") is geo_ip.locate("192.0.2.2") is None
    assert len(caplog.records) == 1


def test_a_missing_reader_package_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "maxminddb", None)
    use_database("/data/city.mmdb", monkeypatch)
    assert geo_ip.locate("192.0.2.1") is None
