"""Have a message judged by the spam checker that `SPAM_CHECK` names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from chalicelib.core.settings import settings
from chalicelib.mail_verdicts import rspamd, spamd
from chalicelib.mail_verdicts.model import Origin, SpamVerdict
from chalicelib.mail_verdicts.scanner_connection import ScannerConnection
from infrastructure.local.messages.parts import StoredMessage

_SPAMD: Final = "spamd"
#: A line of spamd's table: points, rule and the beginning of its description
_LINE: Final = re.compile(
    r"^ {0,3}-?[0-9]{1,4}(?:\.[0-9]{1,3})? ([A-Z][A-Z0-9_]{1,99}) (.*)$", re.M
)
_FOLDED: Final = re.compile(r"\n {20,}(?=\S)")


@dataclass(frozen=True, slots=True)
class RuleScore:
    """A rule that applied; ``description`` is empty where the checker gives none."""

    name: str
    score: float
    description: str


@dataclass(frozen=True, slots=True)
class SpamCheck:
    """The verdict; ``error`` says why there is none."""

    is_spam: bool
    score: float
    error: str
    rules: list[RuleScore]


def spam_check(message: StoredMessage) -> SpamCheck:
    """Return what the checker says; it never raises for what goes wrong there."""
    kind, _, address = settings().spam_check.partition("://")
    seconds = settings().scan_timeout
    try:
        if kind == _SPAMD:
            verdict, descriptions = _ask_spamd(message.content, address, seconds)
        else:
            origin = Origin("", "", message.sender)
            verdict = rspamd.check(message.content, origin, address, seconds)
            descriptions = {}
    except OSError as error:
        return SpamCheck(False, 0.0, f"{kind} does not answer: {error}", [])
    rules = [
        RuleScore(rule.name, rule.score, descriptions.get(rule.name, "")) for rule in verdict.rules
    ]
    return SpamCheck(verdict.is_spam, verdict.score or 0.0, verdict.error, rules)


def _ask_spamd(content: bytes, address: str, seconds: float) -> tuple[SpamVerdict, dict[str, str]]:
    """Ask as ``spamd.check`` does, and keep the descriptions of the rules."""
    if len(content) > spamd.MOST_OCTETS:
        return spamd.check(content, address, seconds), {}
    with ScannerConnection(address, spamd.PORT, seconds) as connection:
        connection.send(b"REPORT SPAMC/1.5\r\nContent-length: %d\r\n\r\n" % len(content))
        connection.send(content)
        connection.finish()
        reply = connection.reply()
    report = _FOLDED.sub(" ", reply.decode("utf-8", "replace").replace("\r\n", "\n"))
    descriptions = {name: text.strip() for name, text in _LINE.findall(report)}
    return spamd.read_reply(reply), descriptions
