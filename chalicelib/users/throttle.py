"""Delay the guessing of passwords and codes without locking out who knows them.

- Failures are counted by network (an IPv4 address, or 64 bits of IPv6) and by the address of the
  user. After some of them each further one begins a delay, which doubles up to a limit. While it
  runs, attempts get 429 and are neither checked nor counted.
- A browser in which the user has signed in before has failures of its own (``devices``): nobody
  else can delay it.
- The first attempt of a site without a failure in the last hour passes the delay of the address. A
  site is the network, or 48 bits of IPv6: who has these has 65,536 networks.
- Codes of a second factor are counted by user in addition, and no site passes their delay: they are
  so few that many sites could try them all. Whoever tries codes knows the password: a new one, by a
  mailed link, ends the delay.
- Counts fall with time. They are stored, so that they hold for all processes: an attempt costs one
  request to read and one to write, and one more if it succeeds.

An attempt counts before it is checked, or simultaneous ones would all be the first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from chalicelib.core import clock, dynamo
from chalicelib.core.client_networks import network_of, site_of
from chalicelib.core.dynamo import WriteConflict
from chalicelib.core.errors import TooManyRequests
from chalicelib.users.model import address_spelling
from chalicelib.users.store import attempts
from chalicelib.users.store.attempts import Failures

_QUIET_SECONDS = 3600
_MOST_DOUBLINGS = 20


class _Limit(NamedTuple):
    """How many failures have no delay, and the longest delay in seconds.

    Once in that time one failure is forgotten.
    """

    kind: str
    free: int
    longest: float


_NETWORK = _Limit("network", 5, 900.0)
_ADDRESS = _Limit("address", 5, 60.0)
_DEVICE = _Limit("device", 5, 60.0)
_CODE = _Limit("code", 5, 60.0)
#: Only tells which sites had no failure
_SITE = _Limit("site", 10**9, 900.0)
_RESETS = _Limit("resets", 5, 900.0)


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt that counts as a failure until :func:`succeed` takes it back."""

    before: Mapping[str, Failures]
    after: Mapping[str, Failures]


def begin(source_ip: str, email: str, device: str) -> Attempt:
    """Count an attempt; raises 429 while a delay runs.

    ``device`` is the id of a browser that the user of the address has signed in with, or ``""``.
    """
    if device:
        return _begin({attempts.name_of(_DEVICE.kind, device): _DEVICE}, passable="")
    network = attempts.name_of(_NETWORK.kind, network_of(source_ip))
    site = attempts.name_of(_SITE.kind, site_of(source_ip))
    # All spellings that name one user count together
    address = attempts.name_of(_ADDRESS.kind, address_spelling(email))
    limits = {site: _SITE, network: _NETWORK, address: _ADDRESS}
    return _begin(limits, passable=address)


def begin_code(user_id: str, device: str, attempt: Attempt) -> Attempt:
    """Count a code of a second factor; raises 429 while a delay runs.

    ``attempt`` is what :func:`begin` returned, which is taken back then. Codes of a known
    ``device`` were counted for it already.
    """
    if device:
        return Attempt({}, {})
    try:
        return _begin({attempts.name_of(_CODE.kind, user_id): _CODE}, passable="")
    except TooManyRequests:
        succeed(attempt)
        raise


def count_reset(source_ip: str) -> None:
    """Count a request for a mail that resets a password; raises 429 while a delay runs."""
    _begin({attempts.name_of(_RESETS.kind, network_of(source_ip)): _RESETS}, passable="")


def succeed(attempt: Attempt) -> None:
    """Take an attempt back that was right; if others came between, it goes on counting."""
    if not attempt.after:
        return
    before = {
        name: Failures(each.level, each.at, each.until) for name, each in attempt.before.items()
    }
    attempts.replace(before, attempt.after)


def _begin(limits: Mapping[str, _Limit], *, passable: str) -> Attempt:
    """Count an attempt; a quiet first name passes the delay of ``passable``."""

    def attempt() -> Attempt:
        now = clock.now()
        before = attempts.read(limits)
        first = next(iter(before.values()))
        is_quiet = first.level <= 0 or now - first.at >= _QUIET_SECONDS
        binding = {name: each for name, each in before.items() if name != passable or not is_quiet}
        wait = max(each.until for each in binding.values()) - now
        if wait > 0:
            raise TooManyRequests(retry_after=math.ceil(wait))
        after = {name: _counted(limits[name], each, now) for name, each in before.items()}
        if not attempts.replace(after, binding):
            raise WriteConflict
        return Attempt(before, after)

    return dynamo.retry_conflicts(attempt)


def _counted(limit: _Limit, before: Failures, now: float) -> Failures:
    """Return the failures with one more."""
    level = max(0.0, before.level - max(0.0, now - before.at) / limit.longest) + 1
    excess = math.ceil(level) - limit.free
    delay = min(limit.longest, 2.0 ** min(excess, _MOST_DOUBLINGS)) if excess > 0 else 0.0
    until = max(before.until, now + delay) if delay else before.until
    return replace(Failures(), level=level, at=now, until=until)
