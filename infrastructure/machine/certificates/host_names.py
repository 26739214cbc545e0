"""Say which names may have a certificate: the service's own, and tracking domains in service."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from chalicelib.accounts.store import accounts
from chalicelib.core import clock
from chalicelib.core.domain_names import BadName, canonical, spelling
from chalicelib.core.scope import Scope
from chalicelib.tracking_domains import store as tracking_domains

#: The longest name of which a file can have the name, with ``.pem``
_LONGEST = 251
_READ_EVERY = 60.0
# Reading takes a query an account: with thousands of them, at most so much of the time
_SHARE_OF_TIME = 0.05


@dataclass(frozen=True, slots=True)
class TrackingNames:
    """Names of tracking domains, in A-labels.

    ``in_service`` are those that are verified and not blocked, ``existing`` are all of them.
    """

    in_service: frozenset[str]
    existing: frozenset[str]


def tracking_names() -> TrackingNames:
    """Read the tracking domains of all accounts."""
    domains = [
        domain
        for account in accounts.all_accounts()
        for domain in tracking_domains.in_scope(Scope(account.customer_id, None))
    ]
    return TrackingNames(
        in_service=frozenset(domain.domain for domain in domains if domain.is_in_service),
        existing=frozenset(domain.domain for domain in domains),
    )


class NamesReader:
    """Reads the names at most once a minute."""

    def __init__(self, read: Callable[[], TrackingNames] = tracking_names) -> None:
        self._read = read
        self._names: TrackingNames | None = None
        self._next_at = 0.0

    def names(self) -> TrackingNames:
        """Return the names, as they were a minute ago at most; what the reading raises passes."""
        begin = clock.monotonic()
        if self._names is None or begin >= self._next_at:
            self._names = self._read()
            end = clock.monotonic()
            self._next_at = end + max(_READ_EVERY, (end - begin) / _SHARE_OF_TIME)
        return self._names


def in_certificates(names: Iterable[str]) -> tuple[str, ...]:
    """Return names as a certificate has them: in A-labels and lower case, each once."""
    return tuple(dict.fromkeys(map(spelling, names)))


def objection(name: str) -> str | None:
    """Return why no authority gives a name a certificate by HTTP-01, ``None`` if one may.

    ``name`` must be in A-labels and in lower case.
    """
    if name.startswith("*."):
        return "a wildcard cannot be shown to be ours by HTTP"
    try:
        if canonical(name) != name:
            return "it is not in the form of the DNS"
    except BadName as error:
        return str(error)
    return f"it has more than {_LONGEST} characters" if len(name) > _LONGEST else None
