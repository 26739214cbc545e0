"""Compute the delay before failed work is tried again.

- :class:`Backoff`: delays that grow by a factor with each failure, up to a cap.
- :class:`RetryPolicy`: a backoff for work that is given up at an age.

Jitter moves each delay, so that work that failed together does not come back together. Where a
``seed`` names the work the jitter derives from it: a worker that computes a delay again after a
crash gets the same one. :meth:`Backoff.pauses` draws it at random, for short waits within a call.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

_MOST_GROWTHS = 64  # any cap is reached long before; keeps the power finite


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delays in seconds; ``jitter`` is the largest share by which one is moved either way."""

    base_seconds: float
    factor: float = 2.0
    cap_seconds: float = inf
    jitter: float = 0.0

    def delay(self, failures: int, seed: str = "") -> float:
        """Return the delay after this many failures, 1 or more."""
        if failures < 1:
            raise ValueError(f"failures are counted from 1, not {failures}")
        delay = self._unmoved(failures)
        return delay * (1 + self.jitter * _spread(seed, failures)) if self.jitter else delay

    def pauses(self, times: int) -> Iterator[float]:
        """Yield the delays after the first ``times`` failures, moved at random."""
        for failures in range(1, times + 1):
            yield self._unmoved(failures) * random.uniform(1 - self.jitter, 1 + self.jitter)

    def _unmoved(self, failures: int) -> float:
        growth = self.factor ** min(failures - 1, _MOST_GROWTHS)
        return min(self.base_seconds * growth, self.cap_seconds)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """When work is tried again, and the age in seconds at which it is given up."""

    backoff: Backoff
    expiry_seconds: float

    def next_delay(self, failures: int, age: float, seed: str) -> float | None:
        """Return the seconds until the next attempt, or ``None`` if the work has expired.

        ``age`` is in seconds; ``seed`` names the work. The delay never reaches past the expiry, so
        the last attempt falls on it.
        """
        rest = self.expiry_seconds - age
        return min(self.backoff.delay(failures, seed), rest) if rest > 0 else None


def _spread(seed: str, failures: int) -> float:
    """Return a number in [-1, 1) that depends on nothing but the arguments."""
    digest = hashlib.blake2b(f"{seed}/{failures}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**63 - 1
