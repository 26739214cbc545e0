"""Choose the tracking domain of a message's links, and check the one a sending domain names."""

from __future__ import annotations

from chalicelib.core import defaults
from chalicelib.core.domain_names import normalize
from chalicelib.core.dynamo import Write
from chalicelib.core.errors import invalid_params
from chalicelib.core.reading import Read, read_config
from chalicelib.core.settings import settings
from chalicelib.tracking_domains import store
from chalicelib.tracking_domains.model import TrackingDomain


def choose(
    account_id: int,
    subaccount_id: int | None,
    *,
    requested: str = "",
    linked: str = "",
    read: Read = read_config,
) -> str:
    """Return the beginning of the message's links, a URL without a slash at the end.

    ``requested`` is the transmission's tracking domain, ``linked`` that of its sending domain.
    The first of these is used: ``requested``, ``linked``, the default of the subaccount, the
    default of the account, the service's own name (spec 2.1). Raises 400 if ``requested`` is not a
    verified tracking domain that the sender may use; any other domain that is not in service is
    skipped.
    """
    if requested:
        domain = _first_in_service(account_id, subaccount_id, [requested], read)
        if domain is None:
            raise invalid_params(f"Tracking domain '{requested[:300]}' is not a verified one")
        return domain.base_url
    names = [linked] if linked else []
    names += defaults.of_sender(store.KIND, account_id, subaccount_id, read)
    domain = _first_in_service(account_id, subaccount_id, names, read)
    return domain.base_url if domain else settings().public_url.rstrip("/")


def _first_in_service(
    account_id: int, subaccount_id: int | None, names: list[str], read: Read
) -> TrackingDomain | None:
    """Return the first of the domains that the sender may use and that is in service."""
    domains = store.get_all(names, read) if names else {}
    for domain in (domains[name] for name in map(normalize, names) if name in domains):
        if domain.is_in_service and domain.usable_by(account_id, subaccount_id):
            return domain
    return None


def check_link(account_id: int, subaccount_id: int | None, name: str) -> str:
    """Return the name of a tracking domain that this owner's sending domains may link to.

    An empty name means none. Raises 400 with code 1200 unless the domain is registered and belongs
    to the same owner (spec 2.5).
    """
    return _registered(account_id, subaccount_id, name).domain if name else ""


def naming(account_id: int, subaccount_id: int | None, name: str) -> list[Write]:
    """Return what belongs into the transaction that makes a sending domain name this one.

    It fails if the tracking domain is changed or deleted after this call. Raises as
    :func:`check_link` does.
    """
    return [store.touching(_registered(account_id, subaccount_id, name))] if name else []


def _registered(account_id: int, subaccount_id: int | None, name: str) -> TrackingDomain:
    domain = store.get(name)
    if domain is None or (domain.account_id, domain.subaccount_id) != (account_id, subaccount_id):
        raise invalid_params(f"Tracking domain '{name[:300]}' is not a registered tracking domain")
    return domain
