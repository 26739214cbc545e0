"""Describe TLSA records (RFC 6698), and what the mail hosts of a domain have of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

_DIGEST_SIZES = {1: 32, 2: 64}


class Usage(IntEnum):
    """The certificates that a record may match."""

    AUTHORITY = 2
    HOST = 3


class Selector(IntEnum):
    """The part of a certificate that a record is about."""

    CERTIFICATE = 0
    PUBLIC_KEY = 1


@dataclass(frozen=True, slots=True)
class TlsaRecord:
    """One TLSA record; ``matching`` is 0 for the whole, 1 for its SHA-256 and 2 for its SHA-512."""

    usage: int
    selector: int
    matching: int
    data: bytes

    def __str__(self) -> str:
        return f"{self.usage} {self.selector} {self.matching} {self.data.hex()}"

    @property
    def is_usable(self) -> bool:
        """Whether the record can authenticate a mail host (RFC 7672 2.1.1, 3.1)."""
        if self.usage not in set(Usage) or self.selector not in set(Selector):
            return False
        size = _DIGEST_SIZES.get(self.matching)
        return len(self.data) == size if size else self.matching == 0


@dataclass(frozen=True, slots=True)
class HostRecords:
    """The usable TLSA records of a host, published at ``name``, and the names that it may have.

    Without a usable record the host must use TLS, and nothing more can be asked of it (RFC 7672
    2.2).
    """

    name: str
    records: tuple[TlsaRecord, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unknown:
    """It is unknown whether a host has records: nothing may be sent to it (RFC 7672 2.1.1)."""

    reason: str


@dataclass(frozen=True, slots=True)
class DomainRecords:
    """What is published about the mail hosts of a domain.

    ``hosts`` has ``None`` for a host without records, and is empty for a domain that is not signed.
    Nothing is known of hosts that it does not name.
    """

    hosts: Mapping[str, HostRecords | Unknown | None] = field(default_factory=dict)

    @property
    def protects(self) -> bool:
        """Whether mail to the domain may not go to every host without checks."""
        return any(self.hosts.values())

    def of(self, host: str) -> HostRecords | Unknown | None:
        """Return what is published about a host; ``None`` if nothing is asked of it."""
        if not self.hosts:
            return None
        return self.hosts.get(host, Unknown(f"{host} was no mail host a moment ago"))


NOTHING = DomainRecords()
