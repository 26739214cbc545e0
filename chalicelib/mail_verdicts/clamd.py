"""Ask clamd, the daemon of ClamAV, about a message (its command INSTREAM)."""

from __future__ import annotations

import re
from typing import Final

from chalicelib.core.spool import Octets, pieces_of
from chalicelib.mail_verdicts.model import VirusVerdict
from chalicelib.mail_verdicts.scanner_connection import ScannerConnection

PORT: Final = 3310

_CLEAN: Final = re.compile(r"stream: OK")
_INFECTED: Final = re.compile(r"stream: (.{1,200}) FOUND")


def check(octets: Octets, address: str, seconds: float) -> VirusVerdict:
    """Return the verdict; raises ``OSError``.

    clamd closes when a message is larger than its ``StreamMaxLength``; its reply says so.
    """
    with ScannerConnection(address, PORT, seconds) as connection:
        try:
            connection.send(b"zINSTREAM\0")
            for piece in pieces_of(octets):
                connection.send(len(piece).to_bytes(4, "big"))
                connection.send(piece)
            connection.send(bytes(4))
        except (BrokenPipeError, ConnectionResetError):
            return _interrupted(connection)
        return read_reply(connection.reply())


def _interrupted(connection: ScannerConnection) -> VirusVerdict:
    try:
        reply = connection.reply()
    except ConnectionResetError:
        reply = b""
    return read_reply(reply) if reply else VirusVerdict(error="clamd took only a part of it")


def read_reply(reply: bytes) -> VirusVerdict:
    """Read the reply of clamd."""
    text = reply.partition(b"\0")[0].decode("utf-8", "replace").strip()
    if _CLEAN.fullmatch(text):
        return VirusVerdict()
    if match := _INFECTED.fullmatch(text):
        return VirusVerdict(True, match[1])
    return VirusVerdict(error=f"clamd answered {text[:200]!r}")
