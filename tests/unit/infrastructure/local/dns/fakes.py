"""Fake the records of the service's own domains."""

from __future__ import annotations

from infrastructure.local.dns.resolver import Records


class FakeService:
    """The records of one domain of the service."""

    def lookup(self, name: str) -> Records | None:
        return self.all().get(name)

    def all(self) -> dict[str, Records]:
        return {"shop.test": [("CNAME", "postfinch.test")]}
