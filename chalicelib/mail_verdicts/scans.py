"""Have a message scanned for spam and viruses by the programs of ``SPAM_CHECK``, ``VIRUS_CHECK``.

Both scan at the same time, in threads. Nothing that goes wrong there fails the message.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Final, Self, TypeVar

from chalicelib.core.settings import settings
from chalicelib.core.spool import Octets
from chalicelib.mail_verdicts import clamd, rspamd, spamd
from chalicelib.mail_verdicts.model import Origin, SpamVerdict, VirusVerdict

_log = logging.getLogger(__name__)

_THREADS: Final = 16

Verdict = TypeVar("Verdict", SpamVerdict, VirusVerdict)


@dataclass(frozen=True, slots=True)
class Scans:
    """The scans of one message, ``None`` where nobody is asked."""

    spam_scan: Future[SpamVerdict] | None
    virus_scan: Future[VirusVerdict] | None

    @classmethod
    def start(cls, octets: Octets, origin: Origin) -> Self:
        """Begin to scan; the octets must stay until the verdicts are there."""
        current = settings()
        return cls(
            _threads().submit(_check_spam, octets, origin) if current.spam_check else None,
            _threads().submit(_check_virus, octets) if current.virus_check else None,
        )

    def spam(self) -> SpamVerdict | None:
        """Wait for the verdict on spam."""
        return _result(self.spam_scan, SpamVerdict) if self.spam_scan else None

    def virus(self) -> VirusVerdict | None:
        """Wait for the verdict on viruses."""
        return _result(self.virus_scan, VirusVerdict) if self.virus_scan else None


def _result(scan: Future[Verdict], failure: Callable[..., Verdict]) -> Verdict:
    """Wait for a verdict; a scan has a limit of its own, but may have to wait for a thread."""
    try:
        return scan.result(settings().scan_timeout)
    except TimeoutError:
        scan.cancel()
        return failure(error="the scan did not end in time")


def _check_spam(octets: Octets, origin: Origin) -> SpamVerdict:
    kind, _, address = settings().spam_check.partition("://")
    seconds = settings().scan_timeout

    def check() -> SpamVerdict:
        if kind == "spamd":
            return spamd.check(octets, address, seconds)
        return rspamd.check(octets, origin, address, seconds)

    return _verdict(check, SpamVerdict, kind)


def _check_virus(octets: Octets) -> VirusVerdict:
    kind, _, address = settings().virus_check.partition("://")
    return _verdict(
        lambda: clamd.check(octets, address, settings().scan_timeout), VirusVerdict, kind
    )


def _verdict(check: Callable[[], Verdict], failure: Callable[..., Verdict], name: str) -> Verdict:
    try:
        return check()
    except OSError as error:
        _log.warning("%s did not scan a message: %s", name, error)
        return failure(error=f"{name} does not answer: {error}")
    except Exception:
        _log.exception("a scan by %s failed", name)
        return failure(error=f"the scan by {name} failed")


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="scans")


os.register_at_fork(after_in_child=_threads.cache_clear)
