"""Submission: a transmission and its recipients are stored and queued, wholly or not at all.

The common case, one chunk now, needs two requests: the record is stored, then the chunk is queued
with the transmission inside it. Several chunks cannot be queued in one step, so the record is
stored as ``accepting`` first; generation holds back the chunks until it is ``submitted``, and drops
them if the request never came to its end. What starts later, and what goes to a stored list, is
stored with its recipients or the list's name, and is cut into chunks when it starts
(``transmissions.start``).

All of it may be repeated under the same id: a repetition finds what was stored, and chunks are
known to generation by their number.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from chalicelib.accounts.store.usage import Allowance
from chalicelib.core import clock, due, packing, queues
from chalicelib.core.due import Due
from chalicelib.core.errors import Unavailable
from chalicelib.core.queues import Work
from chalicelib.core.settings import settings
from chalicelib.recipient_lists.model import RecipientList
from chalicelib.transmissions.model import ACCEPTING, SUBMITTED, Json, Transmission
from chalicelib.transmissions.store import transmissions
from chalicelib.transmissions.store.transmissions import New

QUEUE = "generation"
#: The kinds of work on the queue that are queued here
CHUNK = "chunk"
START = "start"
CONCERN = "transmissions"

# What a message grows by: headers, encoding, signature, tracking
_OVERHEAD_BYTES = 4096


def submit(
    sent: Transmission, recipients: Sequence[Json] | RecipientList, meter: Allowance
) -> None:
    """Store ``sent`` and have it generated now or at its time; when it returns, nothing is lost.

    The recipients count against ``meter``, which raises 420 when they are too many. Raises 503
    when several chunks took too long to be queued; none of them will be sent.
    """
    if isinstance(recipients, RecipientList):
        _submit_list(sent, recipients, meter)
    elif sent.start_ms:
        transmissions.put_recipients(sent.id, recipients)
        transmissions.put(_new(sent, len(recipients)), meter, along=[due.addition(due_of(sent))])
    else:
        _submit_now(sent, recipients, meter)


def due_of(sent: Transmission) -> Due:
    """Return the entry that makes a scheduled transmission start at its time."""
    return Due(CONCERN, sent.start_ms, sent.id)


def queue_start(transmission_id: str) -> None:
    """Have a stored transmission cut into chunks; asking for it again does no harm."""
    # Versions that know no kinds look at ``start``: one may still run while a stage is updated
    queues.send(QUEUE, [Work({"kind": START, "transmission": transmission_id, "start": True})])


def queue_chunks(sent: Transmission, recipients: Iterable[Json], size: int) -> None:
    """Queue all chunks of a transmission; they are generated when it is submitted."""
    queues.send(QUEUE, _works(sent, iter(recipients), size))


def _submit_list(sent: Transmission, recipients: RecipientList, meter: Allowance) -> None:
    along = [due.addition(due_of(sent))] if sent.start_ms else []
    ref = {"id": recipients.id, "version": recipients.version}
    transmissions.put(_new(sent, recipients.count, list_ref=ref), meter, along=along)
    if not sent.start_ms:
        queue_start(sent.id)


def _submit_now(sent: Transmission, recipients: Sequence[Json], meter: Allowance) -> None:
    packed = sent.packed()
    size = _chunk_size(len(packed))
    state = SUBMITTED if len(recipients) <= size else ACCEPTING
    # When this request repeats one that died, its chunks are cut as they were then
    size = transmissions.put(New(sent, packed, state, len(recipients), size), meter)
    if state == SUBMITTED and len(recipients) <= size:
        queues.send(QUEUE, [_work(sent, 0, size, recipients, [packed])])
        return
    queue_chunks(sent, recipients, size)
    _check_in_time(sent)
    transmissions.commit(sent.id)


def _new(sent: Transmission, count: int, *, list_ref: Json | None = None) -> New:
    """Return the record of what is cut into chunks later.

    Its content may still change, up to the size that a template may have; so may its chunks'.
    """
    packed = sent.packed()
    return New(sent, packed, SUBMITTED, count, _chunk_size(len(packed)), list_ref)


def _check_in_time(sent: Transmission) -> None:
    """Refuse what took so long that generation may have begun to drop its chunks.

    Half the time is left for the clocks of other hosts.
    """
    if clock.now_ms() - sent.created_ms > settings().accept_window * 500:
        raise Unavailable


def _chunk_size(packed_bytes: int) -> int:
    fitting = settings().chunk_bytes // (packed_bytes + _OVERHEAD_BYTES)
    return max(1, min(settings().chunk_recipients, fitting))


def _works(sent: Transmission, recipients: Iterator[Json], size: int) -> Iterator[Work]:
    number = 0
    while chunk := list(islice(recipients, size)):
        yield _work(sent, number, size, chunk, [])
        number += 1


def _work(
    sent: Transmission, number: int, size: int, recipients: Sequence[Json], inside: list[bytes]
) -> Work:
    head = {
        "kind": CHUNK,
        "transmission": sent.id,
        "chunk": number,
        "first_index": number * size,
        "created_ms": sent.created_ms,
    }
    text = json.dumps(recipients, separators=(",", ":"), ensure_ascii=False)
    return Work(head, packing.pack(None, [text.encode("utf-8", "surrogatepass"), *inside]))
