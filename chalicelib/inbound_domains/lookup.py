"""Find the inbound domain that mail to a name is for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from chalicelib.core import config_cache
from chalicelib.core.domain_names import normalize
from chalicelib.core.dynamo import AnyItem, Key
from chalicelib.inbound_domains import store
from chalicelib.inbound_domains.model import InboundDomain
from chalicelib.inbound_domains.ownership import find_obstacle


def registered(domain: str) -> InboundDomain | None:
    """Return the inbound domain of any account with this name, in any spelling, or ``None``.

    ``None`` also for one that receives nothing now (``ownership``). The answer may be
    ``KEY_CACHE_SECONDS`` old.
    """
    name = normalize(domain)
    item = config_cache.read_one(store.key_of(name)) if name else None
    if not name or item is None:
        return None
    inbound_domain = store.from_item(item)
    obstacle = find_obstacle(name, inbound_domain.account_id, _cached)
    return inbound_domain if obstacle is None else None


def of_name(account_id: int, name: str) -> Iterator[str]:
    """Yield the inbound domain that keeps a sending domain of the account from taking bounces."""
    domain = store.get(name)
    if domain and domain.account_id == account_id:
        yield f"the inbound domain {domain.domain}"


def _cached(keys: Iterable[Key]) -> Mapping[Key, AnyItem]:
    return config_cache.read([], maybe=keys)
