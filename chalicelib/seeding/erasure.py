"""What is forgotten with a recipient: the data that the messages to be copied were made with.

That is in the samples of campaigns and in the runs, each of which has a sample. A run that is under
way goes on without it: the transmission itself is what all its recipients have in common.

Access patterns (table ``metrics``):

- runs and samples of an account → ``pk = inline-seeds#<account>``, ``sk`` from ``run#`` to the last
  that begins with ``sample#``
"""

from __future__ import annotations

import zlib
from typing import Final

from chalicelib.core import blobs
from chalicelib.core.dynamo import ConditionFailed, Item, Table
from chalicelib.core.scope import Scope
from chalicelib.seeding.store.counters import partition

_NOTHING: Final = zlib.compress(b"{}")

_metrics = Table("metrics")


def forget_recipient(scope: Scope, email: str) -> int:
    """Forget a recipient's data (``email`` in any case); return in how many places there was some.

    Doing it again does no harm.
    """
    items = _metrics.query_all(
        "#pk = :pk AND #sk BETWEEN :first AND :last",
        {"pk": partition(scope.account_id), "first": "run#", "last": "sample#\U0010ffff"},
        consistent=True,
    )
    wanted = email.lower()
    return sum(
        _emptied(item)
        for item in items
        if item.get("sampled_email") == wanted and scope.covers(item["subaccount_id"])
    )


def _emptied(item: Item) -> bool:
    """Empty the sample of an item; ``False`` if it is another one meanwhile."""
    if item["blob"]:
        blobs.delete(item["blob"])
    try:
        _metrics.update(
            item["pk"],
            item["sk"],
            "SET #data = :nothing, #blob = :none, #sampled_email = :none",
            values={"nothing": _NOTHING, "none": "", "seen": item["sampled_email"]},
            condition="#sampled_email = :seen",
        )
    except ConditionFailed:
        return False
    return True
