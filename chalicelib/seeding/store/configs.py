"""Keep an account's seeding config, and the options that turn seeding on for its senders.

Access patterns of ``config``:

- the config of an account → ``inline-seeds#<account>`` / ``config`` (cached for
  ``KEY_CACHE_SECONDS`` where messages are counted)
- whether an owner's campaigns are seeded → ``inline-seeds#<account>`` / ``options#<owner>`` (cached
  for ``KEY_CACHE_SECONDS`` where messages are counted)
- the options of all owners of an account → ``inline-seeds#<account>`` / ``options#*``
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NotRequired

from chalicelib.accounts.store import accounts
from chalicelib.core import audit, config_cache, dynamo
from chalicelib.core.dynamo import Key, Keyed, Table, TransactionFailed, Write
from chalicelib.core.owner_keys import owner_digits
from chalicelib.core.scope import PRIMARY
from chalicelib.seeding.model import Config
from chalicelib.seeding.view import config_view


class SeedingConfigItem(Keyed):
    """The seeding config of an account: the fields of ``Config``."""

    threshold: int
    #: In minutes
    duration: int
    #: In hours
    reset: int
    match: list[str]
    exclude: list[str]
    #: The revision; version 0.1.0 did not write it
    stamp: NotRequired[str]


class SeedingOptionsItem(Keyed):
    """Whether the campaigns of one owner are seeded."""

    enabled: bool


RESOURCE = "inline-seeds"

_config: Table[SeedingConfigItem] = Table("config")
_options: Table[SeedingOptionsItem] = Table("config")


def config_key(account_id: int) -> Key:
    """Return the key of an account's config."""
    return (f"inline-seeds#{account_id}", "config")


def config(account_id: int) -> Config | None:
    """Return the config of an account, ``None`` if it has none."""
    return _from_item(_config.get(*config_key(account_id)))


def put_config(account_id: int, new: Config) -> None:
    """Store the config of an account in place of the one it has."""
    audit.commit(dynamo.put(_config, _to_item(account_id, new)), _line(None, new))
    config_cache.forget(config_key(account_id))


def change_config(account_id: int, edit: Callable[[Config | None], Config]) -> Config:
    """Replace the config by what ``edit`` makes of it; no change made at the same time is lost.

    ``edit`` may be called again. Raises 503 when other writers come first every time.
    """

    def attempt() -> Config:
        item = _config.get(*config_key(account_id))
        old = _from_item(item)
        new = edit(old)
        unchanged = dynamo.if_unchanged("stamp", item.get("stamp") if item else None)
        write = dynamo.put(_config, _to_item(account_id, new), **unchanged)
        audit.commit(write, _line(old, new))
        return new

    new = dynamo.retry_conflicts(attempt)
    config_cache.forget(config_key(account_id))
    return new


def cached_config(account_id: int) -> Config | None:
    """Return the config of an account from the config cache, ``None`` if it has none."""
    return _from_item(config_cache.read_one(config_key(account_id)))


def enabled(account_id: int) -> set[int]:
    """Return the owners for whom the options turn seeding on; 0 is the primary account."""
    items = _options.query_all(
        "#pk = :pk AND begins_with(#sk, :options)",
        {"pk": f"inline-seeds#{account_id}", "options": "options#"},
        consistent=True,
    )
    return {_part(item["sk"]) for item in items if item["enabled"]}


def is_enabled(account_id: int, part: int) -> bool:
    """Tell whether the options let a part's campaigns be seeded; by default they do not."""
    item = _options.get(*_options_key(account_id, part))
    return bool(item and item["enabled"])


def set_enabled(account_id: int, part: int, *, enabled: bool) -> None:
    """Turn seeding on or off for a subaccount, or for the primary account (0)."""
    pk, sk = _options_key(account_id, part)
    # Without an item it is off
    missing = "attribute_not_exists(#pk) OR " if enabled else ""
    item: SeedingOptionsItem = {"pk": pk, "sk": sk, "enabled": enabled}
    write = dynamo.put(
        _options,
        item,
        condition=f"{missing}#enabled = :former",
        values={"former": not enabled},
    )
    line = audit.line(
        "options",
        {"enabled": not enabled},
        {"enabled": enabled},
        resource=RESOURCE,
        subaccount_id=part,
    )
    with suppress(TransactionFailed):  # it is so already
        audit.commit(write, line)
    config_cache.forget((pk, sk))


def cached_enabled_owners(account_id: int, owners: Iterable[int | None]) -> set[int | None]:
    """Return those of ``owners`` whose campaigns are seeded, from the config cache.

    The account's own option ``inline_seeds`` wins over the options (spec 4.12).
    """
    keys = {owner: _options_key(account_id, owner or PRIMARY) for owner in owners}
    account_key = accounts.key_of(account_id)
    items = config_cache.read([account_key], maybe=keys.values())
    if not accounts.from_item(items[account_key]).option("inline_seeds"):
        return set()
    options: dict[int | None, SeedingOptionsItem | None]
    options = {owner: items.get(key) for owner, key in keys.items()}
    return {owner for owner, item in options.items() if item and item["enabled"]}


def _line(before: Config | None, after: Config) -> list[Write]:
    """Return the line of the audit log about a change of the config: it is the whole account's."""
    former = config_view(before) if before else None
    return audit.change_line(
        "config", former, config_view(after), resource=RESOURCE, subaccount_id=PRIMARY
    )


def _to_item(account_id: int, config: Config) -> SeedingConfigItem:
    pk, sk = config_key(account_id)
    return {
        "pk": pk,
        "sk": sk,
        "threshold": config.threshold,
        "duration": config.duration,
        "reset": config.reset,
        "match": list(config.match),
        "exclude": list(config.exclude),
        "stamp": dynamo.draw_revision(),
    }


def _from_item(item: SeedingConfigItem | None) -> Config | None:
    if item is None:
        return None
    return Config(
        threshold=item["threshold"],
        duration=item["duration"],
        reset=item["reset"],
        match=tuple(item["match"]),
        exclude=tuple(item["exclude"]),
    )


def _options_key(account_id: int, part: int) -> Key:
    return (f"inline-seeds#{account_id}", f"options#{owner_digits(part)}")


def _part(sort_key: str) -> int:
    return int(sort_key.removeprefix("options#"))
