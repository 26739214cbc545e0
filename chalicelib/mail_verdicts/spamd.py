"""Ask spamd, the daemon of SpamAssassin, about a message (its protocol SPAMC/1.5)."""

from __future__ import annotations

import re
from typing import Final

from chalicelib.core.spool import Octets, pieces_of
from chalicelib.mail_verdicts.model import SpamRule, SpamVerdict
from chalicelib.mail_verdicts.scanner_connection import ScannerConnection

PORT: Final = 783

MOST_OCTETS: Final = 512_000
"""Octets of a message that is checked, as spamc has it: SpamAssassin takes long for larger ones."""

_OK: Final = re.compile(rb"SPAMD/[0-9.]{1,10} 0 ")
_SCORE: Final = re.compile(
    rb"\r\nSpam: (True|False) ; (-?[0-9]{1,8}(?:\.[0-9]{1,8})?) / (-?[0-9]{1,8}(?:\.[0-9]{1,8})?)",
    re.IGNORECASE,
)
_RULE: Final = re.compile(r"^ {0,3}(-?[0-9]{1,4}(?:\.[0-9]{1,3})?) ([A-Z][A-Z0-9_]{1,99})\b", re.M)
_MOST_RULES: Final = 200


def check(octets: Octets, address: str, seconds: float) -> SpamVerdict:
    """Return the verdict; raises ``OSError``."""
    size = len(octets)
    if size > MOST_OCTETS:
        error = f"the message has {size} octets, and spamd gets at most {MOST_OCTETS}"
        return SpamVerdict(error=error)
    with ScannerConnection(address, PORT, seconds) as connection:
        connection.send(b"REPORT SPAMC/1.5\r\nContent-length: %d\r\n\r\n" % size)
        for piece in pieces_of(octets):
            connection.send(piece)
        connection.finish()
        return read_reply(connection.reply())


def read_reply(reply: bytes) -> SpamVerdict:
    """Read the reply of spamd with its table of rules."""
    head, _, report = reply.partition(b"\r\n\r\n")
    score = _SCORE.search(head)
    if not _OK.match(head) or not score:
        line = head.partition(b"\r\n")[0][:200].decode("ascii", "replace")
        return SpamVerdict(error=f"spamd answered {line!r}")
    rules = _RULE.findall(report.decode("utf-8", "replace"))[:_MOST_RULES]
    return SpamVerdict(
        score[1].lower() == b"true",
        _number(score[2]),
        _number(score[3]),
        tuple(SpamRule(name, _number(points)) for points, name in rules),
    )


def _number(text: str | bytes) -> float:
    return float(text) + 0.0  # spamd writes -0.0
