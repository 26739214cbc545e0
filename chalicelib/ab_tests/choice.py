"""Which template a recipient of a running test gets: drawn by share, the same each time.

The draw is a hash of test, version and recipient, so it needs no memory. It gives an order of all
templates: the first one is the choice, the next ones stand by for when its sample is used up. Each
template gets the time ``-ln(u) / share`` with ``u`` uniform in (0, 1), and the shortest time comes
first; then a template is first with a probability in proportion to its share, and so on among those
that are left (weighted sampling without replacement, Efraimidis and Spirakis 2006).
"""

from __future__ import annotations

import hashlib
from math import log

from chalicelib.ab_tests.model import SAMPLE_SIZE, AbTest, Share

_BITS = 64


def choose(test: AbTest, recipient: str) -> Share:
    """Return the template that is tried on a recipient (an address, in any case)."""
    return preferences(test, recipient)[0]


def preferences(test: AbTest, recipient: str) -> list[Share]:
    """Return all templates of the test in the order in which this recipient would get them."""
    by_size = test.audience_selection == SAMPLE_SIZE

    def time(share: Share) -> float:
        weight = share.sample_size if by_size else share.percent
        assert weight
        return -log(_uniform(test, recipient, share)) / weight

    return sorted(test.shares, key=time)


def _uniform(test: AbTest, recipient: str, share: Share) -> float:
    drawn = (str(test.account_id), test.id, str(test.version), recipient.lower(), share.template_id)
    digest = hashlib.sha256("\0".join(drawn).encode("utf-8", "surrogatepass")).digest()
    return (int.from_bytes(digest[:8], "big") + 0.5) / 2**_BITS
