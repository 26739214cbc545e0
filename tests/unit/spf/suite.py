"""Read the test suite of RFC 7208 (openspf.org), and answer look-ups from its zones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import yaml

from chalicelib.core.dns import LookupFailed

_FILE = Path(__file__).with_name("rfc7208-tests.yml")
_TIMEOUT = "TIMEOUT"
_MOST_ALIASES = 8


@dataclass(frozen=True, slots=True)
class Case:
    """One test: its name, who sends, the zone, and the results that are right."""

    name: str
    ip: str
    helo: str
    mail_from: str
    zone: Mapping[str, Any]
    results: Sequence[str]
    explanation: str | None


class ZoneLookups:
    """Looks up records in a zone of the suite."""

    def __init__(self, zone: Mapping[str, Any]) -> None:
        self._zone = {name.lower().rstrip("."): records for name, records in zone.items()}

    def values(self, name: str, kind: str, aliases: int = 0) -> list[str]:
        """Return the records of a name; follows some aliases, as resolvers do."""
        name = name.lower().rstrip(".")
        if name.startswith("error."):
            raise LookupFailed(name, "SERVFAIL")
        records = self._zone.get(name, [])
        values = [_value(kind, each[kind]) for each in records if _has(each, kind)]
        if kind == "TXT" and not any(_has(each, "TXT") for each in records):
            values = [_value("TXT", each["SPF"]) for each in records if _has(each, "SPF")]
        if kind == "MX":
            values = [value for _, value in sorted(_mail_host(each) for each in values)]
        values = [value for value in values if value != "NONE"]
        if not values and _TIMEOUT in records:
            raise LookupFailed(name, "time-out")
        for each in records:
            if _has(each, "CNAME") and aliases < _MOST_ALIASES:
                values += self.values(each["CNAME"], kind, aliases + 1)
        if _TIMEOUT in values:
            raise LookupFailed(name, "time-out")
        return values

    def host_names(self, address: str) -> list[str]:
        """Return the names in the PTR records of an address."""
        return [each.lower() for each in self.values(ip_address(address).reverse_pointer, "PTR")]


def cases() -> Iterator[Case]:
    """Yield the tests of all scenarios."""
    for scenario in yaml.safe_load_all(_FILE.read_text()):
        for name, test in scenario["tests"].items():
            result = test["result"]
            yield Case(
                f"{scenario['description']}: {name}",
                *(str(test["host"]), str(test["helo"]), str(test["mailfrom"] or "")),
                scenario["zonedata"],
                result if isinstance(result, list) else [result],
                test.get("explanation"),
            )


def _has(record: Any, kind: str) -> bool:
    return isinstance(record, dict) and kind in record


def _value(kind: str, value: Any) -> Any:
    return "".join(value) if kind in ("TXT", "SPF") and isinstance(value, list) else value


def _mail_host(value: Any) -> tuple[int, str]:
    return (value[0], value[1].lower()) if isinstance(value, list) else (0, value)
