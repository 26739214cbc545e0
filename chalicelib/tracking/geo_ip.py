"""Locate IP addresses (``geo_ip`` of spec 2.11) with a database file that the operator provides.

``GEOIP_DATABASE`` names a city database in MaxMind's format; the package ``maxminddb`` reads it.
Without either, events carry no ``geo_ip``.
"""

from __future__ import annotations

import logging
from functools import cache
from importlib import import_module
from typing import Any, Protocol

from chalicelib.core.settings import settings

_log = logging.getLogger(__name__)


class Database(Protocol):
    """The part of the reader's interface that is used here."""

    def get(self, ip_address: str) -> Any:
        """Return the record of an address, ``None`` if there is none."""
        ...


def locate(ip_address: str) -> dict[str, str] | None:
    """Return what is known of country, region, city, latitude, longitude, zip and postal_code."""
    database = _database(settings().geoip_database)
    if database is None:
        return None
    try:
        record = database.get(ip_address)
    except ValueError:  # not an address, or IPv6 in a database of IPv4
        return None
    return _location_view(record) if isinstance(record, dict) else None


@cache
def _database(path: str) -> Database | None:
    if not path:
        return None
    try:
        return import_module("maxminddb").open_database(path)
    except (ImportError, OSError, RuntimeError):  # RuntimeError: the file is not a database
        _log.exception("GEOIP_DATABASE cannot be read: events will have no geo_ip")
        return None


def _location_view(record: dict[str, Any]) -> dict[str, str] | None:
    regions = record.get("subdivisions") or [{}]
    location = record.get("location", {})
    postal = record.get("postal", {}).get("code")
    fields = {
        "country": record.get("country", {}).get("iso_code"),
        "region": regions[0].get("iso_code"),
        "city": record.get("city", {}).get("names", {}).get("en"),
        "latitude": location.get("latitude"),
        "longitude": location.get("longitude"),
        "zip": postal,
        "postal_code": postal,
    }
    return {name: str(value) for name, value in fields.items() if value is not None} or None
