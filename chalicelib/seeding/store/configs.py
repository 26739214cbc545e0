"""Where an account's choices about seeding are kept, and the seed addresses.

Access patterns (table ``config``):

- the config of an account → ``pk = inline-seeds#<account>``, ``sk = config``
- whether an owner's campaigns are seeded → the same ``pk``, ``sk = options#<subaccount>``
- the same of all owners of an account → ``sk`` begins with ``options#``
- config and options where messages are counted → remembered for ``KEY_CACHE_SECONDS``
- the seed addresses → ``pk = seeds``, ``sk = all`` or ``account#<account>``, whose own list wins
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from chalicelib.accounts import store as accounts
from chalicelib.core import config_cache, leases
from chalicelib.core.config_cache import Key
from chalicelib.core.dynamo import ConditionFailed, Item, Table
from chalicelib.core.errors import Unavailable
from chalicelib.core.owner_keys import owner_digits
from chalicelib.core.scope import PRIMARY
from chalicelib.core.settings import settings
from chalicelib.seeding.model import Config

MOST_ADDRESSES: Final = 1000

_ATTEMPTS = 10
_config = Table("config")
_FIELDS = tuple(Config.__slots__)


def config_key(account_id: int) -> Key:
    """Return where the config of an account is kept."""
    return (f"inline-seeds#{account_id}", "config")


def config(account_id: int) -> Config | None:
    """Return the config of an account, ``None`` if it has none."""
    return _from_item(_config.get(*config_key(account_id)))


def put_config(account_id: int, new: Config) -> None:
    """Store the config of an account in place of the one it has."""
    _config.put(_to_item(account_id, new))
    config_cache.forget(config_key(account_id))


def change_config(account_id: int, change: Callable[[Config | None], Config]) -> Config:
    """Store what ``change`` makes of the config; of two changes at once none is lost.

    Raises 503 when others come between time and again.
    """
    for _ in range(_ATTEMPTS):
        found = _config.get(*config_key(account_id))
        new = change(_from_item(found))
        unchanged: dict[str, Any] = {"condition": "attribute_not_exists(#stamp)"}
        if found and "stamp" in found:
            unchanged = leases.unchanged(found["stamp"])
        try:
            _config.put(_to_item(account_id, new), **unchanged)
        except ConditionFailed:
            continue
        config_cache.forget(config_key(account_id))
        return new
    raise Unavailable


def acting_config(account_id: int) -> Config | None:
    """Return the config of an account as remembered, ``None`` if it has none."""
    return _from_item(config_cache.read_one(config_key(account_id)))


def enabled(account_id: int) -> set[int]:
    """Return whose campaigns the options allow to be seeded: subaccounts, 0 for the primary."""
    items = _config.query_all(
        "#pk = :pk AND begins_with(#sk, :options)",
        {"pk": f"inline-seeds#{account_id}", "options": "options#"},
        consistent=True,
    )
    return {_part(item["sk"]) for item in items if item["enabled"]}


def is_enabled(account_id: int, part: int) -> bool:
    """Tell whether the options allow a part's campaigns to be seeded; at first they do not."""
    item = _config.get(*_options_key(account_id, part))
    return bool(item and item["enabled"])


def set_enabled(account_id: int, part: int, *, enabled: bool) -> None:
    """Let the options of a subaccount, or of the primary account (0), say so."""
    pk, sk = _options_key(account_id, part)
    _config.put({"pk": pk, "sk": sk, "enabled": enabled})
    config_cache.forget((pk, sk))


def acting_owners(account_id: int, owners: Iterable[int | None]) -> set[int | None]:
    """Return those of ``owners`` whose campaigns are seeded, as remembered.

    The account's own option ``inline_seeds`` wins over the options (spec 4.12).
    """
    places = {owner: _options_key(account_id, owner or PRIMARY) for owner in owners}
    account_at = accounts.key_of(account_id)
    found = config_cache.read([account_at], maybe=places.values())
    if not accounts.from_item(found[account_at]).option("inline_seeds"):
        return set()
    return {owner for owner, place in places.items() if found.get(place, {}).get("enabled")}


def addresses(account_id: int | None) -> list[str]:
    """Return the seed addresses of an account: its own, else those of all, else the setting's.

    ``None`` asks for those of all accounts that have none of their own.
    """
    places = dict.fromkeys((_addresses_key(account_id), _addresses_key(None)))
    items = {item["sk"]: item for item in _config.get_all(places, consistent=True)}
    for _, sk in places:
        if sk in items:
            return list(items[sk]["addresses"])
    return [text.strip() for text in settings().seed_addresses.split(",") if text.strip()]


def put_addresses(account_id: int | None, given: list[str]) -> None:
    """Set the seed addresses of one account, or of all that have none of their own (``None``).

    An empty list takes back what was set.
    """
    pk, sk = _addresses_key(account_id)
    if given:
        _config.put({"pk": pk, "sk": sk, "addresses": given})
    else:
        _config.delete(pk, sk)


def _to_item(account_id: int, config: Config) -> Item:
    pk, sk = config_key(account_id)
    fields = {name: getattr(config, name) for name in _FIELDS}
    return {"pk": pk, "sk": sk, "stamp": leases.draw_stamp(), **fields}


def _from_item(item: Item | None) -> Config | None:
    if item is None:
        return None
    fields = {name: item[name] for name in _FIELDS}
    return Config(**fields | {name: tuple(fields[name]) for name in ("match", "exclude")})


def _options_key(account_id: int, part: int) -> Key:
    return (f"inline-seeds#{account_id}", f"options#{owner_digits(part)}")


def _part(sort_key: str) -> int:
    return int(sort_key.removeprefix("options#"))


def _addresses_key(account_id: int | None) -> Key:
    return ("seeds", "all" if account_id is None else f"account#{account_id}")
