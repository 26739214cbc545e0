"""Do what clients of IMAP ask of messages: fetch, flag, search and delete them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from infrastructure.local.mail_readers import flags, imap_search
from infrastructure.local.mail_readers.desk import ReadingDesk
from infrastructure.local.mail_readers.imap_fetch import FetchItem, Message, read_items, written
from infrastructure.local.mail_readers.imap_replies import No, flags_of
from infrastructure.local.mail_readers.imap_selection import Selection
from infrastructure.local.mail_readers.imap_syntax import BadCommand, Ranges, Scanner
from infrastructure.local.mailbox.numbers import NumberedMessage

if TYPE_CHECKING:
    from infrastructure.local.mail_readers.imap_session import ImapSession

_CHUNK = 200
# Octets of a response that are made before the client reads them
_MOST_AT_ONCE = 256 * 1024
_UID = FetchItem("UID", b"UID")
_FLAGS = FetchItem("FLAGS", b"FLAGS")
_IN_MEMORY = frozenset({"UID", "FLAGS"})


async def fetch(session: ImapSession, scanner: Scanner, *, by_uid: bool = False) -> None:
    """FETCH (RFC 3501 6.4.5)."""
    selection = session.selected()
    positions = _positions(selection, scanner, by_uid=by_uid)
    scanner.expect(b" ")
    items = read_items(scanner)
    if by_uid and _UID.name not in {each.name for each in items}:
        items = [_UID, *items]
    marks_seen = any(each.marks_seen for each in items) and not selection.is_read_only
    is_complete = True
    for chunk in _chunks(positions):
        reflagged: list[int] = []
        if marks_seen:
            reflagged = await session.desk.run(_see, session.desk, selection, chunk)
        fetches = await _fetches(session.desk, selection, items, chunk, set(reflagged))
        is_complete &= len(fetches) == len(chunk)
        if not any(each.needs_content for each in items):
            session.connection.write(b"".join(each.response(b"") for each in fetches))
            await session.connection.flush_much()
            continue
        for each in fetches:
            is_complete &= await _send(session, each)
    if not is_complete:
        raise No("some of the messages were deleted meanwhile", "EXPUNGEISSUED")


async def fetch_by_uid(session: ImapSession, scanner: Scanner) -> None:
    """UID FETCH (RFC 3501 6.4.8)."""
    await fetch(session, scanner, by_uid=True)


class _Fetch(NamedTuple):
    """What is fetched of one message."""

    items: list[FetchItem]
    position: int
    row: NumberedMessage
    bits: int

    def pieces(self, content: bytes) -> Iterator[bytes]:
        """Yield the response for a message with this content."""
        return written(self.items, self.position, Message(self.row, self.bits, content))

    def response(self, content: bytes) -> bytes:
        """Return the response for a message with this content."""
        return b"".join(self.pieces(content))


async def _fetches(
    desk: ReadingDesk,
    selection: Selection,
    items: list[FetchItem],
    positions: Sequence[int],
    reflagged: set[int],
) -> list[_Fetch]:
    """Return what to fetch of each message that is there; those reflagged tell their flags."""
    names = {each.name for each in items}
    flagged_items = items if "FLAGS" in names else [*items, _FLAGS]
    uids = [selection.uids[position - 1] for position in positions]
    if names <= _IN_MEMORY:
        rows = {uid: NumberedMessage(uid, "", 0, False) for uid in uids}
    else:
        rows = await desk.run(desk.numbers.messages, uids)
    return [
        _Fetch(
            flagged_items if position in reflagged else items,
            position,
            rows[uid],
            selection.bits[position - 1],
        )
        for position, uid in zip(positions, uids, strict=True)
        if uid in rows
    ]


async def _send(session: ImapSession, fetch: _Fetch) -> bool:
    """Send the response for a message whose file is needed; tell whether it is there."""
    desk, is_there, has_more = session.desk, False, True
    async with desk.room(fetch.row.size):
        pieces = _pieces(desk, fetch)
        while has_more:
            some, has_more = await desk.run(_some_of, pieces)
            for piece in some:
                is_there = True
                await session.connection.send(piece)
    return is_there


def _pieces(desk: ReadingDesk, fetch: _Fetch) -> Iterator[bytes]:
    content = desk.content(fetch.row.id)
    if content is not None:
        yield from fetch.pieces(content)


def _some_of(pieces: Iterator[bytes]) -> tuple[list[bytes], bool]:
    """Return the next pieces, all of them or those of some size, and whether there may be more."""
    some, octets = [], 0
    for piece in pieces:
        some.append(piece)
        octets += len(piece)
        if octets > _MOST_AT_ONCE:
            return some, True
    return some, False


def _see(desk: ReadingDesk, selection: Selection, positions: Sequence[int]) -> list[int]:
    """Flag messages as seen; return the positions of those that were not."""
    unseen = [each for each in positions if not selection.bits[each - 1] & flags.SEEN]
    _set_bits(desk, selection, {each: selection.bits[each - 1] | flags.SEEN for each in unseen})
    return unseen


async def store(session: ImapSession, scanner: Scanner, *, by_uid: bool = False) -> None:
    """STORE (RFC 3501 6.4.6); flags that are not known are ignored."""
    selection = session.selected()
    positions = _positions(selection, scanner, by_uid=by_uid)
    scanner.expect(b" ")
    sign = "+" if scanner.skips(b"+") else "-" if scanner.skips(b"-") else ""
    name = scanner.atom()
    if name not in ("FLAGS", "FLAGS.SILENT"):
        raise BadCommand("STORE takes FLAGS")
    scanner.expect(b" ")
    mask = _read_flags(scanner)
    scanner.end()
    if selection.is_read_only:
        raise No("the mailbox is selected for reading only", "READ-ONLY")
    for chunk in _chunks(positions):
        bits = {each: _changed(selection.bits[each - 1], sign, mask) for each in chunk}
        await session.desk.run(_set_bits, session.desk, selection, bits)
        for position in chunk if name == "FLAGS" else ():
            session.connection.write(flags_of(selection, position, has_uid=by_uid))
        await session.connection.flush_much()


async def store_by_uid(session: ImapSession, scanner: Scanner) -> None:
    """UID STORE."""
    await store(session, scanner, by_uid=True)


def _read_flags(scanner: Scanner) -> int:
    is_list, mask = scanner.skips(b"("), 0
    if is_list and scanner.skips(b")"):
        return 0
    while True:
        mask |= flags.BITS.get(scanner.flag(), 0)
        if not scanner.skips(b" "):
            break
    if is_list:
        scanner.expect(b")")
    return mask


def _changed(bits: int, sign: str, mask: int) -> int:
    if not sign:
        return mask
    return bits | mask if sign == "+" else bits & ~mask


def _set_bits(desk: ReadingDesk, selection: Selection, bits_by_position: dict[int, int]) -> None:
    """Let messages have these flags."""
    uids = {position: selection.uids[position - 1] for position in bits_by_position}
    turned = {
        position: bits
        for position, bits in bits_by_position.items()
        if (bits ^ selection.bits[position - 1]) & flags.SEEN
    }
    rows = desk.numbers.messages([uids[position] for position in turned]) if turned else {}
    for unread in (True, False):
        message_ids = [
            rows[uids[position]].id
            for position, bits in turned.items()
            if uids[position] in rows and unread != bool(bits & flags.SEEN)
        ]
        if message_ids:
            desk.mailbox.set_unread(message_ids, unread)
    for position, bits in bits_by_position.items():
        selection.set_bits(position, bits)
        desk.marks.set_bits(uids[position], bits)


async def search(session: ImapSession, scanner: Scanner, *, by_uid: bool = False) -> None:
    """SEARCH (RFC 3501 6.4.4)."""
    selection, desk = session.selected(), session.desk
    reader = imap_search.SearchReader(desk, selection)
    try:
        key = await desk.run(reader.read, scanner)
    except imap_search.BadCharset:
        raise No("the charset is not known", "BADCHARSET (US-ASCII UTF-8)") from None
    session.connection.write(b"* SEARCH")
    # A response is one line, so it is written while the search goes on
    for chunk in _chunks(range(1, len(selection) + 1)):
        positions = await desk.run(imap_search.matching, desk, selection, key, chunk)
        numbers = (selection.uids[each - 1] if by_uid else each for each in positions)
        session.connection.write(b"".join(b" %d" % each for each in numbers))
        await session.connection.flush_much()
    session.connection.write(b"\r\n")


async def search_by_uid(session: ImapSession, scanner: Scanner) -> None:
    """UID SEARCH."""
    await search(session, scanner, by_uid=True)


async def expunge(session: ImapSession, scanner: Scanner) -> None:
    """EXPUNGE; which messages went is told with what else is new."""
    scanner.end()
    await _expunge(session, None)


async def expunge_by_uid(session: ImapSession, scanner: Scanner) -> None:
    """UID EXPUNGE (RFC 4315)."""
    ranges = scanner.ranges()
    scanner.end()
    await _expunge(session, ranges)


async def _expunge(session: ImapSession, ranges: Ranges | None) -> None:
    selection = session.selected()
    if selection.is_read_only:
        raise No("the mailbox is selected for reading only", "READ-ONLY")
    await session.desk.run(delete_flagged, session.desk, selection, ranges)


def delete_flagged(desk: ReadingDesk, selection: Selection, ranges: Ranges | None) -> None:
    """Delete what has the flag of deletion, of a set of UIDs if there is one."""
    positions: Sequence[int] = range(1, len(selection) + 1)
    if ranges is not None:
        positions = selection.positions(ranges, by_uid=True)
    flagged = [each for each in positions if selection.bits[each - 1] & flags.DELETED]
    for chunk in _chunks(flagged):
        rows = desk.numbers.messages([selection.uids[each - 1] for each in chunk])
        for row in rows.values():
            desk.mailbox.delete(row.id)
        desk.marks.forget(rows)


def _positions(selection: Selection, scanner: Scanner, *, by_uid: bool) -> list[int]:
    ranges = scanner.ranges()
    if not by_uid and not selection.exists(ranges):
        raise BadCommand("there is no such message")
    return selection.positions(ranges, by_uid=by_uid)


def _chunks(positions: Sequence[int]) -> Iterator[Sequence[int]]:
    return (positions[start : start + _CHUNK] for start in range(0, len(positions), _CHUNK))
