"""When a message that could not be delivered is tried again.

The delays double from twenty minutes up to a cap until the message is 72 hours old; then it fails
with a message timeout. Every delay is moved by up to ten per cent, so that messages refused
together do not come back together. The move is derived from the message, not drawn: a worker that
computes the delay again after a crash gets the same one.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from chalicelib.core.bounce_classes import TIMEOUT
from chalicelib.delivery.outcome import Failed, Retry, internal

_MOST_DOUBLINGS = 64  # any cap is reached long before; keeps the power finite


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long to wait between attempts, in seconds, and when to give up.

    `jitter` is the largest share by which a delay is shortened or lengthened.
    """

    base_seconds: float = 20 * 60.0
    factor: float = 2.0
    cap_seconds: float = 12 * 3600.0
    expiry_seconds: float = 72 * 3600.0
    jitter: float = 0.1


def next_delay(attempt: int, elapsed: float, policy: RetryPolicy, seed: str) -> float | None:
    """Return the seconds until the next attempt, or None when the message has expired.

    `attempt` counts the attempts made, so it is 1 after the first; `elapsed` is the message's age
    in seconds; `seed` names the message. The delay never reaches past the expiry, so the last
    attempt falls on it.
    """
    if attempt < 1:
        raise ValueError(f"attempts are counted from 1, not {attempt}")
    left = policy.expiry_seconds - elapsed
    if left <= 0:
        return None
    plain = policy.base_seconds * policy.factor ** min(attempt - 1, _MOST_DOUBLINGS)
    moved = min(plain, policy.cap_seconds) * (1 + policy.jitter * _spread(seed, attempt))
    return min(moved, left)


def expired(last: Retry) -> Failed:
    """Return how a message ends whose time ran out, `last` being its latest attempt's outcome."""
    text = internal("5.4.7", f"message timeout, last reply: {last.code} {last.reply}")
    return Failed(554, text, TIMEOUT, last.ip_address, last.tls, last.sending_ip)


def _spread(seed: str, attempt: int) -> float:
    """Return a number in [-1, 1) that depends on nothing but the arguments."""
    digest = hashlib.blake2b(f"{seed}/{attempt}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**63 - 1
