"""The A/B test that a transmission names as its content (spec 2.2, 4.1)."""

from __future__ import annotations

from chalicelib.ab_tests.model import AbTest
from chalicelib.ab_tests.store import versions
from chalicelib.core.errors import subresource_not_found
from chalicelib.core.scope import PRIMARY, Scope


def find_test(scope: Scope, test_id: str) -> AbTest:
    """Return the latest version of a sender's test; raises 422 with code 1603 if there is none."""
    found = versions.latest(scope.account_id, test_id)
    if found is None or (found.subaccount_id or PRIMARY) != (scope.part or PRIMARY):
        raise subresource_not_found(f"A/B test '{test_id[:64]}' does not exist")
    return found
