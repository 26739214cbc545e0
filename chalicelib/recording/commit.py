"""Count events, and note in their deduplication records that they are recorded, in one transaction.

This is the last step of recording. A worker that dies before it leaves the events unknown to their
records: all steps are repeated, and the events are counted then. A worker that records the same
events at the same time finds that a record has changed; it reads again and counts the rest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from chalicelib.core import dynamo
from chalicelib.core.dynamo import Key, Write
from chalicelib.core.message_event import Event
from chalicelib.metrics import counting
from chalicelib.metrics.delta import Delta
from chalicelib.metrics.store import pending
from chalicelib.recording import store
from chalicelib.recording.deduplication import DeduplicationRecord

MOST_ACTIONS: Final = 100
#: Events that are counted together; more only if all of them are in one block
MOST_EVENTS: Final = 1500
#: Bytes of records and deltas in one transaction, which may hold 4 MB
MOST_BYTES: Final = 3_500_000

Blocks = dict[Key, list[Event]]
Records = Mapping[Key, DeduplicationRecord]


def commit(events: Sequence[Event], records: Records) -> None:
    """Count those of ``events`` that their records do not know, and note them as recorded.

    Raises 503 when other workers keep changing the same records.
    """
    for blocks in _transaction_groups(events):
        _commit(blocks, {key: records[key] for key in blocks})


def _commit(blocks: Blocks, records: Records) -> None:
    unused_records: Records | None = records

    def attempt() -> None:
        nonlocal unused_records
        actions = list(_actions(blocks, unused_records or store.read(blocks)))
        # Another try reads the records again: this one has noted the events in these, and another
        # worker may have changed what is stored
        unused_records = None
        if len(blocks) > 1 and not _fits(actions):
            _commit_in_halves(blocks)
        elif actions:
            dynamo.transact(actions)

    dynamo.retry_conflicts(attempt)


def _commit_in_halves(blocks: Blocks) -> None:
    """Commit blocks in two transactions, from records that are read again."""
    keys = list(blocks)
    for half in (keys[: len(keys) // 2], keys[len(keys) // 2 :]):
        _commit({key: blocks[key] for key in half}, store.read(half))


def _fits(actions: Sequence[Write]) -> bool:
    return len(actions) <= MOST_ACTIONS and sum(map(_size, actions)) <= MOST_BYTES


def _size(action: Write) -> int:
    """Return the bytes that an action writes, without the small attributes."""
    return sum(len(value.get("B", b"")) for value in action.arguments["Item"].values())


def _actions(blocks: Blocks, records: Records) -> Iterator[Write]:
    deltas: dict[int, Delta] = defaultdict(Delta)
    for key, events in blocks.items():
        new = [event for event in events if _count(event, records[key], deltas)]
        if new:
            yield store.write(records[key])
    for account_id, delta in deltas.items():
        if delta:
            yield from pending.additions(account_id, delta)


def _count(event: Event, record: DeduplicationRecord, deltas: Mapping[int, Delta]) -> bool:
    if record.knows(event):
        return False
    first = record.add(event, counting.marks(event))
    deltas[int(event["customer_id"])].add(event, first)
    return True


def _transaction_groups(events: Iterable[Event]) -> Iterator[Blocks]:
    """Yield groups of blocks whose records, and a delta of each account, fit one transaction."""
    by_block: Blocks = defaultdict(list)
    for event in events:
        by_block[store.key_of(event)].append(event)
    group: Blocks = {}
    accounts: set[str] = set()
    for key, members in sorted(by_block.items(), key=lambda block: block[1][0]["customer_id"]):
        count = sum(map(len, group.values())) + len(members)
        owners = accounts | {event["customer_id"] for event in members}
        if group and (len(group) + 1 + len(owners) > MOST_ACTIONS or count > MOST_EVENTS):
            yield group
            group, owners = {}, {event["customer_id"] for event in members}
        group[key] = members
        accounts = owners
    if group:
        yield group
