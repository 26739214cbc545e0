"""Ask Rspamd about a message (``POST /checkv2`` of its worker)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final

from chalicelib.core.spool import Octets, pieces_of
from chalicelib.mail_verdicts.model import Origin, SpamRule, SpamVerdict
from chalicelib.mail_verdicts.scanner_connection import ScannerConnection

PORT: Final = 11_333

_OK: Final = re.compile(rb"HTTP/1\.[01] 200 ")
_UNSAFE: Final = re.compile(r"[^!-~]")
_SPAM_ACTIONS: Final = ("reject", "add header", "rewrite subject", "quarantine", "discard")
_MOST_RULES: Final = 200


def check(octets: Octets, origin: Origin, address: str, seconds: float) -> SpamVerdict:
    """Return the verdict; raises ``OSError``."""
    with ScannerConnection(address, PORT, seconds) as connection:
        connection.send(_head(len(octets), origin))
        for piece in pieces_of(octets):
            connection.send(piece)
        return read_reply(connection.reply())


def _head(size: int, origin: Origin) -> bytes:
    fields = {
        "Host": "rspamd",
        "Connection": "close",
        "Content-Length": str(size),
        "From": origin.mail_from,
        "IP": origin.peer_ip,
        "Helo": origin.helo,
    }
    lines = [f"{name}: {_UNSAFE.sub('?', value)}" for name, value in fields.items() if value]
    return "\r\n".join(["POST /checkv2 HTTP/1.0", *lines, "\r\n"]).encode("ascii")


def read_reply(reply: bytes) -> SpamVerdict:
    """Read an HTTP response of Rspamd.

    Its score is spam from the action *add header* on; below that are *no action* and *greylist*.
    """
    head, _, body = reply.partition(b"\r\n\r\n")
    try:
        if not _OK.match(head):
            raise ValueError
        return _read(json.loads(body))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        line = head.partition(b"\r\n")[0][:200].decode("ascii", "replace")
        return SpamVerdict(error=f"rspamd answered {line!r}, or what cannot be read")


def _read(document: Mapping[str, Any]) -> SpamVerdict:
    thresholds = document.get("thresholds", {})
    threshold = thresholds.get("add header", document["required_score"])
    symbols = list(document.get("symbols", {}).values())[:_MOST_RULES]
    return SpamVerdict(
        document["action"] in _SPAM_ACTIONS,
        _number(document["score"]),
        _number(threshold),
        tuple(SpamRule(str(each["name"])[:100], _number(each["score"])) for each in symbols),
    )


def _number(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(value)
    return round(number, 3)
