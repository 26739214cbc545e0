"""Read the targets of events from the settings."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from chalicelib.core import caches
from chalicelib.core.settings import settings


class ExportTarget(NamedTuple):
    """A resource of AWS that events go to; ``name`` is the last part of its ARN."""

    arn: str
    service: str
    region: str
    account: str
    name: str

    @property
    def is_fifo(self) -> bool:
        """Whether this is a FIFO topic or queue, which wants a group for each message."""
        return self.service in ("sns", "sqs") and self.name.endswith(".fifo")


@caches.register
def forget() -> None:
    """Forget what was read (tests change settings)."""
    targets.cache_clear()
    event_types.cache_clear()


@cache
def targets() -> dict[str, ExportTarget]:
    """Return the targets by their ARNs."""
    return {arn: _target(arn) for arn in _listed(settings().event_targets)}


@cache
def event_types() -> frozenset[str]:
    """Return the types of events that are sent on; empty for all types."""
    return frozenset(_listed(settings().event_target_types))


def _target(arn: str) -> ExportTarget:
    _, _, service, region, account, resource = arn.split(":", 5)
    return ExportTarget(arn, service, region, account, resource.rpartition("/")[2])


def _listed(text: str) -> list[str]:
    return list(filter(None, text.split(",")))
