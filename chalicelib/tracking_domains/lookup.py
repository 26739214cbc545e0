"""Which tracking domain the links of a message go through (spec 2.1), and who may link to one."""

from __future__ import annotations

from chalicelib.core import defaults
from chalicelib.core.domain_names import normalize
from chalicelib.core.errors import ApiError, invalid_params
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
    What counts, in this order: ``requested``, ``linked``, the default of the subaccount, that of
    the account, and the service's own name. Raises 400 if ``requested`` is not a verified tracking
    domain that the sender may use; another that is out of service is passed over.
    """
    if requested:
        found = _in_service(account_id, subaccount_id, [requested], read)
        if found is None:
            raise invalid_params(f"Tracking domain '{requested[:300]}' is not a verified one")
        return found.base_url
    names = [linked] if linked else []
    names += defaults.of_sender(store.KIND, account_id, subaccount_id, read)
    found = _in_service(account_id, subaccount_id, names, read)
    return found.base_url if found else settings().public_url.rstrip("/")


def _in_service(
    account_id: int, subaccount_id: int | None, names: list[str], read: Read
) -> TrackingDomain | None:
    """Return the first of the domains that the sender may use and that works."""
    known = store.get_all(names, read) if names else {}
    for found in (known[name] for name in map(normalize, names) if name in known):
        if found.is_in_service and found.usable_by(account_id, subaccount_id):
            return found
    return None


def check_link(account_id: int, subaccount_id: int | None, name: str) -> str:
    """Return the name of a tracking domain that this owner's sending domains may have.

    An empty name stands for none. Raises 400 with code 1200 unless it is registered and belongs to
    the same subaccount (spec 2.5).
    """
    if not name:
        return ""
    found = store.get(name)
    if found is None or (found.account_id, found.subaccount_id) != (account_id, subaccount_id):
        raise _unregistered(name)
    return found.domain


def _unregistered(name: str) -> ApiError:
    return invalid_params(f"Tracking domain '{name[:300]}' is not a registered tracking domain")
