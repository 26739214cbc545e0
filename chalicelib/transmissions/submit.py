"""Submit a transmission: store and queue it with its recipients, all of it or nothing.

There are two queues for the work of generation. Chunks of transmissions with several chunks, and
chunks of large messages, are on ``generation``. What is small or due is on ``small-sends``: the
chunk of a transmission that has only one, and the starts of stored transmissions. So neither waits
behind the rest of a bulk send.

The common case, one chunk now, needs two requests: the record is stored, then the chunk is queued
with the transmission inside it. Several chunks cannot be queued in one step, so the record is
stored as ``accepting`` first; generation holds back the chunks until it is ``submitted``, and drops
them if the request never came to its end. A scheduled transmission, and one to a stored list, is
stored with its recipients or the list's name, and is cut into chunks when it starts
(``transmissions.start``).

All of it may be repeated under the same id: a repetition finds what was stored, and generation
knows chunks by their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import NotRequired

from chalicelib.accounts.store.allowance import Allowance
from chalicelib.core import clock, due, packing, queues
from chalicelib.core.due import Due
from chalicelib.core.dynamo import Write
from chalicelib.core.errors import Unavailable
from chalicelib.core.queues import Work
from chalicelib.core.settings import settings
from chalicelib.core.typed_dicts import TypedDict
from chalicelib.recipient_lists.stored_form import join
from chalicelib.transmissions.model import ACCEPTING, SUBMITTED, Transmission
from chalicelib.transmissions.recipients import Recipients
from chalicelib.transmissions.store import transmissions
from chalicelib.transmissions.store.transmissions import NewRecord

QUEUE = "generation"
SMALL_SENDS = "small-sends"
#: The kinds of work on the queues that are queued here
CHUNK = "chunk"
START = "start"

CONCERN = "transmissions"


class StartHead(TypedDict):
    """The head of the message that starts a stored transmission.

    Version 0.1.0 wrote ``start`` in place of ``kind`` (goes with 0.3.0).
    """

    kind: NotRequired[str]
    transmission: str
    start: NotRequired[bool]


class ChunkHead(TypedDict):
    """The head of a chunk's message; ``chunk`` is its number, ``first_index`` that of a recipient.

    Version 0.1.0 wrote no ``kind`` (goes with 0.3.0).
    """

    kind: NotRequired[str]
    transmission: str
    chunk: int
    first_index: int
    created_ms: int


# The function that consumes small sends has little memory
_SMALL_BYTES = 1024 * 1024
# Bytes that headers, encoding, signature and tracking add to a message
_OVERHEAD_BYTES = 4096


def submit(
    transmission: Transmission,
    recipients: Recipients,
    allowance: Allowance,
    line: Sequence[Write] = (),
) -> None:
    """Store a transmission durably, and queue its generation for now or for its time.

    ``line`` is its line of the audit log, if it gets one.

    The recipients count against ``allowance``, which raises 420 when they are too many. Raises 503
    when several chunks took too long to be queued; none of them will be sent.
    """
    transmission = replace(transmission, counts_at_acceptance=allowance.counts_at_acceptance)
    if transmission.start_ms or recipients.list_ref:
        _submit_for_start(transmission, recipients, allowance, line)
    else:
        _submit_now(transmission, recipients, allowance, line)


def due_of(transmission: Transmission) -> Due:
    """Return the entry that makes a scheduled transmission start at its time."""
    return Due(CONCERN, transmission.start_ms, transmission.id)


def queue_start(transmission_id: str) -> None:
    """Queue the start of a stored transmission; queueing it again does no harm."""
    head: StartHead = {"kind": START, "transmission": transmission_id}
    queues.send(SMALL_SENDS, [Work(head)])


def queue_chunks(transmission: Transmission, recipients: Recipients, size: int) -> None:
    """Queue all chunks of a transmission; they are generated when it is submitted."""
    if recipients.count <= size:
        _queue_only_chunk(transmission, recipients, size, transmission.pieces())
    else:
        queues.send(QUEUE, _chunks(transmission, recipients, size))


def _queue_only_chunk(
    transmission: Transmission, recipients: Recipients, size: int, data: Sequence[bytes]
) -> None:
    """Queue the only chunk of a transmission, with the transmission inside: ``data`` in pieces.

    Its place is among the small sends, unless its messages are large.
    """
    works = [_chunk(transmission, 0, size, list(recipients), [data])]
    size_of_messages = recipients.count * _size(data)
    if size_of_messages > _SMALL_BYTES or works[0].payload_size > _SMALL_BYTES:
        queues.send(QUEUE, works)
    else:
        queues.send(SMALL_SENDS, works)


def _submit_for_start(
    transmission: Transmission, recipients: Recipients, allowance: Allowance, line: Sequence[Write]
) -> None:
    """Store a transmission that is cut into chunks later.

    Its content may still change, up to the size that a template may have, and so may its chunks'.
    """
    data = transmission.pieces()
    size, list_ref = _chunk_size(_size(data)), recipients.list_ref
    record = NewRecord(transmission, data, SUBMITTED, recipients.count, size, list_ref)
    recipients.keep(transmission.id)
    along = [due.addition(due_of(transmission))] if transmission.start_ms else []
    transmissions.put(record, allowance, along=[*along, *line])
    if not transmission.start_ms:
        queue_start(transmission.id)


def _submit_now(
    transmission: Transmission, recipients: Recipients, allowance: Allowance, line: Sequence[Write]
) -> None:
    data = transmission.pieces()
    size = _chunk_size(_size(data))
    state = SUBMITTED if recipients.count <= size else ACCEPTING
    # A request that repeats one that died cuts the same chunks, and counts as that one did
    record = NewRecord(transmission, data, state, recipients.count, size)
    first = transmissions.put(record, allowance, along=line)
    size = first.chunk_size
    if first.counts_at_acceptance != transmission.counts_at_acceptance:
        transmission = replace(transmission, counts_at_acceptance=first.counts_at_acceptance)
        data = transmission.pieces()
    if state == SUBMITTED and recipients.count <= size:
        _queue_only_chunk(transmission, recipients, size, data)
        return
    queue_chunks(transmission, recipients, size)
    _check_in_time(transmission)
    transmissions.commit(transmission.id)


def _size(data: Sequence[bytes]) -> int:
    return sum(map(len, data))


def _check_in_time(transmission: Transmission) -> None:
    """Refuse a request that took so long that generation may have begun to drop its chunks.

    Half of the time is left as a margin for the clocks of other hosts.
    """
    if clock.now_ms() - transmission.created_ms > settings().accept_window * 500:
        raise Unavailable


def _chunk_size(transmission_bytes: int) -> int:
    fitting = settings().chunk_bytes // (transmission_bytes + _OVERHEAD_BYTES)
    return max(1, min(settings().chunk_recipients, fitting))


def _chunks(
    transmission: Transmission, recipients: Recipients, size: int
) -> Iterator[Work[ChunkHead]]:
    remaining, number = iter(recipients), 0
    while chunk := list(islice(remaining, size)):
        yield _chunk(transmission, number, size, chunk, [])
        number += 1


def _chunk(
    transmission: Transmission,
    number: int,
    size: int,
    recipients: Iterable[bytes],
    inside: Sequence[Sequence[bytes]],
) -> Work[ChunkHead]:
    head: ChunkHead = {
        "kind": CHUNK,
        "transmission": transmission.id,
        "chunk": number,
        "first_index": number * size,
        "created_ms": transmission.created_ms,
    }
    payload = packing.pieces(None, [[join(recipients)], *inside])
    return Work(head, payload, tenant=transmission.account_id)
