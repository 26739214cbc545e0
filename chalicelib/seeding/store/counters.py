"""Count the messages of campaigns: each message once, each threshold reached once.

Access patterns of ``metrics``:

- the counter of a campaign → ``inline-seeds#<account>`` /
  ``campaign#<owner>#<sending domain>#<campaign>``
- the counters of an account → ``inline-seeds#<account>`` / ``campaign#*``
- the counters of one owner → ``inline-seeds#<account>`` / ``campaign#<owner>#*``

The messages of an account are counted in steps, each with a greater number than the one before. A
counter changes only if it has not seen the step, so repeating a step changes nothing. A counter is
removed when nothing was added to it for ``RETENTION`` seconds.
"""

from __future__ import annotations

from typing import Any, Final, NotRequired

from chalicelib.core import clock, dynamo
from chalicelib.core.dynamo import ConditionFailed, Key, Keyed, Table, Write
from chalicelib.core.owner_keys import owner_digits
from chalicelib.core.scope import Scope
from chalicelib.seeding.model import Campaign, Counter, Seeding

RETENTION: Final = 30 * 86_400


class CampaignCounterItem(Keyed):
    """The count of a campaign."""

    subaccount_id: int | None
    campaign_id: str
    sending_domain: str
    count: int
    #: The number of the last step that it has seen
    seq: int
    #: The fields of ``Seeding``, once the threshold was reached
    start_ms: NotRequired[int]
    threshold: NotRequired[int]
    duration: NotRequired[int]
    eligible_ms: NotRequired[int]
    expires: int


_metrics: Table[CampaignCounterItem] = Table("metrics")
_STATE = ("start_ms", "threshold", "duration", "eligible_ms")


def partition(account_id: int) -> str:
    """Return the partition of everything about the seeding of an account's campaigns."""
    return f"inline-seeds#{account_id}"


def campaign_key(campaign: Campaign) -> str:
    """Return the part of a sort key that names a campaign."""
    owner = owner_digits(campaign.subaccount_id)
    return f"{owner}#{campaign.sending_domain}#{campaign.campaign_id}"


def add(account_id: int, campaign: Campaign, seq: int, number: int, now_ms: int) -> Counter:
    """Add ``number`` messages unless the counter has seen step ``seq``; return the counter."""
    key = partition(account_id), _sort_key(campaign)
    values = {
        "added": number,
        "seq": seq,
        "now": now_ms,
        "today": now_ms // 1000,
        "expires": now_ms // 1000 + RETENTION,
        **campaign._asdict(),
    }
    sets = "SET #seq = :seq, #expires = :expires, #subaccount_id = :subaccount_id, "
    sets += "#campaign_id = :campaign_id, #sending_domain = :sending_domain"
    try:
        item = _metrics.update(
            *key,
            f"{sets} ADD #count :added",
            values=values,
            condition="attribute_not_exists(#seq) OR (#seq < :seq AND #expires > :today AND "
            "(attribute_not_exists(#eligible_ms) OR #eligible_ms > :now))",
        )
    except ConditionFailed as conflict:
        item = conflict.item
        if item["seq"] < seq:
            item = _start_again(key, item["seq"], values)
    return _from_item(item)


def start_of_seeding(account_id: int, campaign: Campaign, seeding: Seeding) -> Write:
    """Return the action that begins a campaign's seeding; it fails if it has begun already."""
    state = {name: getattr(seeding, name) for name in _STATE}
    return dynamo.update(
        _metrics,
        partition(account_id),
        _sort_key(campaign),
        "SET " + ", ".join(f"#{name} = :{name}" for name in state),
        values=state,
        condition="attribute_exists(#pk) AND attribute_not_exists(#start_ms)",
    )


def get(account_id: int, campaign: Campaign) -> Counter | None:
    """Return the counter of a campaign, ``None`` if none of its messages were counted."""
    item = _metrics.get(partition(account_id), _sort_key(campaign))
    return _from_item(item) if item and _is_current(item) else None


def in_scope(scope: Scope) -> list[Counter]:
    """Return the counters in a scope, by owner, sending domain and campaign."""
    prefix = "campaign#" if scope.spans else f"campaign#{owner_digits(scope.owner)}#"
    items = _metrics.query_all(
        "#pk = :pk AND begins_with(#sk, :prefix)",
        {"pk": partition(scope.account_id), "prefix": prefix},
        consistent=True,
    )
    return [_from_item(item) for item in items if _is_current(item)]


def _start_again(key: Key, seen_seq: int, values: dict[str, Any]) -> CampaignCounterItem:
    """Start a counter again with this step: its reset hours are over, or it has expired."""
    try:
        return _metrics.update(
            *key,
            "SET #count = :added, #seq = :seq, #expires = :expires "
            "REMOVE " + ", ".join(f"#{name}" for name in _STATE),
            values={name: values[name] for name in ("added", "seq", "expires")}
            | {"seen": seen_seq},
            condition="#seq = :seen",
        )
    except ConditionFailed as conflict:
        return conflict.item


def _is_current(item: CampaignCounterItem) -> bool:
    """Tell whether an item has not expired; the table removes it only some time later."""
    return bool(item["expires"] > clock.now())


def _from_item(item: CampaignCounterItem) -> Counter:
    campaign = Campaign(item["subaccount_id"], item["campaign_id"], item["sending_domain"])
    return Counter(campaign, item["count"], item["seq"], _seeding(item))


def _seeding(item: CampaignCounterItem) -> Seeding | None:
    if "start_ms" not in item:
        return None
    return Seeding(item["start_ms"], item["threshold"], item["duration"], item["eligible_ms"])


def _sort_key(campaign: Campaign) -> str:
    return f"campaign#{campaign_key(campaign)}"
