"""Answer from the records that the user wrote, and for other names from those of the service."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from infrastructure.local.dns.recipient_domains import mail_records
from infrastructure.local.dns.resolver import Records, RecordSource


class Answer(NamedTuple):
    """All records at one name. ``by_user`` tells whether the user wrote them."""

    name: str
    records: Records
    by_user: bool


class Source(RecordSource, Protocol):
    """A source of records that can list them."""

    def all(self) -> dict[str, Records]:
        """Return the records of every name that exists."""


class LocalAnswers:
    """What the local DNS answers; a source of records for the resolver."""

    def __init__(self, zone: Source, service: Source) -> None:
        self._zone = zone
        self._service = service

    def lookup(self, name: str) -> Records | None:
        """Return the records at a name, ``None`` if it does not exist.

        Domains of many recipients are known as well; they are in no list.
        """
        answer = self.get(name)
        return answer.records if answer else mail_records(name)

    def get(self, name: str) -> Answer | None:
        """Return the answer about a name, ``None`` if it does not exist."""
        if (records := self._zone.lookup(name)) is not None:
            return Answer(name, records, True)
        if (records := self._service.lookup(name)) is not None:
            return Answer(name, records, False)
        return None

    def all(self) -> list[Answer]:
        """Return the answers about every name that exists, by name."""
        own = self._zone.all()
        records = {**self._service.all(), **own}
        return [Answer(name, records[name], name in own) for name in sorted(records)]
