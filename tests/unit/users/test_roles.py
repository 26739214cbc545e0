"""Each role has its grants, and fewer where a user is tied to a subaccount."""

from __future__ import annotations

import pytest

from chalicelib.api_keys.grants import PRIMARY_GRANTS, SUBACCOUNT_GRANTS
from chalicelib.users.roles import CONFINABLE, ROLES, grants_of

SECURITY = """
account/manage account/read-write audit_log/view billing/manage support/manage users/manage
users/token-manage users/view
"""
LOOKS = """
account/view ip_pools/view message_events/view metrics/view sending_domains/view subaccount/view
tracking_domains/view usage/view users/self-manage
"""
CONTENT = """
ab-testing/manage grants/view recipient_lists/manage suppression_lists/manage templates/modify
templates/preview templates/view
"""
WITHIN_SUBACCOUNT = """
ab-testing/manage api_keys/manage grants/view message_events/view metrics/view
sending_domains/manage sending_domains/view smtp/inject suppression_lists/manage templates/modify
templates/preview templates/view tracking_domains/manage tracking_domains/view transmissions/modify
transmissions/view users/self-manage webhooks/modify webhooks/view
"""


@pytest.mark.parametrize(
    ("role", "grants"),
    [
        ("admin", PRIMARY_GRANTS),
        ("developer", PRIMARY_GRANTS - set(SECURITY.split())),
        ("templates", set(LOOKS.split()) | set(CONTENT.split())),
        ("reporting", set(LOOKS.split())),
        ("custom", set()),
    ],
)
def test_a_role_has_its_grants(role: str, grants: set[str]) -> None:
    assert role in ROLES
    assert grants_of(role) == grants


def test_a_custom_role_has_the_grants_of_its_user_with_those_that_they_include() -> None:
    assert grants_of("custom", ["users/manage", "webhooks/view"]) == {
        "users/manage",
        "users/view",
        "webhooks/view",
    }
    assert grants_of("reporting", ["users/manage"]) == grants_of("reporting")


@pytest.mark.parametrize(
    ("role", "grants"),
    [
        ("developer", WITHIN_SUBACCOUNT.split()),
        (
            "reporting",
            [
                "message_events/view",
                "metrics/view",
                "sending_domains/view",
                "tracking_domains/view",
                "users/self-manage",
            ],
        ),
        ("custom", []),
    ],
)
def test_a_user_of_a_subaccount_has_what_acts_within_it(role: str, grants: list[str]) -> None:
    assert grants_of(role, subaccount_id=7) == set(grants)


def test_only_the_security_of_the_account_is_kept_from_developers() -> None:
    assert grants_of("developer").isdisjoint(SECURITY.split())
    assert set(SECURITY.split()) <= PRIMARY_GRANTS
    assert set(CONFINABLE) < set(ROLES)
    assert set(WITHIN_SUBACCOUNT.split()) >= SUBACCOUNT_GRANTS
