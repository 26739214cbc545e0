from __future__ import annotations

import re

import pytest

from app import app
from chalicelib.api_keys.grants import PRIMARY_GRANTS, SUBACCOUNT_GRANTS, used
from chalicelib.core.routes import NO_GRANTS


@pytest.mark.spec("5-r3")
def test_a_subaccounts_key_is_limited_to_ten_grants() -> None:
    assert sorted(SUBACCOUNT_GRANTS) == [
        "message_events/view",
        "sending_domains/manage",
        "smtp/inject",
        "suppression_lists/manage",
        "tracking_domains/manage",
        "tracking_domains/view",
        "transmissions/modify",
        "transmissions/view",
        "webhooks/modify",
        "webhooks/view",
    ]


def test_a_primary_accounts_key_may_have_the_subaccounts_grants_and_more() -> None:
    assert SUBACCOUNT_GRANTS < PRIMARY_GRANTS
    for grant in PRIMARY_GRANTS:
        assert re.fullmatch(r"[a-z_-]+/[a-z_-]+", grant)


def test_what_a_route_needs_is_a_grant_that_keys_can_have_and_is_used() -> None:
    needed = {route.grant for route in app.declared_routes()} - set(NO_GRANTS)
    assert needed <= PRIMARY_GRANTS
    assert used() == needed | {"smtp/inject"}


def test_what_a_subaccounts_key_can_have_is_used_and_what_this_service_lacks_is_not() -> None:
    assert used() >= SUBACCOUNT_GRANTS
    assert not used() & {"alerts/view", "billing/manage", "signals/view", "support/manage"}
