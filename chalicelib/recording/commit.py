"""The end of recording: events are counted, and noted as recorded, in one transaction.

It comes after everything else that is done with events. Whoever dies before it leaves them unknown
to their ledgers: all of it is done again, and counted for the first time. Whoever records the same
events at the same time finds a ledger changed, reads again, and counts what is left.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from chalicelib.core import dynamo
from chalicelib.core.dynamo import Key, TransactionFailed, Write
from chalicelib.events.model import Event
from chalicelib.metrics import counting, pending
from chalicelib.metrics.delta import Delta
from chalicelib.recording import deduplication
from chalicelib.recording.deduplication import DeduplicationRecord

MOST_ACTIONS: Final = 100
MOST_EVENTS: Final = 1500
"""Events that are counted together, more only if they are all in one block."""

MOST_BYTES: Final = 3_500_000
"""Of ledgers and deltas in one transaction, which takes 4 MB."""

_MOST_TRIES = 20

Blocks = dict[Key, list[Event]]


def commit(events: Sequence[Event], ledgers: Mapping[Key, DeduplicationRecord]) -> None:
    """Count those of ``events`` that their ledgers do not know, and let them be known."""
    for blocks in _together(events):
        _commit(blocks, {key: ledgers[key] for key in blocks})


def _commit(blocks: Blocks, ledgers: Mapping[Key, DeduplicationRecord]) -> None:
    for _ in range(_MOST_TRIES):
        actions = list(_actions(blocks, ledgers))
        if not actions:
            return
        if len(blocks) > 1 and not _fits(actions):
            _commit_in_halves(blocks)
            return
        try:
            dynamo.transact(actions)
            return
        except TransactionFailed:
            ledgers = deduplication.read(blocks)
    raise RuntimeError("others kept recording events of the same messages")


def _commit_in_halves(blocks: Blocks) -> None:
    """Commit blocks in two transactions; their ledgers, which have events noted, are read again."""
    keys = list(blocks)
    for some in (keys[: len(keys) // 2], keys[len(keys) // 2 :]):
        _commit({key: blocks[key] for key in some}, deduplication.read(some))


def _fits(actions: Sequence[Write]) -> bool:
    return len(actions) <= MOST_ACTIONS and sum(map(_size, actions)) <= MOST_BYTES


def _size(action: Write) -> int:
    """Return how many bytes an action writes, but for the little besides packed values."""
    return sum(len(value.get("B", b"")) for value in action.arguments["Item"].values())


def _actions(blocks: Blocks, ledgers: Mapping[Key, DeduplicationRecord]) -> Iterator[Write]:
    deltas: dict[int, Delta] = defaultdict(Delta)
    for key, events in blocks.items():
        new = [event for event in events if _count(event, ledgers[key], deltas)]
        if new:
            yield ledgers[key].write()
    for account_id, delta in deltas.items():
        if delta:
            yield from pending.additions(account_id, delta)


def _count(event: Event, known: DeduplicationRecord, deltas: Mapping[int, Delta]) -> bool:
    if known.knows(event):
        return False
    first = known.note(event, counting.marks(event))
    deltas[int(event["customer_id"])].add(event, first)
    return True


def _together(events: Iterable[Event]) -> Iterator[Blocks]:
    """Cut events into blocks whose ledgers, and a delta of each account, fit one transaction."""
    by_block: Blocks = defaultdict(list)
    for event in events:
        by_block[deduplication.key_of(event)].append(event)
    group: Blocks = {}
    accounts: set[str] = set()
    for key, found in sorted(by_block.items(), key=lambda each: each[1][0]["customer_id"]):
        count = sum(map(len, group.values())) + len(found)
        owners = accounts | {event["customer_id"] for event in found}
        if group and (len(group) + 1 + len(owners) > MOST_ACTIONS or count > MOST_EVENTS):
            yield group
            group, owners = {}, {event["customer_id"] for event in found}
        group[key] = found
        accounts = owners
    if group:
        yield group
