"""Draw ids for accepted work, and derive all other ids from them.

Derived ids make repeated work write the same record again instead of another: a message id follows
from its transmission and recipient index, an event id from its message, type and attempt.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from functools import lru_cache

from chalicelib.core import clock

_EPOCH_MS = 1_577_836_800_000  # 2020-01-01
#: Ids from here on are of transmissions whose data is spread over partitions. In version 0.1.0 ids
#: began at 0, and what is stored under those is in one partition (stays: mail names these ids).
#: Keeps ids at 18 digits until 2042.
_SPREAD_FROM = 3 * 10**17
_MESSAGE_ID = re.compile(r"[0-9a-f]{24}")


def transmission_id() -> str:
    """Draw a transmission id: 18 digits, growing with time."""
    return str(int(first_transmission_id(clock.now_ms())) + secrets.randbelow(1_000_000))


def first_transmission_id(moment_ms: int) -> str:
    """Return the least id that a transmission can have that was accepted at a moment or later."""
    return str(_SPREAD_FROM + (moment_ms - _EPOCH_MS) * 1_000_000)


def repeatable_transmission_id(moment_ms: int, text: str) -> str:
    """Derive the id of a transmission that the service itself makes of ``text`` at a moment."""
    digest = hashlib.sha256(text.encode()).digest()
    number = int.from_bytes(digest[:8], "big") % 1_000_000
    return str(int(first_transmission_id(moment_ms)) + number)


def is_spread(transmission: str) -> bool:
    """Tell whether the data of a transmission is spread over partitions (``message_keys``)."""
    is_number = transmission.isascii() and transmission.isdecimal()
    return is_number and int(transmission) >= _SPREAD_FROM


def message_id(transmission: str, index: int) -> str:
    """Derive the id of the message to recipient ``index`` of ``transmission`` (24 hex digits).

    The first 16 digits name the transmission and the last 8 the recipient, so that the
    transmission of a message can be read from its id (:func:`transmission_of`).
    """
    return f"{int(transmission):016x}{index:08x}"


@lru_cache(maxsize=4096)  # recording an event asks for it several times
def transmission_of(message: str) -> tuple[str, int]:
    """Return the transmission id and recipient index that ``message`` was derived from.

    Raises ``ValueError`` for anything that is not a message id.
    """
    if not _MESSAGE_ID.fullmatch(message):
        raise ValueError(f"not a message id: {message!r}")
    return str(int(message[:16], 16)), int(message[16:], 16)


def event_id(message: str, event_type: str, attempt: int = 0) -> str:
    """Derive the id of an event of ``message`` (a decimal string of at most 19 digits)."""
    digest = hashlib.sha256(f"{message}\0{event_type}\0{attempt}".encode()).digest()
    return str(int.from_bytes(digest[:8], "big") >> 1)


def recipient_hash(address: str) -> str:
    """Return the 40 hex digits that identify a recipient in events (SHA-1 of the address)."""
    return hashlib.sha1(address.encode(), usedforsecurity=False).hexdigest()
