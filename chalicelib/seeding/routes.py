"""Serve ``/inline-seeds`` and ``/seeds`` (spec 4.12).

The config and the addresses are those of the account, whatever part of it a request is about.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from chalicelib.accounts.store import accounts
from chalicelib.core import clock
from chalicelib.core.domain_names import in_u_labels, spelling
from chalicelib.core.errors import NotFound, invalid_params
from chalicelib.core.http import Reply, Request, Routes, empty, ok
from chalicelib.core.scope import PRIMARY, Scope
from chalicelib.seeding.model import Campaign, Config, Counter
from chalicelib.seeding.request import OptionsBody, changed_config, new_config
from chalicelib.seeding.store import addresses, configs, counters
from chalicelib.seeding.view import config_view, counter_view
from chalicelib.subaccounts import store as subaccounts
from chalicelib.subaccounts.entries import ALL

routes = Routes(__name__)

_GRANT = "inbox-placement/manage"


@routes.get("/api/v1/seeds", grant=_GRANT)
def list_seeds(request: Request) -> Reply:
    """Return the addresses that seed messages go to."""
    return ok(addresses.of_account(request.caller.account_id))


@routes.get("/api/v1/inline-seeds/config", grant=_GRANT)
def show_config(request: Request) -> Reply:
    """Return the config; an empty object if there is none."""
    config = configs.config(request.caller.account_id)
    return ok(config_view(config) if config else {})


@routes.post("/api/v1/inline-seeds/config", grant=_GRANT)
def create_config(request: Request) -> Reply:
    """Store a config in place of the present one."""
    config = new_config(request.json())
    configs.put_config(request.caller.account_id, config)
    return ok(config_view(config))


@routes.put("/api/v1/inline-seeds/config", grant=_GRANT)
def update_config(request: Request) -> Reply:
    """Change the fields of the config that the body has."""
    body = request.json()
    account_id = request.caller.account_id
    config = configs.change_config(account_id, lambda old: changed_config(old or Config(), body))
    return ok(config_view(config))


@routes.get("/api/v1/inline-seeds/status", grant=_GRANT)
def show_status(request: Request) -> Reply:
    """Return the counts of the campaigns in scope; with ``id`` and ``sending_domain``, of one.

    Where several owners in scope have that campaign, the primary account's comes first, then that
    of the subaccount with the lowest id.
    """
    scope = request.caller.scope
    campaign_id, domain = (request.query.get(name) for name in ("id", "sending_domain"))
    config = configs.config(scope.account_id) or Config()
    now_ms = clock.now_ms()
    if campaign_id is None and domain is None:
        return ok([counter_view(each.at(now_ms), config) for each in counters.in_scope(scope)])
    if not campaign_id or not domain:
        raise invalid_params("id and sending_domain name one status item together")
    counter = _counter(scope, campaign_id, spelling(domain))
    if counter is None:
        raise NotFound(f"no messages of campaign '{campaign_id[:100]}' from '{domain[:300]}' seen")
    return ok(counter_view(counter.at(now_ms), config))


@routes.get("/api/v1/inline-seeds/options", grant=_GRANT)
def show_options(request: Request) -> Reply:
    """Return whether seeding is on: for one part, or for the primary and each subaccount."""
    scope = request.caller.scope
    if scope.part is None:
        return ok(list(_all_options(scope.account_id)))
    options = {"enabled": configs.is_enabled(scope.account_id, scope.part)}
    if scope.owner and not _is_seeding_allowed(scope.account_id):
        options["account_enabled"] = False
    return ok(options)


@routes.put("/api/v1/inline-seeds/options", grant=_GRANT)
def update_options(request: Request) -> Reply:
    """Turn the seeding of a part's campaigns on or off."""
    scope, body = request.caller.scope, OptionsBody.parse(request.json())
    configs.set_enabled(scope.account_id, scope.part or PRIMARY, enabled=body.enabled)
    return empty(204)


def _counter(scope: Scope, campaign_id: str, domain: str) -> Counter | None:
    # Version 0.1.0 counted a campaign by the domain as it was typed (goes with 0.3.0)
    own = (
        counters.get(scope.account_id, Campaign(scope.owner, campaign_id, form))
        for form in dict.fromkeys((domain, in_u_labels(domain)))
    )
    counter = next(filter(None, own), None)
    if counter or not scope.spans:
        return counter
    same_campaign = (
        each
        for each in counters.in_scope(scope)
        if each.campaign.campaign_id == campaign_id
        and spelling(each.campaign.sending_domain) == domain
    )
    return next(same_campaign, None)


def _all_options(account_id: int) -> Iterator[dict[str, Any]]:
    enabled = configs.enabled(account_id)
    yield {"enabled": PRIMARY in enabled}
    for each in subaccounts.in_list(account_id, ALL, "id", descending=False):
        yield {"subaccount_id": each.id, "enabled": each.id in enabled}


def _is_seeding_allowed(account_id: int) -> bool:
    account = accounts.get(account_id)
    return bool(account and account.option("inline_seeds"))
