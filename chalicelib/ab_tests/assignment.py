"""Assign a message that is sent through an A/B test the template that it gets.

The choice is a hash of test, version and recipient, so a recipient gets the same template each time
without a stored record. The hash orders all templates: the first one is the choice, the next ones
follow when its sample is used up. Each template gets the time ``-ln(u) / share`` with ``u`` uniform
in (0, 1), and the shortest time comes first; then a template is first with a probability in
proportion to its share, and so on among the others (weighted sampling without replacement,
Efraimidis and Spirakis 2006).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from math import log

from chalicelib.ab_tests.model import SAMPLE_SIZE, AbTest, Share
from chalicelib.ab_tests.store import sample, versions
from chalicelib.core.addresses import spelling
from chalicelib.core.errors import subresource_not_found
from chalicelib.core.scope import PRIMARY, Scope

_BITS = 64


@dataclass(frozen=True, slots=True)
class Assignment:
    """The template of a message. Its engagement counts for the test only if it is ``tried``."""

    template_id: str
    tried: bool


def find_test(scope: Scope, test_id: str) -> AbTest:
    """Return the latest version of a sender's test; raises 422 with code 1603 if there is none."""
    test = versions.latest(scope.account_id, test_id)
    if test is None or (test.subaccount_id or PRIMARY) != (scope.part or PRIMARY):
        raise subresource_not_found(f"A/B test '{test_id[:64]}' does not exist")
    return test


def foresee(test: AbTest, recipient: str, at_ms: int) -> str:
    """Return the template that ``recipient`` will probably get, without taking a sample place."""
    if test.tries(at_ms):
        return preferences(test, recipient)[0].template_id
    return test.settled_template(at_ms)


def assign(test: AbTest, message_id: str, recipient: str, at_ms: int) -> Assignment:
    """Return the template of a message to ``recipient`` that is generated at ``at_ms``.

    A running test tries its templates; a completed one gives its winner, and any other one the
    default template. The same message and time (that of its first generation) give the same
    template again. A test without a sample size takes no request, any other one takes one request
    for each message that it tries.
    """
    if test.tries(at_ms):
        order = preferences(test, recipient)
        share = order[0] if test.sample is None else sample.take(test, message_id, order)
        if share is not None:
            return Assignment(share.template_id, tried=True)
    return Assignment(test.settled_template(at_ms), tried=False)


def preferences(test: AbTest, recipient: str) -> list[Share]:
    """Return all templates of the test, in the order in which this recipient would get them.

    ``recipient`` is an address in any case.
    """
    by_size = test.audience_selection == SAMPLE_SIZE

    def time(share: Share) -> float:
        weight = share.sample_size if by_size else share.percent
        assert weight
        return -log(_uniform(test, recipient, share)) / weight

    return sorted(test.shares, key=time)


def _uniform(test: AbTest, recipient: str, share: Share) -> float:
    parts = (
        str(test.account_id),
        test.id,
        str(test.version),
        spelling(recipient),
        share.template_id,
    )
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()
    return (int.from_bytes(digest[:8], "big") + 0.5) / 2**_BITS
