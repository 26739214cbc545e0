"""The template of one message that is sent by way of an A/B test."""

from __future__ import annotations

from dataclasses import dataclass

from chalicelib.ab_tests.choice import preferences
from chalicelib.ab_tests.model import AbTest
from chalicelib.ab_tests.store import sample


@dataclass(frozen=True, slots=True)
class Assignment:
    """The template of a message. Its engagement counts for the test only if it is ``tried``."""

    template_id: str
    tried: bool


def foresee(test: AbTest, recipient: str, at_ms: int) -> str:
    """Return the template that ``recipient`` will probably get; it takes no place of a sample."""
    if test.tries(at_ms):
        return preferences(test, recipient)[0].template_id
    return test.settled_template(at_ms)


def assign(test: AbTest, message_id: str, recipient: str, at_ms: int) -> Assignment:
    """Return the template of a message to ``recipient`` that is generated at ``at_ms``.

    A draft, a test that is scheduled or was cancelled, and one that runs but tries no more give the
    default template; a completed one gives its winner. Repeated for the same message and time (that
    of its first generation) this gives the same. A test without a sample size costs no request, any
    other one request for each message that it tries.
    """
    if test.tries(at_ms):
        order = preferences(test, recipient)
        share = order[0] if test.sample is None else sample.take(test, message_id, order)
        if share is not None:
            return Assignment(share.template_id, tried=True)
    return Assignment(test.settled_template(at_ms), tried=False)
