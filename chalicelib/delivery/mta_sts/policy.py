"""Read MTA-STS records and policies (RFC 8461 3.1, 3.2); tell which hosts a policy allows."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

LONGEST_AGE = 31_557_600
"""The largest ``max_age`` of a policy in seconds: a year (RFC 8461 3.2)."""

_RECORD = re.compile(r"v=STSv1[ \t]*;", re.ASCII)
_ID = re.compile(r"(?:^|;)[ \t]*id[ \t]*=[ \t]*([A-Za-z0-9]{1,32})[ \t]*(?:;|$)", re.ASCII)
_PATTERN = re.compile(r"(\*\.)?[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})*", re.ASCII)


class InvalidPolicy(ValueError):
    """The text is no MTA-STS policy; the message says why."""


@dataclass(frozen=True, slots=True)
class PolicyUnavailable:
    """A policy is announced and cannot be had; ``kind`` is what TLS reports call the reason."""

    kind: str


class Mode(StrEnum):
    """What to do if a host breaks the policy: send nothing, report it, or nothing."""

    ENFORCE = "enforce"
    TESTING = "testing"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy. ``hosts`` are names and ``*.`` patterns in lower case; ``max_age`` has seconds."""

    mode: Mode
    hosts: tuple[str, ...]
    max_age: int

    @property
    def is_enforced(self) -> bool:
        """Whether mail must wait rather than go to a host that breaks the policy."""
        return self.mode is Mode.ENFORCE

    @property
    def lines(self) -> tuple[str, ...]:
        """The fields of the policy, as its domain publishes them."""
        hosts = (f"mx: {host}" for host in self.hosts)
        return ("version: STSv1", f"mode: {self.mode}", *hosts, f"max_age: {self.max_age}")

    def allows(self, host: str) -> bool:
        """Tell whether a mail host is named; ``*.`` stands for one label (RFC 8461 4.1)."""
        name = host.lower().rstrip(".")
        return name in self.hosts or f"*.{name.partition('.')[2]}" in self.hosts


def announced_id(records: Iterable[str]) -> str | None:
    """Return the policy id of a domain's ``_mta-sts`` TXT records.

    ``None`` if they announce no policy: not exactly one of them is an MTA-STS record, or it has no
    valid id.
    """
    announcements = [record for record in records if _RECORD.match(record)]
    if len(announcements) != 1:
        return None
    policy_id = _ID.search(announcements[0])
    return policy_id[1] if policy_id else None


def parse(text: str) -> Policy:
    """Read a policy; raises :class:`InvalidPolicy`.

    Unknown fields are ignored; of a field that occurs twice the first counts, except ``mx``.
    """
    fields: dict[str, str] = {}
    hosts: list[str] = []
    for line in text.splitlines():
        name, colon, value = (part.strip() for part in line.partition(":"))
        if not colon:
            if name:
                raise InvalidPolicy("a line has no colon")
        elif name == "mx":
            hosts.append(value.lower().rstrip("."))
        else:
            fields.setdefault(name, value)
    if fields.get("version") != "STSv1":
        raise InvalidPolicy("the version is not STSv1")
    mode = fields.get("mode")
    if mode not in set(Mode):
        raise InvalidPolicy("the mode is not enforce, testing or none")
    max_age = fields.get("max_age", "")
    if not (max_age.isascii() and max_age.isdigit() and len(max_age) <= 10):
        raise InvalidPolicy("max_age is not a number of seconds")
    if not all(map(_PATTERN.fullmatch, hosts)):
        raise InvalidPolicy("an mx is no host name")
    if not hosts and mode != Mode.NONE:
        raise InvalidPolicy("no mx is named")
    return Policy(Mode(mode), tuple(hosts), min(int(max_age), LONGEST_AGE))
